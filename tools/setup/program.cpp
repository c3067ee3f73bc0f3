// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Running programs of the system, by fork and execve.
#include "tools/setup/program.hpp"

#include "driver/base/environment.hpp"
#include "tools/cli.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr int no_program = 127; // as shells say it

void drop_output()
{
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        ::dup2(null, STDOUT_FILENO);
        ::dup2(null, STDERR_FILENO);
    }
}

} // namespace

int run_program(const std::string &name, std::vector<std::string> arguments, Output output)
{
    std::vector<std::string> places;
    if (name.find('/') != std::string::npos)
        places = {name};
    else
        for (const char *folder : {"/sbin/", "/usr/sbin/", "/bin/", "/usr/bin/"})
            places.push_back(folder + name);
    arguments.insert(arguments.begin(), name);
    std::vector<char *> argv;
    for (std::string &argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        throw cli::Failure("starting " + name + ": " + std::strerror(errno));
    if (child == 0) {
        if (output == Output::dropped)
            drop_output();
        for (const std::string &place : places)
            ::execve(place.c_str(), argv.data(), environment_of_children());
        ::_exit(no_program);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace emx

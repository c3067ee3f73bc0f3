// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Loading and unloading of the kernel module, by modprobe.
#include "tools/setup/module.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/text_file.hpp"
#include "tools/cli.hpp"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace emx {
namespace {

/// Exit status of modprobe; 127 when there is none where systems have it. PATH is not asked, since root runs
/// this and another may have set it.
int modprobe(std::vector<const char *> arguments)
{
    arguments.insert(arguments.begin(), "modprobe");
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        throw cli::Failure(std::string("starting modprobe: ") + std::strerror(errno));
    if (child == 0) {
        for (const char *program :
             {"/sbin/modprobe", "/usr/sbin/modprobe", "/bin/modprobe", "/usr/bin/modprobe"})
            ::execve(program, const_cast<char *const *>(arguments.data()), environment_of_children());
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string kernel_release()
{
    utsname name{};
    ::uname(&name);
    return name.release;
}

} // namespace

bool module_loaded() { return ::access("/sys/module/ethermx", F_OK) == 0; }

void load_module()
{
    if (::geteuid() != 0)
        throw cli::Failure("the kernel module is not loaded, and only root can do that: run as root");
    const int status = modprobe({"ethermx"});
    if (status == 127)
        throw cli::Failure("no modprobe: apt-get install kmod");
    if (status != 0)
        throw cli::Failure(
            "modprobe ethermx failed: dkms install ethermx/" EMX_VERSION
            " builds the module for this kernel, " +
            kernel_release() +
            " (dkms status shows builds); dmesg tells if it does not suit. Without the "
            "module, the agent serves the same configuration: systemctl enable --now omxd, or omxd");
}

bool unload_module() { return modprobe({"-q", "-r", "ethermx"}) == 0; }

std::optional<unsigned> boards_everywhere()
{
    std::istringstream file = read_text_file("/sys/class/misc/ethermx/boards");
    unsigned count = 0;
    if (file >> count)
        return count;
    return std::nullopt;
}

} // namespace emx

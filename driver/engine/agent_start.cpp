// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Starting the board agent from a process that opens the first board.
//
// The caller may have threads, so nothing between fork and exec allocates. The agent is orphaned
// by a second fork; it tells through a pipe that it serves, or why it cannot.
#include "driver/engine/agent_start.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/fd.hpp"
#include "driver/base/printable.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/engine/agent_program.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace emx {
namespace {

constexpr int start_timeout_ms = 60000; // one that ends tells at once
constexpr int report_fd = 3;

std::string absolute(const std::string &path)
{
    std::error_code ignored;
    return path.empty() ? path : std::filesystem::absolute(path, ignored).string();
}

std::vector<std::string> arguments(const AgentStart &start, const std::string &program)
{
    std::vector<std::string> words = {program, "--report", std::to_string(report_fd)};
    const auto option = [&](const char *name, const std::string &value) {
        if (!value.empty())
            words.insert(words.end(), {name, value});
    };
    option("--boards", start.boards);
    option("--config", absolute(start.config));
    option("--peers", absolute(start.peers));
    option("--group", start.group);
    option("--endpoints", std::to_string(start.endpoint_max));
    return words;
}

/// The agent of a set-user-ID program belongs to that user alone: the caller of the program shall neither
/// signal it nor lend it an environment.
bool leave_caller()
{
    return !has_rights_of_another() ||
           (::syscall(SYS_setresgid, ::getegid(), ::getegid(), ::getegid()) == 0 &&
            ::syscall(SYS_setresuid, ::geteuid(), ::geteuid(), ::geteuid()) == 0);
}

[[noreturn]] void become_agent(char *const *words, char *const *environment, int report)
{
    // The agent outlives its starter: no terminal, no inherited descriptor, no blocked signal.
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::setsid();
    if (!leave_caller() || ::chdir("/") != 0)
        ::_exit(1);
    const int null = sys::open("/dev/null", O_RDWR);
    const int aside = ::fcntl(report, F_DUPFD, report_fd + 1);
    if (null < 0 || aside < 0)
        ::_exit(1);
    for (int fd = 0; fd < report_fd; fd++)
        ::dup2(null, fd);
    if (::dup2(aside, report_fd) != report_fd)
        ::_exit(1);
    ::close_range(report_fd + 1, ~0u, 0);
    ::execve(words[0], words, environment);
    const char text[] = "cannot be executed\n";
    [[maybe_unused]] const ssize_t written = sys::write(report_fd, text, sizeof(text) - 1);
    ::_exit(1);
}

bool launch(char *const *words, int report)
{
    char *const *const environment = environment_of_children();
    const pid_t child = ::fork();
    if (child < 0)
        return false;
    if (child == 0) {
        const pid_t agent = ::fork();
        if (agent == 0)
            become_agent(words, environment, report);
        ::_exit(agent < 0 ? 1 : 0);
    }
    int status = 0;
    if (sys::waitpid(child, &status, 0) < 0)
        return true; // the program ignores SIGCHLD: the report tells
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The line that the agent writes; empty when it ended without one, false when it takes too long.
bool read_report(int fd, std::string &report)
{
    for (;;) {
        pollfd poll_fd = {fd, POLLIN, 0};
        if (sys::poll(&poll_fd, 1, start_timeout_ms) <= 0)
            return false;
        std::array<char, 512> text;
        const ssize_t got = sys::read(fd, text.data(), text.size());
        if (got <= 0)
            return got == 0;
        report.append(text.data(), static_cast<std::size_t>(got));
        if (report.back() == '\n') {
            report.pop_back();
            return true;
        }
    }
}

/// The report is "ok", or the number of an mx_return_t, a blank and a sentence.
AgentStarted judge_report(const std::string &report, const std::string &program, DeviceError &error)
{
    if (report == "ok")
        return AgentStarted::serves;
    char *text = nullptr;
    const long code = std::strtol(report.c_str(), &text, 10);
    if (code > 0 && *text == ' ')
        error = {static_cast<int>(code), printable(text + 1)};
    else
        error = {mx_no_driver,
                 "the board agent " + program + " " +
                     (report.empty() ? std::string("ended while it started") : printable(report)) +
                     ": run it with --foreground to see why, or set EMX_OMXD to its path"};
    return report.empty() ? AgentStarted::ended : AgentStarted::failed;
}

} // namespace

AgentStarted start_agent(const AgentStart &start, DeviceError &error)
{
    const std::string program = start.program.empty() ? find_agent_program() : start.program;
    if (!runnable(program)) {
        error = {mx_no_driver,
                 start.program.empty()
                     ? "omxd, the board agent, was not found: install it as " EMX_OMXD_INSTALLED +
                           std::string(has_rights_of_another()
                                           ? ", where alone set-user-ID programs look for it, "
                                             "or start it before"
                                           : ", or set EMX_OMXD to its path")
                     : "EMX_OMXD names " + program + ", which is not a program that can be run"};
        return AgentStarted::failed;
    }
    // The agent starts in the root folder, so a relative path would lead elsewhere.
    std::vector<std::string> words = arguments(start, absolute(program));
    std::vector<char *> argv;
    for (std::string &word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        error = system_error("starting omxd");
        return AgentStarted::failed;
    }
    Fd reader(ends[0]), writer(ends[1]);
    if (!launch(argv.data(), writer.get())) {
        error = system_error("starting omxd");
        return AgentStarted::failed;
    }
    writer.reset();
    std::string report;
    if (!read_report(reader.get(), report)) {
        error = {mx_no_driver, "the board agent " + program +
                                   " did not get ready in time: run it with "
                                   "--foreground to see why"};
        return AgentStarted::failed;
    }
    return judge_report(report, program, error);
}

} // namespace emx

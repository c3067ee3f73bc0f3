// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Starting the board agent from a process that opens the first board.
//
// The caller may have threads, so nothing between fork and exec allocates. The agent is orphaned
// by a second fork; it tells through a pipe that it serves, or why it cannot.
#include "driver/engine/agent_client.hpp"
#include "driver/engine/mx_codes.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#ifndef EMX_OMXD_INSTALLED
#define EMX_OMXD_INSTALLED "/usr/local/sbin/omxd"
#endif

namespace emx {
namespace {

constexpr int start_timeout_ms = 10000;
constexpr int report_fd = 3;

std::string directory_of(const std::string &path)
{
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

std::string own_executable()
{
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string{};
}

std::string own_library()
{
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<void *>(&start_agent), &info) || !info.dli_fname)
        return {};
    return info.dli_fname;
}

bool runnable(const std::string &path) { return !path.empty() && ::access(path.c_str(), X_OK) == 0; }

std::string search_path()
{
    const char *path = std::getenv("PATH");
    std::string rest = path ? path : "";
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const std::string candidate = rest.substr(0, colon) + "/omxd";
        if (candidate[0] == '/' && runnable(candidate))
            return candidate;
        rest = colon == std::string::npos ? std::string{} : rest.substr(colon + 1);
    }
    return {};
}

// In the build tree the agent is at tools/omxd/omxd, installed it is in sbin.
std::string find_program()
{
    for (std::string folder : {directory_of(own_library()), directory_of(own_executable())}) {
        for (int up = 0; up < 4 && !folder.empty(); up++) {
            for (const char *below : {"/omxd", "/sbin/omxd", "/tools/omxd/omxd"})
                if (runnable(folder + below) && ::access((folder + below + "/.").c_str(), F_OK) != 0)
                    return folder + below;
            folder = directory_of(folder);
        }
    }
    if (runnable(EMX_OMXD_INSTALLED))
        return EMX_OMXD_INSTALLED;
    return search_path();
}

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

[[noreturn]] void become_agent(char *const *words, int report)
{
    // The agent outlives its starter: no terminal, no inherited descriptor, no blocked signal.
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::setsid();
    if (::chdir("/") != 0)
        ::_exit(1);
    const int null = ::open("/dev/null", O_RDWR);
    const int aside = ::fcntl(report, F_DUPFD, report_fd + 1);
    if (null < 0 || aside < 0)
        ::_exit(1);
    for (int fd = 0; fd < report_fd; fd++)
        ::dup2(null, fd);
    if (::dup2(aside, report_fd) != report_fd)
        ::_exit(1);
    ::close_range(report_fd + 1, ~0u, 0);
    ::execv(words[0], words);
    const char text[] = "cannot be executed\n";
    [[maybe_unused]] const ssize_t written = ::write(report_fd, text, sizeof(text) - 1);
    ::_exit(1);
}

bool launch(char *const *words, int report)
{
    const pid_t child = ::fork();
    if (child < 0)
        return false;
    if (child == 0) {
        const pid_t agent = ::fork();
        if (agent == 0)
            become_agent(words, report);
        ::_exit(agent < 0 ? 1 : 0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return true; // the program ignores SIGCHLD: the report tells
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The line that the agent writes; empty when it ended without one, false when it takes too long.
bool read_report(int fd, std::string &report)
{
    for (;;) {
        pollfd poll_fd = {fd, POLLIN, 0};
        const int ready = ::poll(&poll_fd, 1, start_timeout_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        std::array<char, 512> text;
        const ssize_t got = ::read(fd, text.data(), text.size());
        if (got < 0 && errno == EINTR)
            continue;
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
        error = {static_cast<int>(code), text + 1};
    else
        error = {mx_no_driver, "the board agent " + program + " " +
                                   (report.empty() ? std::string("ended while it started") : report) +
                                   ": run it with --foreground to see why, or set EMX_OMXD to its path"};
    return report.empty() ? AgentStarted::ended : AgentStarted::failed;
}

} // namespace

AgentStarted start_agent(const AgentStart &start, DeviceError &error)
{
    const std::string program = start.program.empty() ? find_program() : start.program;
    if (!runnable(program)) {
        error = {mx_no_driver,
                 start.program.empty()
                     ? std::string("omxd, the board agent, was not found: install it, or set "
                                   "EMX_OMXD to its path")
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
        error = {mx_no_resources, std::string("starting omxd: ") + std::strerror(errno)};
        return AgentStarted::failed;
    }
    Fd reader(ends[0]), writer(ends[1]);
    if (!launch(argv.data(), writer.get())) {
        error = {mx_no_resources, "starting omxd failed: no more processes can be made"};
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

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See watcher.hpp.
#include "watcher.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char **environ;

namespace emx::watch {

namespace {

[[noreturn]] void fail(const std::string &what)
{
    throw std::runtime_error("wirewatch: " + what + ": " + std::strerror(errno));
}

/// Ours and the program's; a socket, as it may be gone when we write.
struct Pair {
    Fd ours, its;
    Pair()
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            fail("no pair of sockets");
        ours = Fd(ends[0]);
        its = Fd(ends[1]);
    }
};

pid_t start(std::vector<std::string> words, const Fd &input, const Fd &output)
{
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output.get(), STDERR_FILENO);
    pid_t process = 0;
    const int error = ::posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::runtime_error("EMX_WATCH=" + words[0] + ": " + std::strerror(error));
    return process;
}

/// Lives as long as the process; its end sets the exit status.
struct Failure {
    bool failed = false;
    ~Failure()
    {
        if (failed) {
            std::fflush(nullptr);
            std::_Exit(1);
        }
    }
};

Failure &failure()
{
    static Failure one;
    return one;
}

} // namespace

Watcher::Watcher(const std::vector<std::string> &namespaces, const std::vector<std::string> &dialects)
{
    const char *program = std::getenv("EMX_WATCH");
    if (!program || !*program)
        return;
    // Its ring is one of many that a test program makes one after the other.
    std::vector<std::string> words = {program, "--commands", "--ring", "32768"};
    for (const std::string &dialect : dialects)
        words.insert(words.end(), {"--dialect", dialect});
    words.insert(words.end(), namespaces.begin(), namespaces.end());
    Pair input, output;
    process_ = start(words, input.its, output.its);
    commands_ = std::move(input.ours);
    output_ = std::move(output.ours);
    output.its.reset(); // or its end would not be seen
    char line[sizeof "watching"];
    size_t got = 0;
    for (ssize_t n; got < sizeof line && (n = ::read(output_.get(), line + got, sizeof line - got)) > 0;)
        got += static_cast<size_t>(n);
    if (got == sizeof line && std::memcmp(line, "watching\n", got) == 0)
        return;
    throw std::runtime_error(std::string(program) + " does not watch: " + std::string(line, got) +
                             read_all());
}

Watcher::~Watcher() { finish(); }

void Watcher::command(const std::string &line) const
{
    if (process_ &&
        ::send(commands_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
        fail("takes no command");
}

void Watcher::stranger(uint64_t mac) const
{
    char text[sizeof "not 00:00:00:00:00:00\n"];
    std::snprintf(text, sizeof text, "not %02x:%02x:%02x:%02x:%02x:%02x\n", int(mac >> 40 & 255),
                  int(mac >> 32 & 255), int(mac >> 24 & 255), int(mac >> 16 & 255), int(mac >> 8 & 255),
                  int(mac & 255));
    command(text);
}

void Watcher::foreign(unsigned place) const { command("foreign " + std::to_string(place) + "\n"); }

void Watcher::distrust() const { command("distrust\n"); }

/// Until the process has ended.
std::string Watcher::read_all()
{
    std::string text;
    char piece[4096];
    for (ssize_t n; (n = ::read(output_.get(), piece, sizeof piece)) > 0;)
        text.append(piece, static_cast<size_t>(n));
    return text;
}

std::string Watcher::finish()
{
    if (!process_)
        return "";
    // Children of the test may hold the pipe open, so that its end would not be seen. Who has ended needs no
    // word.
    const char last[] = "end\n";
    [[maybe_unused]] const ssize_t told = ::send(commands_.get(), last, sizeof last - 1, MSG_NOSIGNAL);
    commands_.reset();
    const std::string said = read_all();
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    if (status == 0)
        return "";
    return "wirewatch ended with status " + std::to_string(status) + ":\n" + said;
}

void fail_in_the_end(const std::string &why)
{
    std::fprintf(stderr, "FAILED: what was sent: %s\n", why.c_str());
    failure().failed = true;
}

} // namespace emx::watch

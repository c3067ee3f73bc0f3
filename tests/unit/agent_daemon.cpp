// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The starter of a daemon (tools/omxd/daemon.cpp) learns the outcome: in a child, of which status and words
// are checked.
#include "tools/omxd/daemon.hpp"

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <array>
#include <functional>

namespace emx {
namespace {

struct Outcome {
    int status = -1;
    std::string said;
    bool lived_on = false; ///< the daemon wrote after it told the outcome
};

std::string read_all(int fd)
{
    std::string all;
    std::array<char, 512> text;
    for (ssize_t got; (got = ::read(fd, text.data(), text.size())) > 0;)
        all.append(text.data(), static_cast<std::size_t>(got));
    return all;
}

/// Runs `daemon` as a daemon of a child, whose standard error is a pipe.
Outcome start(const std::function<void(Fd)> &daemon)
{
    int said[2], life[2];
    REQUIRE(::pipe(said) == 0);
    REQUIRE(::pipe(life) == 0);
    const pid_t starter = ::fork();
    if (starter == 0) {
        ::dup2(said[1], 2);
        ::close(said[1]);
        daemon(become_daemon());
        [[maybe_unused]] const ssize_t written = ::write(life[1], "x", 1);
        ::_exit(0);
    }
    ::close(said[1]);
    ::close(life[1]);
    Outcome outcome;
    outcome.said = read_all(said[0]);
    int status = 0;
    REQUIRE(::waitpid(starter, &status, 0) == starter);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.lived_on = read_all(life[0]) == "x";
    ::close(said[0]);
    ::close(life[0]);
    return outcome;
}

} // namespace

TEST_CASE("the starter of a daemon ends well once it serves")
{
    const Outcome outcome = start([](Fd told) { tell_outcome(std::move(told)); });
    CHECK(outcome.status == 0);
    CHECK(outcome.said.empty());
    CHECK(outcome.lived_on);
}

TEST_CASE("the starter of a daemon that cannot serve says why, and ends with 1")
{
    const Outcome outcome = start([](Fd told) { tell_outcome(std::move(told), 7, "no room: make some"); });
    CHECK(outcome.status == 1);
    CHECK(outcome.said == "omxd: no room: make some\n");
}

TEST_CASE("the starter of a daemon that ends without a word says so, and ends with 1")
{
    const Outcome outcome = start([](const Fd &) { ::_exit(3); });
    CHECK(outcome.status == 1);
    CHECK(outcome.said == "omxd: ended while it started: run it with --foreground to see why\n");
    CHECK_FALSE(outcome.lived_on);
}

TEST_CASE("a daemon has a session of its own")
{
    const Outcome outcome = start([](Fd told) {
        const bool own = ::getsid(0) == ::getpid();
        tell_outcome(std::move(told), own ? 0 : 1, "in the session of its starter");
    });
    CHECK(outcome.said.empty());
    CHECK(outcome.status == 0);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Becoming a daemon: a fork, and a pipe from the child to its waiting parent.
#include "tools/omxd/daemon.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/base/environment.hpp"
#include "driver/base/printable.hpp"

#include <fcntl.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace emx {
namespace {

constexpr int streams = 3;

/// All that the child writes before it closes its end.
std::string read_all(const Fd &reader)
{
    std::string told;
    std::array<char, 512> text;
    for (ssize_t got; (got = sys::read(reader.get(), text.data(), text.size())) > 0;)
        told.append(text.data(), static_cast<std::size_t>(got));
    return told;
}

/// The outcome is "ok", or a number, a blank and a sentence, and ends with a line end.
[[noreturn]] void report(const std::string &told)
{
    if (told == "ok\n")
        ::_exit(0);
    const auto blank = told.find(' ');
    const std::string reason = blank == std::string::npos || told.back() != '\n'
                                   ? "ended while it started: run it with --foreground to see why"
                                   : told.substr(blank + 1, told.size() - blank - 2);
    std::fprintf(stderr, "omxd: %s\n", printable(reason).c_str());
    ::_exit(1); // without destructors: what the child has taken over stays
}

void leave_caller()
{
    ::setsid();
    [[maybe_unused]] const int at_top = ::chdir("/");
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; null && fd < streams; fd++)
        ::dup2(null.get(), fd);
}

} // namespace

Fd become_daemon()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return {};
    Fd reader(ends[0]), writer(ends[1]);
    const pid_t child = ::fork();
    if (child < 0)
        return {};
    if (child == 0) {
        reader.reset();
        leave_caller();
        return writer;
    }
    writer.reset();
    sigset_t none; // signals may end the wait, whatever the child takes by a descriptor
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    report(read_all(reader));
}

void tell_outcome(Fd outcome, int code, const std::string &reason)
{
    const std::string line = (code == 0 ? "ok" : std::to_string(code) + " " + reason) + "\n";
    [[maybe_unused]] const ssize_t written = sys::write(outcome.get(), line.data(), line.size());
}

void tell_manager()
{
    const char *const place = environment_variable("NOTIFY_SOCKET");
    if (!place || (place[0] != '/' && place[0] != '@'))
        return;
    const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    const socklen_t size =
        place[0] == '@' ? abstract_address(place + 1, address) : path_address(place, address);
    if (socket && ::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), size) == 0) {
        constexpr std::string_view ready = "READY=1";
        send_datagram(socket.get(), ready.data(), ready.size(), {});
    }
}

} // namespace emx

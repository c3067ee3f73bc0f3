// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests to the board agent over its socket.
#include "driver/board/agent_client.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/base/peer_user.hpp"
#include "driver/base/printable.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint64_t ns_of_ms = 1000000;
// Answers may be late: a ring of packets costs the agent a grace period of RCU, which takes seconds where
// processors are crowded. So who asks waits for longer than this, but for no agent that sleeps or is stopped
// at several looks in a row.
constexpr uint64_t idle_patience_ns = 5000 * ns_of_ms, look_ns = 100 * ns_of_ms;
constexpr unsigned idle_looks_max = 3;
constexpr unsigned owed_max = 8; // a stopped agent is not asked without end

constexpr char lost_text[] =
    "omxd, the board agent, has ended: try again, and run it with --foreground if this happens again";

constexpr char slow_text[] = "omxd, the board agent, does not answer in time: is its process stopped (by a "
                             "debugger, a freezer, SIGSTOP)?";

bool closed_on_us() { return errno == EPIPE || errno == ECONNRESET; }

bool receive_reply(int fd, AgentReply &reply, std::vector<Fd> &fds)
{
    ssize_t got = receive_datagram(fd, &reply, sizeof(reply), fds);
    if (got < 0 && errno == ECONNRESET) // tells once that our request was left unread, before the reply
        got = receive_datagram(fd, &reply, sizeof(reply), fds);
    if (got >= 0 && got != static_cast<ssize_t>(sizeof(reply)))
        errno = EPROTO;
    return got == static_cast<ssize_t>(sizeof(reply));
}

} // namespace

bool AgentConnection::request(const AgentRequest &request, AgentReply &reply, std::vector<Fd> &fds,
                              DeviceError &error, const std::vector<int> &sent, int patience_ms)
{
    const std::lock_guard lock(mutex_);
    const uint64_t until = monotonic_ns() + static_cast<uint64_t>(patience_ms) * ns_of_ms;
    errno = ENOTCONN;
    if (owed_ >= owed_max && !await_reply(reply, fds, until))
        return failed(error);
    // An agent that refuses a client says so and closes at once: its reply may wait although sending fails.
    if (!fd_ || (!send_datagram(fd_.get(), &request, sizeof(request), sent) && !closed_on_us()))
        return failed(error);
    for (owed_++; owed_ > 0;) {
        fds.clear();
        if (!await_reply(reply, fds, until))
            return failed(error);
    }
    return judge_reply(reply, error);
}

/// One reply less is owed, or false with errno set: ETIMEDOUT, or why there will be none.
bool AgentConnection::await_reply(AgentReply &reply, std::vector<Fd> &fds, uint64_t until_ns)
{
    pollfd readable = {fd_.get(), POLLIN, 0};
    int ready = 0;
    uint64_t now = monotonic_ns(), next = std::min(until_ns, now + idle_patience_ns);
    for (unsigned idle = 0;; next = std::min(until_ns, now + look_ns)) {
        ready = sys::poll(&readable, 1, static_cast<int>((next > now ? next - now : 0) / ns_of_ms));
        if (ready != 0 || next == until_ns)
            break;
        const auto agent = peer_of(fd_.get());
        idle = agent && is_at_work(*agent) ? 0 : idle + 1;
        if (idle == idle_looks_max)
            break;
        now = monotonic_ns();
    }
    if (ready == 0)
        errno = ETIMEDOUT;
    if (ready <= 0 || !receive_reply(fd_.get(), reply, fds))
        return false;
    owed_--;
    return true;
}

/// False with error filled from errno. A connection of which one cannot tell what comes next is at its end.
bool AgentConnection::failed(DeviceError &error)
{
    const int why = errno;
    if (why == ETIMEDOUT) {
        error = {mx_no_driver, slow_text};
        return false;
    }
    ::shutdown(fd_.get(), SHUT_RDWR); // not closed: whoever waits for its end shall see it
    errno = why;
    if (is_own_shortage(why))
        error = system_error("asking omxd, the board agent");
    else
        error = {mx_no_driver, lost_text};
    return false;
}

bool judge_reply(const AgentReply &reply, DeviceError &error)
{
    if (reply.magic != agent_protocol_magic || reply.version != agent_protocol_version) {
        error = {mx_no_driver,
                 "the running omxd is of another build of EtherMX: stop it, so that the next open "
                 "starts the right one"};
        return false;
    }
    if (reply.code == 0)
        return true;
    constexpr int codes_end = 64; // mx_return_t
    const bool known = reply.code > 0 && reply.code < codes_end;
    error = {known ? reply.code : int{mx_no_driver},
             printable({reply.text, ::strnlen(reply.text, sizeof(reply.text))})};
    return false;
}

bool AgentConnection::was_lost(const DeviceError &error) { return error.text == lost_text; }

bool AgentConnection::was_slow(const DeviceError &error) { return error.text == slow_text; }

} // namespace emx

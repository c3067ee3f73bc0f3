// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests to the board agent over its socket.
#include "driver/engine/agent_client.hpp"

#include "driver/engine/control_socket.hpp"
#include "driver/engine/mx_codes.hpp"
#include "driver/engine/printable.hpp"
#include "driver/engine/reason.hpp"
#include "driver/engine/system_calls.hpp"

#include <poll.h>

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr int reply_timeout_ms = 5000;

constexpr char lost_text[] =
    "omxd, the board agent, does not answer or has ended: try again, and run it with "
    "--foreground if this happens again";

bool lost(DeviceError &error)
{
    error = {mx_no_driver, lost_text};
    return false;
}

bool wait_readable(int fd)
{
    pollfd poll_fd = {fd, POLLIN, 0};
    return sys::poll(&poll_fd, 1, reply_timeout_ms) > 0;
}

/// Limits, and filters of system calls, of this process: the agent is not to blame, nor another one to be
/// asked.
bool is_own_shortage(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOMEM || why == EPERM || why == ENOSYS;
}

bool closed_on_us() { return errno == EPIPE || errno == ECONNRESET; }

bool receive_reply(int fd, AgentReply &reply, std::vector<Fd> &fds)
{
    ssize_t got = receive_datagram(fd, &reply, sizeof(reply), fds);
    if (got < 0 && errno == ECONNRESET) // tells once that our request was left unread, before the reply
        got = receive_datagram(fd, &reply, sizeof(reply), fds);
    return got == static_cast<ssize_t>(sizeof(reply));
}

} // namespace

bool AgentConnection::request(const AgentRequest &request, AgentReply &reply, std::vector<Fd> &fds,
                              DeviceError &error, const std::vector<int> &sent)
{
    const std::lock_guard lock(mutex_);
    // An agent that refuses a client says so and closes at once: its reply may wait although sending fails.
    const bool asked = fd_ && (send_datagram(fd_.get(), &request, sizeof(request), sent) || closed_on_us());
    if (!asked || !wait_readable(fd_.get()) || !receive_reply(fd_.get(), reply, fds)) {
        const int why = errno;
        // A late reply must not answer the next request. Not closed: whoever waits for its end shall see it.
        ::shutdown(fd_.get(), SHUT_RDWR);
        errno = why;
        if (is_own_shortage(why)) {
            error = system_error("asking omxd, the board agent");
            return false;
        }
        return lost(error);
    }
    return judge_reply(reply, error);
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

} // namespace emx

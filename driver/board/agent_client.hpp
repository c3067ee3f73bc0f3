// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A process's end of a connection to the board agent.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/board/agent_protocol.hpp"
#include "driver/device.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace emx {

/// One connection. Requests from several threads take turns.
class AgentConnection {
public:
    explicit AgentConnection(Fd fd) : fd_(std::move(fd)) {}

    /// Connects to the agent of this network namespace: root's by its path, else the one with the abstract
    /// name. Empty when none runs or, with error filled, when one runs but cannot be used, or a stranger
    /// answers in its name (may_be_agent() of believed_agent.hpp). Waits at most some seconds. own: the
    /// abstract name of an agent of this user alone; then no other is looked for.
    static std::optional<AgentConnection> connect(DeviceError &error, const std::string &own = {});

    /// Sends a request and waits for its reply, at most patience_ms, and 5 s for an agent that sleeps or is
    /// stopped. False with error filled: the agent's own refusal, that it is gone, or that it is slow, after
    /// which the connection can be used all the same. fds: what came with the reply; sent: what goes with the
    /// request, and stays the caller's. Any thread, one after the other.
    bool request(const AgentRequest &request, AgentReply &reply, std::vector<Fd> &fds, DeviceError &error,
                 const std::vector<int> &sent = {}, int patience_ms = usual_patience_ms);
    static constexpr int usual_patience_ms = 60000;

    /// True if a request failed because the agent ended, not because it refused.
    static bool was_lost(const DeviceError &error);
    /// True if it failed because patience was at its end.
    static bool was_slow(const DeviceError &error);

    AgentConnection(AgentConnection &&other) noexcept : fd_(std::move(other.fd_)), owed_(other.owed_) {}

    int fd() const { return fd_.get(); }
    Fd release() { return std::move(fd_); }
    /// Goes on with another connection; a request under way ends first.
    void replace(Fd fd)
    {
        const std::lock_guard lock(mutex_);
        fd_ = std::move(fd);
        owed_ = 0;
    }

private:
    bool failed(DeviceError &error);
    bool await_reply(AgentReply &reply, std::vector<Fd> &fds, uint64_t until_ns);

    std::mutex mutex_;
    Fd fd_;
    unsigned owed_ = 0; ///< replies to requests that nobody waits for any longer: they come first
};

/// Path of the socket of root's agent in this network namespace; empty where the kernel tells no cookie of it
/// (before Linux 5.14).
std::string agent_path();

/// Judges a reply by itself: false with error filled for a refusal, or one of another build. The text of
/// the error has printable characters only.
bool judge_reply(const AgentReply &reply, DeviceError &error);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An MX endpoint as the tools use it: opened, connected and waited on, with failures as exceptions.
#pragma once

#include "../cli.hpp"

#include <myriexpress.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace emx::perf {

/// Ways in which wait() waits.
enum class Waiting { spin, yield, block };

/// Throws cli::Failure: `what`, and the library's own text on its last failure.
[[noreturn]] void fail(mx_return_t code, const std::string &what);

/// Fails when code is not MX_SUCCESS. Costs nothing else: it stands in every poll.
inline void check(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS) [[unlikely]]
        fail(code, what);
}

/// The endpoint to connect to is there, and has another key.
struct WrongKey : cli::Failure {
    using cli::Failure::Failure;
};

/// mx_init and one endpoint; closed again at the end. One object per process at a time.
class Session {
public:
    static constexpr uint32_t usual_key = 0x12345;

    /// `key` is that of the endpoint, and of those to which it connects.
    Session(uint32_t board, uint32_t endpoint, Waiting waiting, uint32_t key = usual_key);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    /// NIC id of a host name or MAC address; tries until patience is over: names are asked of other hosts.
    uint64_t resolve(const std::string &host, uint32_t patience_s);
    /// Connects, trying again while the server may be starting; wait() then asks after that peer. WrongKey
    /// when it has another key, else Failure.
    mx_endpoint_addr_t connect(uint64_t nic_id, uint32_t remote_endpoint, uint32_t patience_s);
    /// wait() has that much at least, where its limit is no less than a minute.
    void set_patience(uint32_t seconds) { patience_s_ = seconds; }
    /// The peer that connected to us and that wait() asks after.
    void set_peer(mx_endpoint_addr_t peer) { peer_ = peer; }

    mx_request_t send(mx_endpoint_addr_t to, void *data, uint32_t length, uint64_t match, bool synchronous);
    mx_request_t receive(void *data, uint32_t length, uint64_t match, uint64_t mask = MX_MATCH_MASK_NONE);
    /// Status of the request once it is complete; Failure when it failed, when the peer is gone, or
    /// when nothing happened for a minute, or set_patience() (0 = for ever, nobody is asked, and that an
    /// earlier peer is gone is no failure). The peer is asked each second whether it lives: MX tells nobody
    /// of the end of a process to which nothing is under way.
    mx_status_t wait(mx_request_t &request, uint32_t limit_s = 60);

    /// One look: whether the request was complete, which then is gone; Failure when it failed.
    bool complete(mx_request_t &request);

    /// "endpoint 0 on node1:0 (02:45:4d:58:00:01)".
    std::string describe() const;

private:
    bool poll(mx_request_t &request, mx_status_t &status);
    void ask_peer();

    mx_endpoint_t endpoint_ = nullptr;
    Waiting waiting_;
    uint32_t key_;
    uint32_t patience_s_ = 0;
    std::optional<mx_endpoint_addr_t> peer_;
};

} // namespace emx::perf

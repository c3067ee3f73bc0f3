// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The measured messages of one step: ping-pong, or streams with a window of messages in flight.
#pragma once

#include "payload.hpp"
#include "session.hpp"

#include <vector>

namespace emx::perf {

class Traffic {
public:
    struct Shape {
        uint32_t length;
        uint32_t iterations;
        uint32_t window; ///< 1 for a ping-pong
        bool synchronous;
        bool verify;
        bool aligned;
        bool client;
        bool pingpong;
        /// A message goes back from where it came to, as that of NetPIPE does; a verified one is new each
        /// time.
        bool one_buffer() const { return pingpong && !verify; }
    };
    Traffic(Session &session, mx_endpoint_addr_t peer, const Shape &shape);

    /// Ping-pong, one iteration of the client; and all of the server's.
    void ping(uint32_t number);
    void post_first();
    void pong_all();

    /// Streams. post_window() comes before the peer is told to start.
    void post_window();
    void send_all();
    void receive_all();
    void send_and_receive_all();

    uint32_t altered() const { return altered_; }

private:
    /// Where a message is sent from.
    std::byte *source(uint32_t number) { return shape_.one_buffer() ? in_.at(number) : out_.at(number); }
    void post(uint32_t number);
    void start_send(uint32_t number);
    void end_send(uint32_t number);
    /// Place of a message among those in flight.
    std::size_t slot(uint32_t number) const { return number % static_cast<uint32_t>(sends_.size()); }
    void end_receive(uint32_t number);
    uint64_t seed(uint32_t number, bool from_client) const;

    Session &session_;
    mx_endpoint_addr_t peer_;
    Shape shape_;
    Buffer out_;
    Buffer in_;
    std::vector<mx_request_t> sends_;
    std::vector<mx_request_t> receives_;
    uint32_t altered_ = 0;
};

} // namespace emx::perf

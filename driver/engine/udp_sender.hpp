// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames of an endpoint of a UDP board on their way out: where each peer is, fragments of a message by one
// call, and replies straight from the windows' memory.
#pragma once

#include "driver/base/udp_socket.hpp"
#include "driver/board/board_file.hpp"
#include "driver/engine/reply_queue.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace emx {

/// Called under the port's lock.
class UdpSender {
public:
    UdpSender(std::shared_ptr<BoardFile> file, uint32_t board, emx_counters &counters, const fw_sizes &sizes)
        : file_(std::move(file)), board_(board), counters_(counters), replies_(sizes, counters)
    {
    }
    void open(Fd socket) { socket_ = std::move(socket); }
    int fd() const { return socket_.get(); }
    Fd take_socket() { return std::move(socket_); }

    /// Address of a peer's agent; null while the agent of this host does not know it.
    const UdpAddress *address(uint32_t peer);

    /// Sends one frame, padded if it has to be. False when it did not leave; counted.
    bool send(uint32_t peer, const void *frame, std::size_t bytes, int counter);
    /// Keeps a fragment back until flush(): its header is copied, its payload stays the caller's.
    bool add_fragment(uint32_t peer, const uint8_t *header, uint32_t header_bytes, std::byte *payload,
                      uint32_t payload_bytes, int counter);
    void flush();

    /// As of the queue.
    void open_window(uint16_t slot, std::span<const Segment> memory) { replies_.open_window(slot, memory); }
    void close_window(uint16_t slot) { replies_.close_window(slot); }
    const ReplyQueue &windows() const { return replies_; }
    /// Queues the answer to a request; false when too many wait.
    bool add_replies(const fw_replies &run) { return replies_.add(run) != nullptr; }
    bool pending() const { return replies_.size() != 0; }
    /// Sends a part of the answers. False when the socket is full.
    bool send_replies();
    /// The answer whose memory could not be read since the last call, if there is one.
    std::optional<fw_replies> take_unreadable() { return std::exchange(unreadable_, std::nullopt); }

private:
    struct Path {
        uint32_t serial = ~uint32_t{0};
        UdpAddress address;
    };
    static constexpr uint32_t batch_max = 64; ///< datagrams that all kernels cut
    static constexpr uint32_t iovecs_max = 1024;

    struct Batch {
        uint32_t count = 0;
        uint32_t each = 0; ///< bytes of all but the last
        uint32_t bytes = 0;
        uint32_t iovecs = 0;
        uint32_t peer = 0;
        uint32_t port = 0;
        int counter = 0;
        bool closed = false; ///< a shorter one has come
    };

    Path &path(uint32_t peer);
    bool socket_address(uint32_t peer, const uint8_t *frame, SocketAddress &to, socklen_t &length);
    bool fits(const Batch &batch, uint32_t peer, uint32_t port, uint32_t bytes) const;
    void note(Batch &batch, uint32_t bytes, uint32_t iovecs);
    /// 0, or the errno with which the kernel refused all of it.
    int send_batch(const Batch &batch, iovec *io);
    int send_singly(const Batch &batch, msghdr &message, iovec *io);
    uint32_t build_replies(const ReplyRun &run, Batch &batch);

    const std::shared_ptr<BoardFile> file_;
    const uint32_t board_;
    emx_counters &counters_;
    Fd socket_;
    std::vector<Path> paths_; ///< by peer
    Batch fragments_;
    std::array<iovec, std::size_t{3} * batch_max> fragment_iovecs_;
    std::array<std::array<uint8_t, EMX_HEADER_MAX>, batch_max> fragment_headers_;

    ReplyQueue replies_;
    std::optional<fw_replies> unreadable_;
    std::array<iovec, iovecs_max> iovecs_;
    std::array<std::array<uint8_t, EMX_HEADER_MAX>, batch_max> headers_;
    std::array<uint32_t, batch_max> pieces_; ///< iovecs of each datagram of a batch, to send it alone
};

} // namespace emx

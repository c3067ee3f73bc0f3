// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Raw Ethernet frames between two hosts with as little as possible around them: a mapped receive
// ring, and a second socket for bulk frames. The floor under every figure of EtherMX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace emx::bench {

/// Bytes [position, position + length) of a message behind a header of `header` bytes.
struct Piece {
    std::byte *data;
    uint32_t length;
};

inline constexpr uint32_t header_max = 48; ///< of the dialect: outer header and MEDIUM header
inline constexpr uint32_t batch = 16; ///< frames per sendmmsg and recvmmsg

class RawLink {
public:
    /// Frames of at most frame_max bytes on that interface. With `bulk`, frames of type
    /// PULL REPLY go to a socket of their own. Failure names the remedy.
    RawLink(const std::string &interface, uint32_t frame_max, bool bulk);
    ~RawLink();
    RawLink(const RawLink &) = delete;
    RawLink &operator=(const RawLink &) = delete;

    uint64_t mac() const { return mac_; }
    /// Bulk frames that the granted receive buffer surely holds.
    uint32_t bulk_window() const { return bulk_window_; }

    /// Sends one frame, padded to 60 bytes; the first 12 bytes are filled in here.
    void send(uint64_t peer, std::span<std::byte> frame);
    /// Sends pieces of one message behind copies of one header in one system call.
    void send_batch(uint64_t peer, uint8_t type, uint32_t header, std::span<const Piece> pieces,
                    uint32_t first);

    /// Next frame of the ring, spinning until `deadline_ns`; Failure when none comes. Then release().
    std::span<const std::byte> receive(uint64_t deadline_ns);
    void release();
    /// Receives up to pieces.size() bulk frames, payload straight into the pieces; the number that came.
    uint32_t receive_batch(uint32_t header, std::span<const Piece> pieces, uint32_t first,
                           uint64_t deadline_ns);

private:
    void open_ring();
    void open_bulk();
    void fill_header(std::byte *frame, uint64_t peer) const;

    int ring_fd_ = -1;
    int bulk_fd_ = -1;
    int index_ = 0;
    uint64_t mac_ = 0;
    uint32_t frame_max_;
    std::byte *ring_ = nullptr;
    std::size_t ring_bytes_ = 0;
    uint32_t slot_bytes_ = 0;
    uint32_t next_slot_ = 0;
    uint32_t bulk_window_ = 0;
};

} // namespace emx::bench

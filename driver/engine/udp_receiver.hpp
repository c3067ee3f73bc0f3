// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames out of the UDP socket of an endpoint, in batches, each of which the kernel may have joined of many.
#pragma once

#include "driver/base/udp_socket.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace emx {

/// One thread at a time.
class UdpReceiver {
public:
    /// False when memory is short.
    bool open();

    /// True if a frame is at hand.
    bool ready() const { return now_ < count_; }
    /// With none at hand: takes what waits at the socket. False when that is nothing; errno tells why.
    bool fetch(int socket);

    /// The frame at hand, until next(). Behind it are as many bytes as the core may look at.
    const std::byte *frame() const { return buffer(now_) + offset_; }
    uint32_t bytes() const { return length_; }
    const SocketAddress &source() const { return sources_[now_]; }
    void next();

private:
    static constexpr uint32_t batch_max = 8;

    std::byte *buffer(uint32_t i) const;
    int fetch_one(int socket);
    void begin();

    uint32_t now_ = 0, count_ = 0; ///< message of the batch
    uint32_t offset_ = 0, length_ = 0; ///< the frame in it
    uint32_t each_ = 0, total_ = 0; ///< bytes of its frames, but the last, and of all
    uint32_t batch_ = 1; ///< messages that the next call asks for
    std::unique_ptr<std::byte[]> memory_;
    std::array<SocketAddress, batch_max> sources_{};
    std::array<iovec, batch_max> iovecs_{};
    std::array<SegmentControl, batch_max> controls_{};
    std::array<mmsghdr, batch_max> messages_{};
};

} // namespace emx

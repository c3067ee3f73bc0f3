// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Receives pull replies, of PULL and X PULL, in batches, scattered so that the payload lands in its final
// place.
//
// A batch is armed with the places of the replies expected next. A reply that comes in another order
// lands in a wrong place of the same pull, one not yet received: its payload is first set aside,
// for all such frames of the batch, and then put where it belongs, so no good byte is overwritten.
// Arming costs as much as receiving, so a batch is about as large as the last one suggests, and one that
// brought nothing stays armed for the next call while the same pull is asked about.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/segments.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Called under the port's lock.
class BulkReceiver {
public:
    static constexpr uint32_t batch_max = 16;

    /// A frame of the last batch.
    struct Frame {
        const std::byte *header;
        uint32_t bytes; ///< of the whole frame
        const std::byte *payload; ///< where it lies now; null: in its final place
    };

    /// x_frame: longest frame of X DATA, 0: none comes.
    BulkReceiver(const fw_sizes &sizes, uint32_t x_frame, Fd socket)
        : data_max_(std::max(sizes.reply, x_frame)), socket_(std::move(socket))
    {
    }

    int fd() const { return socket_.get(); }
    /// The end: its socket, to be closed.
    Fd take_socket() { return std::move(socket_); }

    /// Takes what waits on the socket, without blocking. slot: the only active pull, whose memory is
    /// target, or -1 when the replies may belong to several. Returns the number of frames, or -1 with
    /// errno (EAGAIN: nothing there; EFAULT: the target cannot be written).
    int receive(const fw_endpoint &ep, int slot, const PieceList *target);
    /// The last batch was full, so that more may wait.
    bool more_likely() const { return full_; }
    const Frame &frame(uint32_t i) const { return frames_[i]; }
    /// CRC-32C of the first bytes of its payload, wherever that lies; target as for receive().
    uint32_t payload_sum(uint32_t i, uint32_t bytes, const PieceList *target) const;

    /// A frame of the pull came by another socket: its place is no longer free.
    void disarm() { armed_ = false; }
    /// Tells that the firmware took a frame of the last batch for this place, in the order of the frames.
    void accepted(int slot, uint32_t position, uint32_t length);

private:
    static constexpr uint32_t iovecs_each = 8;
    static constexpr uint32_t batch_min = 4;

    void allocate();
    bool is_armed(const fw_endpoint &ep, int slot) const;
    void arm(const fw_endpoint &ep, int slot, const PieceList *target);
    void arm_one(uint32_t i, const PieceList *target);
    bool in_place(uint32_t i, const fw_endpoint &ep, int slot) const;
    [[gnu::noinline]] void complete_header(uint32_t i);
    void set_aside(uint32_t i, const PieceList &target);
    std::byte *scratch(uint32_t i) { return scratch_.data() + std::size_t{i} * data_max_; }

    const uint32_t data_max_; ///< bytes behind the header, at most
    Fd socket_;
    std::vector<std::byte> scratch_; ///< empty until the first pull
    std::array<std::array<std::byte, FW_CHECK_BYTES>, batch_max> headers_{};
    std::array<std::array<iovec, iovecs_each>, batch_max> iovecs_;
    std::array<mmsghdr, batch_max> messages_{};
    std::array<fw_place, batch_max> places_{}; ///< length 0: scratch
    uint32_t header_ = FW_REPLY_HEADER; ///< bytes that go to headers_
    std::array<Frame, batch_max> frames_{};

    uint32_t batch_ = batch_max; ///< frames to ask for
    bool full_ = false; ///< the last batch
    bool armed_ = false; ///< all of them have a predicted place, and nothing has come since

    // State of the replies of the current pull.
    int slot_ = -1;
    uint32_t handle_ = 0;
    uint32_t next_ = 0; ///< position behind the last frame accepted in this batch, 0 before the first
    bool in_order_ = true; ///< of the last batch that brought something
};

} // namespace emx

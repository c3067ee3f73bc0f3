// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Answers that wait for their turn to leave, and where the data of each of their frames lies: the queue
// beneath both senders of replies, of a board of raw frames (reply_sender.hpp) and of UDP (udp_sender.hpp).
#pragma once

#include "driver/engine/datagrams.hpp"
#include "driver/segments.hpp"

#include <sys/uio.h>

#include <array>
#include <cstdint>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// The answer to one request.
struct ReplyRun {
    fw_replies replies; ///< what is left of it
    std::array<uint8_t, EMX_HEADER_MAX> header; ///< of its first frame
    int socket; ///< of frames, where a board has several
    DatagramTarget target; ///< of datagrams beside frames; else its address is 0
};

/// Called under the port's lock.
class ReplyQueue {
public:
    ReplyQueue(const fw_sizes &sizes, emx_counters &counters) : sizes_(sizes), counters_(counters) {}

    /// Windows are named by fw_window_slot.
    void open_window(uint16_t slot, std::span<const Segment> memory) { windows_[slot].assign(memory); }
    /// Also forgets what is still to be sent from it.
    void close_window(uint16_t slot);

    /// Queues an answer, to leave as frames; null when too many wait.
    ReplyRun *add(const fw_replies &replies);
    uint32_t size() const { return count_; }
    ReplyRun &at(uint32_t i) { return runs_[(first_ + i) % runs_max]; }

    /// Takes the next frame off `left`, which is what is left of that run, writes its header, and tells where
    /// all of it lies, the padding of frames included: the number of iovecs, 0 when `room` does not suffice.
    uint32_t describe(const ReplyRun &run, fw_replies &left, uint8_t *header, iovec *io, uint32_t room) const;
    /// Writes the header of the first frame again, as a frame's.
    void encode(ReplyRun &run) const { fw_encode(&sizes_, &run.replies.reply, run.header.data()); }

    /// Takes frames off the front of the queue, which were sent, or failed; counted.
    void advance(uint32_t frames, bool sent);
    /// Takes the run that is next, unsent; there must be one.
    fw_replies give_up();

private:
    static constexpr uint32_t runs_max = 256; ///< power of two

    const fw_sizes sizes_;
    emx_counters &counters_;
    std::array<PieceList, FW_WINDOWS> windows_;
    std::array<ReplyRun, runs_max> runs_;
    uint32_t first_ = 0;
    uint32_t count_ = 0;
};

} // namespace emx

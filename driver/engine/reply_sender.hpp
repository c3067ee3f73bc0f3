// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Answers PULL and X PULL requests: runs of pull replies, or X DATA, sent in batches straight from the
// windows' memory.
#pragma once

#include "driver/segments.hpp"

#include <sys/socket.h>

#include <array>
#include <cstdint>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Called under the port's lock.
class ReplySender {
public:
    ReplySender(const fw_sizes &sizes, emx_counters &counters) : sizes_(sizes), counters_(counters) {}

    /// Windows are named by fw_window_slot.
    void open_window(uint16_t slot, std::span<const Segment> memory);
    /// Also forgets what is still to be sent from it.
    void close_window(uint16_t slot);

    /// Queues the answer to one request, for sending on `socket`; false when too many wait.
    bool add(const fw_replies &run, int socket);

    bool pending() const { return count_ != 0; }
    /// Sends one batch. Returns 0, or the errno that ended it; a full socket (EAGAIN), a downed interface
    /// (ENETDOWN) and memory that cannot be read (EFAULT) keep the rest, other errors lose a frame, for which
    /// the peer asks again.
    int send_batch();
    /// Takes the run that is next in the queue, unsent; there must be one.
    fw_replies give_up();
    /// Forgets everything queued; its frames count as failed.
    void drop_all();

private:
    static constexpr uint32_t batch_max = 16;
    static constexpr uint32_t queue_max = 256; // power of two
    static constexpr uint32_t iovecs_max = 1024;

    struct Run {
        fw_replies replies; ///< what is left of it
        int socket;
        std::array<uint8_t, EMX_HEADER_MAX> header; ///< of its first frame
    };

    Run &at(uint32_t i) { return queue_[(first_ + i) % queue_max]; }
    uint32_t build(int socket);
    bool build_frame(fw_replies &run, uint32_t slot, uint32_t &iovecs);
    void advance(uint32_t frames, bool sent);

    const fw_sizes sizes_;
    emx_counters &counters_;
    std::array<PieceList, FW_WINDOWS> windows_;
    std::array<Run, queue_max> queue_;
    uint32_t first_ = 0;
    uint32_t count_ = 0;
    std::array<std::array<uint8_t, EMX_HEADER_MAX>, batch_max> headers_;
    std::array<mmsghdr, batch_max> messages_{};
    std::array<iovec, iovecs_max> iovecs_;
};

} // namespace emx

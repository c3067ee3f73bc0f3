// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of X DATA in datagrams: the kernel gets many by one call (UDP_SEGMENT).
#include "driver/engine/reply_sender.hpp"
#include "driver/engine/udp_segments.hpp"

#include <algorithm>
#include <cerrno>

namespace emx {

bool ReplySender::add(const fw_replies &run, int socket, const DatagramTarget &target)
{
    ReplyRun *queued = queue_.add(run);
    if (!queued)
        return false;
    queued->socket = socket;
    if (FW_X_DATA_HEADER + run.unit > target.bytes)
        return true; // as frames
    queued->target = target;
    fw_datagram_seal(queued->header.data(), target.secret);
    return true;
}

/// Datagrams of one run: all as long, but the last of the message.
uint32_t ReplySender::build_datagrams(const ReplyRun &run, uint32_t &iovecs)
{
    fw_replies left = run.replies;
    const auto most = static_cast<uint32_t>(std::clamp<std::size_t>(
        EMX_X_DATAGRAM_MAX / (FW_X_DATA_HEADER + left.unit), 1, datagram_headers_.size()));
    uint32_t frames = 0;
    for (; frames < most && left.count > 0; frames++) {
        uint8_t *header = datagram_headers_[frames].data();
        const uint32_t used = queue_.describe(run, left, header, &iovecs_[iovecs], iovecs_max - iovecs);
        if (used == 0)
            break;
        iovecs += used;
    }
    return frames;
}

int ReplySender::send_datagrams(int socket)
{
    const ReplyRun &run = queue_.at(0);
    uint32_t iovecs = 0;
    const uint32_t frames = socket < 0 ? 0 : build_datagrams(run, iovecs);
    if (frames == 0) {
        leave_datagrams();
        return 0;
    }
    const auto each = static_cast<uint16_t>(frames > 1 ? FW_X_DATA_HEADER + run.replies.unit : 0);
    if (send_segments(socket, run.target, {iovecs_.data(), iovecs}, each)) {
        emx_count(&counters_, EMX_CNT_TX_DATAGRAM, frames);
        queue_.advance(frames, true);
        return 0;
    }
    const int why = errno;
    if (why == EFAULT)
        return why;
    emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    if (!is_lasting(why))
        return EAGAIN;
    lost_ = run.target;
    leave_datagrams();
    return 0;
}

/// The next run leaves as frames.
void ReplySender::leave_datagrams()
{
    ReplyRun &run = queue_.at(0);
    run.target = {};
    queue_.encode(run);
}

} // namespace emx

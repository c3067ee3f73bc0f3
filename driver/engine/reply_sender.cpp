// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of pull replies, sent in batches straight from the windows' memory.
#include "driver/engine/reply_sender.hpp"

#include "driver/base/system_calls.hpp"

#include <cerrno>

namespace emx {

bool ReplySender::add(const fw_replies &run, int socket)
{
    ReplyRun *queued = queue_.add(run);
    if (queued)
        queued->socket = socket;
    return queued != nullptr;
}

// The next frame of the run into message `slot`; false when the iovecs do not suffice.
bool ReplySender::build_frame(const ReplyRun &run, fw_replies &left, uint32_t slot, uint32_t &iovecs)
{
    iovec *io = &iovecs_[iovecs];
    const uint32_t used = queue_.describe(run, left, headers_[slot].data(), io, iovecs_max - iovecs);
    if (used == 0)
        return false;
    messages_[slot].msg_hdr.msg_iov = io;
    messages_[slot].msg_hdr.msg_iovlen = used;
    iovecs += used;
    return true;
}

// Frames from the front of the queue that leave by the same socket.
uint32_t ReplySender::build(int socket)
{
    uint32_t frames = 0, iovecs = 0;
    for (uint32_t i = 0; i < queue_.size(); i++) {
        const ReplyRun &run = queue_.at(i);
        if (run.socket != socket || run.target.address != 0)
            break;
        fw_replies left = run.replies;
        while (left.count > 0) {
            if (frames == batch_max || !build_frame(run, left, frames, iovecs))
                return frames;
            frames++;
        }
    }
    return frames;
}

int ReplySender::send_batch(int datagram_socket)
{
    if (!pending())
        return 0;
    if (next_is_datagrams())
        return send_datagrams(datagram_socket);
    const int socket = queue_.at(0).socket;
    const uint32_t frames = build(socket);
    if (frames == 0) {
        // A window shorter than what the core let through: only a bug, or a cut that needs more pieces
        // than a batch has. Lose the frame rather than stop here for ever.
        queue_.advance(1, false);
        return 0;
    }
    const int sent = sys::sendmmsg(socket, messages_.data(), frames, MSG_DONTWAIT);
    if (sent > 0) {
        queue_.advance(static_cast<uint32_t>(sent), true);
        return 0;
    }
    const int why = errno;
    if (why == ENETDOWN || why == EFAULT)
        return why; // the caller drops all or what cannot be read, or tries again
    if (why == EAGAIN)
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    else
        queue_.advance(1, false);
    return why;
}

void ReplySender::drop_all()
{
    while (pending())
        queue_.advance(1, false);
}

} // namespace emx

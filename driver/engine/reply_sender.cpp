// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of pull replies, sent in batches straight from the windows' memory.
#include "driver/engine/reply_sender.hpp"

#include "driver/base/system_calls.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

std::array<uint8_t, EMX_FRAME_MIN> zero_padding{};

} // namespace

void ReplySender::open_window(uint16_t slot, std::span<const Segment> memory)
{
    windows_[slot].assign(memory);
}

void ReplySender::close_window(uint16_t slot)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; i++) {
        if (at(i).replies.window != slot)
            at(kept++) = at(i);
    }
    count_ = kept;
    windows_[slot].clear();
}

bool ReplySender::add(const fw_replies &run, int socket)
{
    if (count_ == queue_max)
        return false;
    Run &queued = at(count_++);
    queued.replies = run;
    queued.socket = socket;
    queued.target = {};
    fw_encode(&sizes_, &run.reply, queued.header.data());
    return true;
}

// Takes the next frame off the run, and tells where it lies; 0 when `room` does not suffice.
uint32_t ReplySender::describe(fw_replies &run, uint8_t *to, iovec *io, uint32_t room) const
{
    const uint32_t header = fw_replies_header(&run);
    uint32_t position = 0;
    const uint32_t length = fw_replies_take(&run, to, &position);
    if (room < 3)
        return 0;
    io[0] = {to, header};
    const uint64_t from = uint64_t{run.window_offset} + position;
    uint32_t used = windows_[run.window].describe(from, length, io + 1, room - 2);
    if (used == 0)
        return 0;
    if (run.reply.msg.type == EMX_X_DATA && run.reply.x.sum)
        fw_put_checksum(to, sum_pieces(io + 1, used));
    used++;
    if (header + length < EMX_FRAME_MIN)
        io[used++] = {zero_padding.data(), EMX_FRAME_MIN - header - length};
    return used;
}

// The next frame of the run into message `slot`; false when the iovecs do not suffice.
bool ReplySender::build_frame(fw_replies &run, uint32_t slot, uint32_t &iovecs)
{
    iovec *io = &iovecs_[iovecs];
    const uint32_t used = describe(run, headers_[slot].data(), io, iovecs_max - iovecs);
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
    for (uint32_t i = 0; i < count_ && at(i).socket == socket && at(i).target.address == 0; i++) {
        fw_replies run = at(i).replies;
        while (run.count > 0) {
            if (frames == batch_max)
                return frames;
            std::memcpy(headers_[frames].data(), at(i).header.data(), FW_X_DATA_HEADER);
            if (!build_frame(run, frames, iovecs))
                return frames;
            frames++;
        }
    }
    return frames;
}

/// Takes frames off the front of the queue, which were sent, or failed.
void ReplySender::advance(uint32_t frames, bool sent)
{
    for (; frames > 0; frames--) {
        fw_replies &run = at(0).replies;
        const int counter = run.reply.msg.type == EMX_X_DATA ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY;
        emx_count(&counters_, sent ? counter : EMX_CNT_TX_FAILED, 1);
        uint32_t position = 0;
        fw_replies_take(&run, nullptr, &position);
        if (run.count == 0) {
            first_ = (first_ + 1) % queue_max;
            count_--;
        }
    }
}

int ReplySender::send_batch(int datagram_socket)
{
    if (count_ == 0)
        return 0;
    if (at(0).target.address != 0)
        return send_datagrams(datagram_socket);
    const int socket = at(0).socket;
    const uint32_t frames = build(socket);
    if (frames == 0) {
        // A window shorter than what the core let through: only a bug, or a cut that needs more pieces
        // than a batch has. Lose the frame rather than stop here for ever.
        advance(1, false);
        return 0;
    }
    const int sent = sys::sendmmsg(socket, messages_.data(), frames, MSG_DONTWAIT);
    if (sent > 0) {
        advance(static_cast<uint32_t>(sent), true);
        return 0;
    }
    const int why = errno;
    if (why == ENETDOWN || why == EFAULT)
        return why; // the caller drops all or what cannot be read, or tries again
    if (why == EAGAIN)
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    else
        advance(1, false);
    return why;
}

fw_replies ReplySender::give_up()
{
    const fw_replies run = at(0).replies;
    first_ = (first_ + 1) % queue_max;
    count_--;
    return run;
}

void ReplySender::drop_all()
{
    while (count_ > 0)
        advance(1, false);
}

} // namespace emx

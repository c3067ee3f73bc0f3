// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of pull replies, sent in batches straight from the windows' memory.
#include "driver/engine/reply_sender.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

std::array<uint8_t, EMX_FRAME_MIN> zero_padding{};

/// Bytes of the next frame of a run: the first may be short, the last is what is left.
uint32_t next_length(const fw_replies &run, uint32_t full)
{
    return std::min(run.length, run.len_first ? run.len_first : full);
}

/// Takes the next frame off the front of a run.
void step(fw_replies &run, uint32_t length)
{
    run.first++;
    run.position += length;
    run.length -= length;
    run.len_first = 0; // from now on full frames
    run.count--;
}

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
    fw_encode(&sizes_, &run.reply, queued.header.data());
    return true;
}

// One frame into message `slot`; 0 when the iovecs do not suffice.
uint32_t ReplySender::build_frame(const fw_replies &run, uint32_t slot, uint32_t &iovecs)
{
    constexpr uint32_t header = FW_REPLY_HEADER;
    const uint32_t length = next_length(run, sizes_.reply);
    fw_reply_place(headers_[slot].data(), run.first, run.position, length);
    iovec *io = &iovecs_[iovecs];
    const uint32_t room = iovecs_max - iovecs;
    if (room < 3)
        return 0;
    io[0] = {headers_[slot].data(), header};
    const uint64_t from = uint64_t{run.window_offset} + run.position;
    uint32_t used = windows_[run.window].describe(from, length, io + 1, room - 2);
    if (used == 0)
        return 0;
    used++;
    if (header + length < EMX_FRAME_MIN)
        io[used++] = {zero_padding.data(), EMX_FRAME_MIN - header - length};
    messages_[slot].msg_hdr.msg_iov = io;
    messages_[slot].msg_hdr.msg_iovlen = used;
    iovecs += used;
    return length;
}

// Frames from the front of the queue that leave by the same socket.
uint32_t ReplySender::build(int socket)
{
    uint32_t frames = 0, iovecs = 0;
    for (uint32_t i = 0; i < count_ && at(i).socket == socket; i++) {
        fw_replies run = at(i).replies;
        while (run.count > 0) {
            if (frames == batch_max)
                return frames;
            std::memcpy(headers_[frames].data(), at(i).header.data(), FW_REPLY_HEADER);
            const uint32_t length = build_frame(run, frames, iovecs);
            if (length == 0)
                return frames;
            step(run, length);
            frames++;
        }
    }
    return frames;
}

void ReplySender::advance(uint32_t frames)
{
    while (frames > 0) {
        fw_replies &run = at(0).replies;
        step(run, next_length(run, sizes_.reply));
        frames--;
        if (run.count == 0) {
            first_ = (first_ + 1) % queue_max;
            count_--;
        }
    }
}

int ReplySender::send_batch()
{
    if (count_ == 0)
        return 0;
    const int socket = at(0).socket;
    const uint32_t frames = build(socket);
    if (frames == 0) {
        // A window shorter than what the core let through: only a bug, or a cut that needs more pieces
        // than a batch has. Lose the frame rather than stop here for ever.
        advance(1);
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
        return 0;
    }
    int sent;
    do {
        sent = ::sendmmsg(socket, messages_.data(), frames, MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent > 0) {
        emx_count(&counters_, EMX_CNT_TX_PULL_REPLY, static_cast<uint32_t>(sent));
        advance(static_cast<uint32_t>(sent));
        return 0;
    }
    const int why = errno;
    if (why == ENETDOWN)
        return why; // the caller drops all, or tries again
    emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    if (why != EAGAIN)
        advance(1);
    return why;
}

void ReplySender::drop_all()
{
    for (; count_ > 0; advance(1))
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Answers that wait for their turn to leave.
#include "driver/engine/reply_queue.hpp"

#include <cstring>

namespace emx {
namespace {

std::array<uint8_t, EMX_FRAME_MIN> zero_padding{};

} // namespace

void ReplyQueue::close_window(uint16_t slot)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; i++) {
        if (at(i).replies.window != slot)
            at(kept++) = at(i);
    }
    count_ = kept;
    windows_[slot].clear();
}

ReplyRun *ReplyQueue::add(const fw_replies &replies)
{
    if (count_ == runs_max)
        return nullptr;
    ReplyRun &run = at(count_++);
    run.replies = replies;
    run.socket = -1;
    run.target = {};
    encode(run);
    return &run;
}

uint32_t ReplyQueue::describe(const ReplyRun &run, fw_replies &left, uint8_t *header, iovec *io,
                              uint32_t room) const
{
    std::memcpy(header, run.header.data(), FW_X_DATA_HEADER);
    const uint32_t header_bytes = fw_replies_header(&left);
    uint32_t position = 0;
    const uint32_t length = fw_replies_take(&left, header, &position);
    if (room < 3)
        return 0;
    io[0] = {header, header_bytes};
    const uint64_t from = uint64_t{left.window_offset} + position;
    uint32_t used = windows_[left.window].describe(from, length, io + 1, room - 2);
    if (used == 0)
        return 0;
    if (left.reply.msg.type == EMX_X_DATA && left.reply.x.sum)
        fw_put_checksum(header, sum_pieces(io + 1, used));
    used++;
    const bool by_tcp = left.reply.msg.type == EMX_X_DATA && left.reply.x.carrier == FW_BY_TCP;
    if (header_bytes + length < EMX_FRAME_MIN && !by_tcp)
        io[used++] = {zero_padding.data(), EMX_FRAME_MIN - header_bytes - length};
    return used;
}

void ReplyQueue::advance(uint32_t frames, bool sent)
{
    for (; frames > 0; frames--) {
        fw_replies &run = at(0).replies;
        const int counter = run.reply.msg.type == EMX_X_DATA ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY;
        emx_count(&counters_, sent ? counter : int{EMX_CNT_TX_FAILED}, 1);
        uint32_t position = 0;
        fw_replies_take(&run, nullptr, &position);
        if (run.count == 0)
            give_up();
    }
}

fw_replies ReplyQueue::give_up()
{
    const fw_replies run = at(0).replies;
    first_ = (first_ + 1) % runs_max;
    count_--;
    return run;
}

} // namespace emx

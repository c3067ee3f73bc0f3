// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Batches of pull replies, scattered to their final places.
#include "driver/engine/bulk_receiver.hpp"

#include "driver/base/system_calls.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {

static_assert(BulkReceiver::batch_max <= FW_PLACES_MAX);

void BulkReceiver::allocate() { scratch_.resize(std::size_t{batch_max} * data_max_); }

void BulkReceiver::arm_one(uint32_t i, const PieceList *target)
{
    auto &io = iovecs_[i];
    io[0] = {headers_[i].data(), header_};
    uint32_t used = 1;
    if (target && places_[i].length > 0)
        used += target->describe(places_[i].position, places_[i].length, &io[1], iovecs_each - 2);
    if (used == 1)
        places_[i].length = 0;
    // A longer frame than expected continues in scratch, where its front will be put before it.
    const uint32_t placed = places_[i].length;
    if (placed < data_max_)
        io[used++] = {scratch(i) + placed, data_max_ - placed};
    messages_[i].msg_hdr = {};
    messages_[i].msg_hdr.msg_iov = io.data();
    messages_[i].msg_hdr.msg_iovlen = used;
}

void BulkReceiver::arm(const fw_endpoint &ep, int slot, const PieceList *target)
{
    if (slot < 0 || slot != slot_ || ep.pull[slot].handle != handle_) {
        slot_ = slot;
        handle_ = slot >= 0 ? ep.pull[slot].handle : 0;
        in_order_ = true;
    }
    header_ = slot >= 0 && ep.pull[slot].is_x ? FW_X_DATA_HEADER : FW_REPLY_HEADER;
    const bool predict = target && in_order_;
    armed_ = predict;
    const uint32_t known = predict ? fw_expect(&ep, slot, batch_, places_.data()) : 0;
    for (uint32_t i = 0; i < batch_; i++) {
        if (i >= known)
            places_[i] = {};
        arm_one(i, target);
        armed_ = armed_ && places_[i].length > 0;
    }
}

bool BulkReceiver::is_armed(const fw_endpoint &ep, int slot) const
{
    return armed_ && slot >= 0 && slot == slot_ && ep.pull[slot].handle == handle_;
}

bool BulkReceiver::in_place(uint32_t i, const fw_endpoint &ep, int slot) const
{
    if (places_[i].length == 0 || frames_[i].bytes < header_)
        return false;
    if (ep.pull[slot].is_x) {
        emx_w_x_data data;
        std::memcpy(&data, headers_[i].data() + EMX_OUTER_LEN, sizeof(data));
        return data.type == EMX_X_DATA &&
               uint64_t{emx_get32(data.frame)} * ep.pull[slot].unit == places_[i].position &&
               emx_get16(data.length) == places_[i].length && emx_get32(data.handle) == ep.pull[slot].handle;
    }
    emx_w_pull_reply reply;
    std::memcpy(&reply, headers_[i].data() + EMX_OUTER_LEN, sizeof(reply));
    return reply.type == EMX_PULL_REPLY && emx_get32(reply.position) == places_[i].position &&
           emx_get16(reply.length) == places_[i].length && emx_get32(reply.handle) == ep.pull[slot].handle;
}

/// An X DATA may come where a PULL REPLY was expected, or one of several kinds: its payload begins
/// further on. A PULL REPLY where an X DATA was expected is of no pull, and nobody asks for its payload.
void BulkReceiver::complete_header(uint32_t i)
{
    constexpr uint32_t rest = FW_X_DATA_HEADER - FW_REPLY_HEADER;
    std::memcpy(headers_[i].data() + FW_REPLY_HEADER, scratch(i), rest);
    frames_[i].payload = scratch(i) + rest;
}

void BulkReceiver::set_aside(uint32_t i, const PieceList &target)
{
    if (frames_[i].bytes <= header_)
        return;
    const uint32_t payload = frames_[i].bytes - header_;
    target.copy_out(places_[i].position, scratch(i), std::min(payload, places_[i].length));
}

int BulkReceiver::receive(const fw_endpoint &ep, int slot, const PieceList *target)
{
    if (scratch_.empty())
        allocate();
    if (!is_armed(ep, slot))
        arm(ep, slot, target);
    const int count = sys::recvmmsg(socket_.get(), messages_.data(), batch_, MSG_DONTWAIT);
    full_ = count == static_cast<int>(batch_);
    for (int n = 0; n < count; n++) {
        const auto i = static_cast<uint32_t>(n);
        frames_[i] = {headers_[i].data(), messages_[i].msg_len, scratch(i)};
        if (in_place(i, ep, slot))
            frames_[i].payload = nullptr;
        else if (places_[i].length > 0)
            set_aside(i, *target);
        if (header_ == FW_REPLY_HEADER && headers_[i][EMX_OUTER_LEN] == std::byte{EMX_X_DATA}) [[unlikely]]
            complete_header(i);
    }
    if (count > 0) {
        in_order_ = true; // until accepted() sees otherwise
        armed_ = false;
        batch_ = std::clamp(2 * static_cast<uint32_t>(count), batch_min, batch_max);
    }
    next_ = 0;
    return count;
}

uint32_t BulkReceiver::payload_sum(uint32_t i, uint32_t bytes, const PieceList *target) const
{
    if (frames_[i].payload)
        return fw_crc32c(0, frames_[i].payload, bytes);
    std::array<iovec, iovecs_each> io;
    const uint32_t pieces = target->describe(places_[i].position, bytes, io.data(), iovecs_each);
    return sum_pieces(io.data(), pieces);
}

void BulkReceiver::accepted(int slot, uint32_t position, uint32_t length)
{
    if (slot != slot_)
        return;
    if (next_ != 0 && position != next_)
        in_order_ = false;
    next_ = position + length;
}

} // namespace emx

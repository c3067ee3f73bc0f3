// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Batches of pull replies, scattered to their final places.
#include "driver/engine/bulk_receiver.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {

void BulkReceiver::allocate() { scratch_.resize(std::size_t{batch_max} * sizes_.reply); }

void BulkReceiver::arm_one(uint32_t i, const PieceList *target)
{
    auto &io = iovecs_[i];
    io[0] = {headers_[i].data(), header_bytes};
    uint32_t used = 1;
    if (target && places_[i].length > 0)
        used += target->describe(places_[i].position, places_[i].length, &io[1], iovecs_each - 2);
    if (used == 1)
        places_[i].length = 0;
    // A longer frame than expected continues in scratch, where its front will be put before it.
    const uint32_t placed = places_[i].length;
    if (placed < sizes_.reply)
        io[used++] = {scratch(i) + placed, sizes_.reply - placed};
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
    const bool predict = target && in_order_;
    armed_ = predict;
    Place place{};
    for (uint32_t i = 0; i < batch_; i++) {
        places_[i] = {};
        if (predict && fw_predict(&ep, slot, i, &place.position, &place.length) == 0)
            places_[i] = place;
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
    if (places_[i].length == 0 || frames_[i].bytes < header_bytes)
        return false;
    emx_w_pull_reply reply;
    std::memcpy(&reply, headers_[i].data() + EMX_OUTER_LEN, sizeof(reply));
    return emx_get32(reply.position) == places_[i].position && emx_get16(reply.length) == places_[i].length &&
           emx_get32(reply.handle) == ep.pull[slot].handle;
}

void BulkReceiver::set_aside(uint32_t i, const PieceList &target)
{
    if (frames_[i].bytes <= header_bytes)
        return;
    const uint32_t payload = frames_[i].bytes - header_bytes;
    target.copy_out(places_[i].position, scratch(i), std::min(payload, places_[i].length));
}

int BulkReceiver::receive(const fw_endpoint &ep, int slot, const PieceList *target)
{
    if (scratch_.empty())
        allocate();
    if (!is_armed(ep, slot))
        arm(ep, slot, target);
    int count;
    do {
        count = ::recvmmsg(socket_.get(), messages_.data(), batch_, MSG_DONTWAIT, nullptr);
    } while (count < 0 && errno == EINTR);
    for (int n = 0; n < count; n++) {
        const auto i = static_cast<uint32_t>(n);
        frames_[i] = {headers_[i].data(), messages_[i].msg_len, scratch(i)};
        if (in_place(i, ep, slot))
            frames_[i].payload = nullptr;
        else if (places_[i].length > 0)
            set_aside(i, *target);
    }
    if (count > 0) {
        in_order_ = true; // until accepted() sees otherwise
        armed_ = false;
        batch_ = std::clamp(2 * static_cast<uint32_t>(count), batch_min, batch_max);
    }
    next_ = 0;
    return count;
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

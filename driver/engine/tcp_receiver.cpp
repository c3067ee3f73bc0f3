// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X DATA out of one connection.
#include "driver/engine/tcp_receiver.hpp"

#include "driver/base/system_calls.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {

uint32_t TcpReceiver::stated() const
{
    emx_w_x_data data;
    std::memcpy(&data, now_.header.data() + EMX_OUTER_LEN, sizeof(data));
    return emx_get16(data.length);
}

bool TcpReceiver::expect_payload(int slot, uint32_t handle, uint32_t position, const PieceList *target,
                                 const PieceList *foreseen_for)
{
    judged_ = true;
    length_ = left_ = stated();
    slot_ = slot;
    handle_ = handle;
    position_ = position;
    std::array<iovec, pieces_max> io;
    if (slot >= 0 && target->describe(position, length_, io.data(), pieces_max) == 0)
        slot_ = -1;
    if (slot_ < 0 && scratch_.size() < length_)
        scratch_.resize(EMX_X_UNIT_MAX);
    return now_.got == 0 || take_foreseen(slot, foreseen_for);
}

/// Some of the payload has been read into the place that was foreseen for it. False: it is lost.
bool TcpReceiver::take_foreseen(int slot, const PieceList *foreseen_for)
{
    const bool alone = handle_ == foreseen_handle_ && length_ == now_.place.length;
    const bool right = alone && slot == foreseen_slot_ && position_ == now_.place.position;
    if (right || (alone && !foreseen_for)) { // or nobody awaits it any more
        left_ -= now_.got;
        return true;
    }
    if (!foreseen_for)
        return false;
    rest_ = rest_after_fault;
    lay_out_anew(*foreseen_for);
    return true;
}

/// All that was read behind the header is to be read again, from memory of ours.
void TcpReceiver::lay_out_anew(const PieceList &memory)
{
    const auto append = [&](const Packet &packet) {
        const std::size_t end = again_.size();
        again_.resize(end + packet.got);
        memory.copy_out(packet.place.position, again_.data() + end, packet.got);
    };
    append(now_);
    for (uint32_t i = 0; i < ahead_count_; i++) {
        again_.insert(again_.end(), header_of(ahead_[i]), header_of(ahead_[i]) + ahead_[i].have);
        append(ahead_[i]);
    }
    again_at_ = 0;
    now_.got = 0;
    ahead_count_ = 0;
}

/// The packets behind this one, if they come in the order of the places; the last has a header alone.
void TcpReceiver::foresee(std::span<const fw_place> places)
{
    ahead_count_ = 0;
    foreseen_slot_ = slot_;
    foreseen_handle_ = handle_;
    for (const fw_place &place : places) {
        if (ahead_count_ == ahead_max)
            break;
        if (place.position != position_ && place.length > 0) {
            ahead_[ahead_count_].place = place;
            ahead_count_++;
        }
    }
    ahead_[ahead_count_++].place = {};
    for (uint32_t i = 0; i < ahead_count_; i++)
        ahead_[i].have = ahead_[i].got = 0;
}

/// Describes what is left of the payload, and the packets that are foreseen behind it.
uint32_t TcpReceiver::describe(const PieceList *target, std::span<iovec> io)
{
    uint32_t used = 0;
    if (slot_ >= 0)
        used = target->describe(position_ + length_ - left_, left_, io.data(), pieces_max);
    else
        io[used++] = {scratch_.data() + length_ - left_, left_};
    for (uint32_t i = 0; i < ahead_count_; i++) {
        Packet &packet = ahead_[i];
        io[used++] = {header_of(packet) + packet.have, header_bytes - packet.have};
        if (packet.place.length == 0)
            break;
        const uint32_t pieces =
            target->describe(packet.place.position, packet.place.length, io.data() + used, pieces_max);
        if (pieces == 0) {
            packet.place = {};
            ahead_count_ = i + 1;
            break;
        }
        used += pieces;
    }
    return used;
}

/// As recvmsg, from the stream.
ssize_t TcpReceiver::read(int socket, std::span<iovec> io)
{
    if (again_.empty()) {
        msghdr message{};
        message.msg_iov = io.data();
        message.msg_iovlen = io.size();
        return sys::recvmsg(socket, &message, MSG_DONTWAIT);
    }
    ssize_t got = 0;
    for (const iovec &one : io) {
        const std::size_t bytes = std::min(one.iov_len, again_.size() - again_at_);
        std::memcpy(one.iov_base, again_.data() + again_at_, bytes);
        again_at_ += static_cast<uint32_t>(bytes);
        got += static_cast<ssize_t>(bytes);
    }
    if (again_at_ == again_.size())
        again_ = {}; // up to 1 MiB, for once
    return got;
}

TcpReceiver::State TcpReceiver::receive(int socket, const PieceList *target,
                                        std::span<const fw_place> foreseen)
{
    if (has_packet())
        return State::packet; // it came with the one before
    std::array<iovec, std::size_t{ahead_max + 1} * (pieces_max + 1)> io;
    uint32_t used = 1;
    if (judged_) {
        if (slot_ < 0 && scratch_.size() < length_)
            scratch_.resize(EMX_X_UNIT_MAX);
        foresee(looks_ahead() ? foreseen : std::span<const fw_place>{});
        used = describe(target, io);
    } else {
        io[0] = {header_of(now_) + now_.have, header_bytes - now_.have};
    }
    const ssize_t got = read(socket, {io.data(), used});
    if (got < 0 && errno == EAGAIN)
        return State::nothing;
    if (got <= 0) {
        errno = got == 0 ? 0 : errno;
        return State::ended;
    }
    return note(static_cast<uint32_t>(got));
}

TcpReceiver::State TcpReceiver::note(uint32_t bytes)
{
    const auto take = [&bytes](uint32_t most) {
        const uint32_t part = std::min(bytes, most);
        bytes -= part;
        return part;
    };
    if (!judged_) {
        now_.have += take(header_bytes - now_.have);
        return has_header() ? State::header : State::nothing;
    }
    left_ -= take(left_);
    for (uint32_t i = 0; i < ahead_count_; i++) {
        ahead_[i].have += take(header_bytes - ahead_[i].have);
        ahead_[i].got += take(ahead_[i].place.length);
    }
    return left_ == 0 ? State::packet : State::nothing;
}

uint32_t TcpReceiver::payload_sum(const PieceList *target) const
{
    if (slot_ < 0)
        return fw_crc32c(0, scratch_.data(), length_);
    std::array<iovec, pieces_max> io;
    return sum_pieces(io.data(), target->describe(position_, length_, io.data(), pieces_max));
}

void TcpReceiver::next_packet()
{
    judged_ = false;
    slot_ = -1;
    rest_ -= rest_ > 0;
    if (ahead_count_ == 0) {
        now_.have = now_.got = 0;
        return;
    }
    now_ = ahead_[0];
    std::move(ahead_.begin() + 1, ahead_.begin() + ahead_count_, ahead_.begin());
    ahead_count_--;
}

} // namespace emx

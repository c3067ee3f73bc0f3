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
    std::memcpy(&data, headers_[current_].data() + EMX_OUTER_LEN, sizeof(data));
    return emx_get16(data.length);
}

void TcpReceiver::expect_payload(int slot, uint32_t handle, uint32_t position, const PieceList *target)
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
}

TcpReceiver::State TcpReceiver::receive(int socket, const PieceList *target)
{
    std::array<iovec, pieces_max + 1> io;
    uint32_t used = 0;
    uint32_t header = current_;
    if (judged_) {
        if (slot_ >= 0) {
            used = target->describe(position_ + length_ - left_, left_, io.data(), pieces_max);
        } else {
            if (scratch_.size() < length_)
                scratch_.resize(EMX_X_UNIT_MAX);
            io[used++] = {scratch_.data() + length_ - left_, left_};
        }
        header ^= 1; // it comes with what is left of this payload
    }
    io[used++] = {headers_[header].data() + header_at + have_[header], header_bytes - have_[header]};
    msghdr message{};
    message.msg_iov = io.data();
    message.msg_iovlen = used;
    const ssize_t got = sys::recvmsg(socket, &message, MSG_DONTWAIT);
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
    const uint32_t payload = judged_ ? std::min(bytes, left_) : 0;
    left_ -= payload;
    have_[judged_ ? current_ ^ 1 : current_] += bytes - payload;
    if (judged_)
        return left_ == 0 ? State::packet : State::nothing;
    return have_[current_] == header_bytes ? State::header : State::nothing;
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
    have_[current_] = 0;
    current_ ^= 1;
}

} // namespace emx

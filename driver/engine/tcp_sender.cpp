// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X DATA into one connection.
#include "driver/engine/tcp_sender.hpp"

#include "driver/base/system_calls.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {

bool TcpSender::add(const ReplyQueue &windows, const fw_replies &run)
{
    if (count_ == runs_max)
        return false;
    ReplyRun &queued = at(count_++);
    queued.replies = run;
    queued.socket = -1;
    queued.target = {};
    windows.encode(queued);
    return true;
}

/// Describes the next packet of a run as a connection carries it: its iovecs, from iovecs_[used] on. 0: they
/// do not suffice.
uint32_t TcpSender::describe(const ReplyQueue &windows, const ReplyRun &run, fw_replies &left,
                             uint32_t packet, uint32_t used)
{
    constexpr uint32_t from = EMX_OUTER_LEN - EMX_X_TCP_PAD;
    uint8_t *header = headers_[packet].data();
    iovec *io = &iovecs_[used];
    const uint32_t pieces = windows.describe(run, left, header, io, iovecs_max - used);
    std::memset(header + from, 0, EMX_X_TCP_PAD);
    io[0].iov_base = header + from;
    io[0].iov_len -= from;
    return pieces;
}

/// The packets of one call, `most` at most, and what each takes. 0: none fits.
uint32_t TcpSender::build(const ReplyQueue &windows, uint32_t most, uint32_t &packets)
{
    uint32_t used = 0;
    packets = 0;
    for (uint32_t i = 0; i < count_; i++) {
        fw_replies left = at(i).replies;
        while (left.count > 0 && packets < most) {
            const uint32_t pieces = describe(windows, at(i), left, packets, used);
            if (pieces == 0)
                return used;
            uint32_t bytes = 0;
            for (uint32_t n = 0; n < pieces; n++)
                bytes += static_cast<uint32_t>(iovecs_[used + n].iov_len);
            bytes_[packets++] = bytes;
            used += pieces;
        }
    }
    return used;
}

/// The first bytes have left before.
void TcpSender::skip(uint32_t &first, uint32_t bytes)
{
    for (; bytes >= iovecs_[first].iov_len; first++)
        bytes -= static_cast<uint32_t>(iovecs_[first].iov_len);
    iovecs_[first].iov_base = static_cast<std::byte *>(iovecs_[first].iov_base) + bytes;
    iovecs_[first].iov_len -= bytes;
}

void TcpSender::take_packet(emx_counters &counters)
{
    fw_replies &run = at(0).replies;
    uint32_t position = 0;
    fw_replies_take(&run, nullptr, &position);
    emx_count(&counters, EMX_CNT_TX_X_DATA, 1);
    emx_count(&counters, EMX_CNT_TX_TCP, 1);
    sent_++;
    if (run.count == 0)
        give_up();
}

/// So many bytes of those packets have left.
void TcpSender::advance(uint32_t bytes, uint32_t packets, emx_counters &counters)
{
    offset_ += bytes;
    for (uint32_t i = 0; i < packets && offset_ >= bytes_[i]; i++) {
        offset_ -= bytes_[i];
        take_packet(counters);
    }
}

TcpSender::Outcome TcpSender::send(int socket, const ReplyQueue &windows, emx_counters &counters)
{
    const Outcome outcome = send_some(socket, windows, packets_max, counters);
    // The memory that cannot be read may be that of a later answer, for which the first is not to be refused.
    return outcome == Outcome::unreadable ? send_some(socket, windows, 1, counters) : outcome;
}

TcpSender::Outcome TcpSender::send_some(int socket, const ReplyQueue &windows, uint32_t most,
                                        emx_counters &counters)
{
    uint32_t packets = 0, first = 0;
    uint32_t used = 1;
    if (!rest_.empty()) {
        iovecs_[0] = {rest_.data(), rest_.size()};
    } else {
        used = build(windows, most, packets);
        if (used == 0)
            return Outcome::ended; // a cut of more pieces than a call takes
        skip(first, offset_);
    }
    msghdr message{};
    message.msg_iov = &iovecs_[first];
    message.msg_iovlen = used - first;
    const ssize_t sent = sys::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno == EFAULT && rest_.empty())
            return Outcome::unreadable;
        return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? Outcome::full : Outcome::ended;
    }
    if (rest_.empty())
        advance(static_cast<uint32_t>(sent), packets, counters);
    else
        rest_.erase(rest_.begin(), rest_.begin() + sent);
    return Outcome::sent;
}

fw_replies TcpSender::give_up()
{
    const fw_replies run = at(0).replies;
    first_ = (first_ + 1) % runs_max;
    count_--;
    return run;
}

void TcpSender::drop_all()
{
    count_ = 0;
    offset_ = 0;
    rest_.clear();
}

/// Copies what the other end has not got of the packet that was begun.
bool TcpSender::keep_rest(const ReplyQueue &windows)
{
    fw_replies left = at(0).replies;
    const uint32_t used = describe(windows, at(0), left, 0, 0);
    if (used == 0)
        return false;
    uint32_t first = 0;
    skip(first, offset_);
    for (uint32_t i = first; i < used; i++) {
        const auto *from = static_cast<const std::byte *>(iovecs_[i].iov_base);
        if (!sys::can_read(from, iovecs_[i].iov_len))
            return false;
        rest_.insert(rest_.end(), from, from + iovecs_[i].iov_len);
    }
    offset_ = 0;
    return true;
}

bool TcpSender::close_window(const ReplyQueue &windows, uint16_t slot)
{
    if (count_ > 0 && offset_ != 0 && at(0).replies.window == slot && !keep_rest(windows))
        return false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; i++) {
        if (at(i).replies.window != slot)
            at(kept++) = at(i);
    }
    count_ = kept;
    return true;
}

} // namespace emx

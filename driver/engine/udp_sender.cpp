// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Datagrams of a UDP board's endpoint.
#include "driver/engine/udp_sender.hpp"

#include "driver/base/system_calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint32_t cut_max = 65507;
std::array<uint8_t, EMX_FRAME_MIN> frame_padding{};

} // namespace

UdpSender::Path &UdpSender::path(uint32_t peer)
{
    if (peer >= paths_.size()) [[unlikely]]
        paths_.resize(peer + 1);
    Path &path = paths_[peer];
    PeerAddress &place = file_->address(board_, peer);
    if (std::atomic_ref(place.serial).load(std::memory_order_acquire) != path.serial) [[unlikely]]
        read_address(place, path.serial, path.address);
    return path;
}

const UdpAddress *UdpSender::address(uint32_t peer)
{
    const Path &found = path(peer);
    return found.address.port != 0 ? &found.address : nullptr;
}

bool UdpSender::socket_address(uint32_t peer, const uint8_t *frame, SocketAddress &to, socklen_t &length)
{
    const UdpAddress *agent = address(peer);
    if (!agent) {
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
        return false;
    }
    length = to_socket(agent->with_port(udp_port_for(frame, agent->port)), to);
    return true;
}

bool UdpSender::send(uint32_t peer, const void *frame, std::size_t bytes, int counter)
{
    SocketAddress to;
    socklen_t length = 0;
    if (!socket_address(peer, static_cast<const uint8_t *>(frame), to, length))
        return false;
    const auto once = [&] {
        return ::syscall(SYS_sendto, socket_.get(), frame, bytes, MSG_DONTWAIT, &to, length) >= 0;
    };
    const bool sent = once() || (errno == EINTR && once());
    emx_count(&counters_, sent ? counter : int{EMX_CNT_TX_FAILED}, 1);
    return sent;
}

bool UdpSender::fits(const Batch &batch, uint32_t peer, uint32_t port, uint32_t bytes) const
{
    return batch.count == 0 || (!batch.closed && batch.count < batch_max && batch.peer == peer &&
                                batch.port == port && bytes <= batch.each && batch.bytes + bytes <= cut_max);
}

void UdpSender::note(Batch &batch, uint32_t bytes, uint32_t iovecs)
{
    if (batch.count == 0)
        batch.each = bytes;
    batch.closed = bytes < batch.each;
    pieces_[batch.count++] = iovecs;
    batch.bytes += bytes;
    batch.iovecs += iovecs;
}

bool UdpSender::add_fragment(uint32_t peer, const uint8_t *header, uint32_t header_bytes, std::byte *payload,
                             uint32_t payload_bytes, int counter)
{
    const UdpAddress *agent = address(peer);
    if (!agent) {
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
        return false;
    }
    const uint32_t port = udp_port_for(header, agent->port);
    const uint32_t bytes = std::max<uint32_t>(header_bytes + payload_bytes, EMX_FRAME_MIN);
    if (!fits(fragments_, peer, port, bytes))
        flush();
    fragments_.peer = peer;
    fragments_.port = port;
    fragments_.counter = counter;
    uint8_t *const copy = fragment_headers_[fragments_.count].data();
    std::memcpy(copy, header, header_bytes);
    iovec *io = &fragment_iovecs_[fragments_.iovecs];
    uint32_t used = 0;
    io[used++] = {copy, header_bytes};
    io[used++] = {payload, payload_bytes};
    if (bytes > header_bytes + payload_bytes)
        io[used++] = {frame_padding.data(), bytes - header_bytes - payload_bytes};
    note(fragments_, bytes, used);
    return true;
}

void UdpSender::flush()
{
    if (fragments_.count == 0)
        return;
    const bool sent = send_batch(fragments_, fragment_iovecs_.data()) == 0;
    emx_count(&counters_, sent ? fragments_.counter : int{EMX_CNT_TX_FAILED}, fragments_.count);
    fragments_ = {};
}

int UdpSender::send_batch(const Batch &batch, iovec *io)
{
    const UdpAddress *agent = address(batch.peer);
    if (!agent)
        return EHOSTUNREACH;
    SocketAddress to;
    SegmentControl control{};
    msghdr message{};
    message.msg_namelen = to_socket(agent->with_port(batch.port), to);
    message.msg_name = &to;
    message.msg_iov = io;
    message.msg_iovlen = batch.iovecs;
    if (batch.count > 1)
        cut_into(message, control, batch.each);
    if (sys::sendmsg(socket_.get(), &message, MSG_DONTWAIT) >= 0)
        return 0;
    // Segments that do not fit the path, and routes whose interfaces cannot sum up: one by one.
    const int why = errno;
    if (batch.count == 1 || (why != EINVAL && why != EMSGSIZE && why != EIO))
        return why;
    return send_singly(batch, message, io);
}

int UdpSender::send_singly(const Batch &batch, msghdr &message, iovec *io)
{
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    int why = 0;
    for (uint32_t i = 0; i < batch.count; i++) {
        message.msg_iov = io;
        message.msg_iovlen = pieces_[i];
        if (sys::sendmsg(socket_.get(), &message, MSG_DONTWAIT) < 0)
            why = errno; // the peer asks again for what is lost
        io += pieces_[i];
    }
    return why == EFAULT ? why : 0;
}

void UdpSender::close_window(uint16_t slot)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; i++) {
        const fw_replies &each = queue_[(first_ + i) % queue_max];
        if (each.window != slot)
            queue_[(first_ + kept++) % queue_max] = each;
    }
    count_ = kept;
    windows_[slot].clear();
}

bool UdpSender::add_replies(const fw_replies &run)
{
    if (count_ == queue_max)
        return false;
    queue_[(first_ + count_++) % queue_max] = run;
    return true;
}

/// Takes the next frame off the run, and tells where it lies; 0 when `room` does not suffice.
uint32_t UdpSender::describe(fw_replies &run, uint8_t *header, iovec *io, uint32_t room) const
{
    const uint32_t header_bytes = fw_replies_header(&run);
    uint32_t position = 0;
    const uint32_t length = fw_replies_take(&run, header, &position);
    if (room < 3)
        return 0;
    io[0] = {header, header_bytes};
    const uint64_t from = uint64_t{run.window_offset} + position;
    uint32_t used = windows_[run.window].describe(from, length, io + 1, room - 2);
    if (used == 0)
        return 0;
    if (run.reply.msg.type == EMX_X_DATA && run.reply.x.sum)
        fw_put_checksum(header, sum_pieces(io + 1, used));
    used++;
    if (header_bytes + length < EMX_FRAME_MIN)
        io[used++] = {frame_padding.data(), EMX_FRAME_MIN - header_bytes - length};
    return used;
}

/// Frames from the front of a run that one call sends.
uint32_t UdpSender::build_replies(const fw_replies &run, Batch &batch)
{
    fw_replies left = run;
    std::array<uint8_t, EMX_HEADER_MAX> first{};
    fw_encode(&sizes_, &run.reply, first.data());
    while (left.count > 0 && batch.count < batch_max) {
        uint8_t *header = headers_[batch.count].data();
        std::memcpy(header, first.data(), first.size());
        iovec *io = &iovecs_[batch.iovecs];
        const uint32_t used = describe(left, header, io, iovecs_max - batch.iovecs);
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < used; i++)
            bytes += static_cast<uint32_t>(io[i].iov_len);
        if (used == 0 || !fits(batch, batch.peer, batch.port, bytes))
            break;
        batch.port = udp_port_for(header, address(batch.peer)->port);
        note(batch, bytes, used);
    }
    return batch.count;
}

void UdpSender::advance(uint32_t frames, bool sent)
{
    fw_replies &run = front();
    const int counter = run.reply.msg.type == EMX_X_DATA ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY;
    emx_count(&counters_, sent ? counter : int{EMX_CNT_TX_FAILED}, frames);
    for (uint32_t position = 0; frames > 0 && run.count > 0; frames--)
        fw_replies_take(&run, nullptr, &position);
    if (run.count == 0) {
        first_ = (first_ + 1) % queue_max;
        count_--;
    }
}

bool UdpSender::send_replies()
{
    flush();
    if (count_ == 0)
        return true;
    Batch batch;
    batch.peer = front().reply.msg.peer;
    const bool reachable = address(batch.peer) != nullptr;
    const uint32_t frames = reachable ? build_replies(front(), batch) : 0;
    if (frames == 0) {
        advance(1, false); // a cut that needs more pieces than a batch has, or a peer that is nowhere
        return true;
    }
    const int why = send_batch(batch, iovecs_.data());
    if (why == EAGAIN || why == ENOBUFS || why == ENOMEM) {
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
        return false;
    }
    if (why == EFAULT) {
        unreadable_ = true;
        unread_ = front();
        first_ = (first_ + 1) % queue_max;
        count_--;
        return true;
    }
    advance(frames, why == 0);
    return true;
}

bool UdpSender::take_unreadable(fw_replies &run)
{
    if (!unreadable_)
        return false;
    unreadable_ = false;
    run = unread_;
    return true;
}

} // namespace emx

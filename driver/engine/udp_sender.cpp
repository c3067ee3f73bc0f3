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

/// Frames from the front of a run that one call sends.
uint32_t UdpSender::build_replies(const ReplyRun &run, Batch &batch)
{
    fw_replies left = run.replies;
    while (left.count > 0 && batch.count < batch_max) {
        uint8_t *header = headers_[batch.count].data();
        iovec *io = &iovecs_[batch.iovecs];
        const uint32_t used = replies_.describe(run, left, header, io, iovecs_max - batch.iovecs);
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

bool UdpSender::send_replies()
{
    flush();
    if (!pending())
        return true;
    const ReplyRun &run = replies_.at(0);
    Batch batch;
    batch.peer = run.replies.reply.msg.peer;
    const bool reachable = address(batch.peer) != nullptr;
    const uint32_t frames = reachable ? build_replies(run, batch) : 0;
    if (frames == 0) {
        replies_.advance(1,
                         false); // a cut that needs more pieces than a batch has, or a peer that is nowhere
        return true;
    }
    const int why = send_batch(batch, iovecs_.data());
    if (why == EAGAIN || why == ENOBUFS || why == ENOMEM) {
        emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
        return false;
    }
    if (why == EFAULT) {
        unreadable_ = replies_.give_up();
        return true;
    }
    replies_.advance(frames, why == 0);
    return true;
}

} // namespace emx

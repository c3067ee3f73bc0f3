// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Batches of datagrams.
#include "driver/engine/udp_receiver.hpp"

#include "driver/base/system_calls.hpp"

#include <algorithm>
#include <new>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {
namespace {

constexpr uint32_t joined_bytes_max = 65536;
// Frames in different buffers do not fall into the same places of the processor's caches.
constexpr uint32_t joined_buffer = joined_bytes_max + (FW_CHECK_BYTES + 63) / 64 * 64 + 64;

} // namespace

bool UdpReceiver::open()
{
    memory_.reset(new (std::nothrow) std::byte[std::size_t{batch_max} * joined_buffer]);
    if (!memory_)
        return false;
    for (uint32_t i = 0; i < batch_max; i++) {
        iovecs_[i] = {buffer(i), joined_bytes_max};
        msghdr &message = messages_[i].msg_hdr;
        message.msg_iov = &iovecs_[i];
        message.msg_iovlen = 1;
        message.msg_name = &sources_[i];
        message.msg_control = controls_[i].bytes.data();
    }
    return true;
}

std::byte *UdpReceiver::buffer(uint32_t i) const { return memory_.get() + std::size_t{i} * joined_buffer; }

/// As recvmmsg, with less work for one.
int UdpReceiver::fetch_one(int socket)
{
    const ssize_t bytes = sys::recvmsg(socket, &messages_[0].msg_hdr, MSG_DONTWAIT);
    if (bytes < 0)
        return -1;
    messages_[0].msg_len = static_cast<unsigned>(bytes);
    return 1;
}

bool UdpReceiver::fetch(int socket)
{
    for (uint32_t i = 0; i < batch_; i++) {
        messages_[i].msg_hdr.msg_namelen = sizeof(SocketAddress);
        messages_[i].msg_hdr.msg_controllen = sizeof(SegmentControl);
    }
    const int got =
        batch_ == 1 ? fetch_one(socket) : sys::recvmmsg(socket, messages_.data(), batch_, MSG_DONTWAIT);
    if (got <= 0) {
        batch_ = 1; // what comes next comes alone, as often as not
        return false;
    }
    count_ = static_cast<uint32_t>(got);
    now_ = 0;
    batch_ = std::min(count_ < batch_ ? count_ + 1 : 2 * batch_, batch_max);
    begin();
    return true;
}

void UdpReceiver::begin()
{
    total_ = messages_[now_].msg_len;
    each_ = length_of_each(messages_[now_].msg_hdr, total_);
    offset_ = 0;
    length_ = each_;
}

void UdpReceiver::next()
{
    offset_ += length_;
    length_ = std::min(each_, total_ - offset_);
    if (length_ != 0)
        return;
    if (++now_ < count_)
        begin();
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of X DATA in datagrams: the kernel gets many by one call (UDP_SEGMENT).
#include "driver/base/system_calls.hpp"
#include "driver/engine/reply_sender.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

/// True if sending there again may do.
bool is_passing(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

} // namespace

bool ReplySender::add(const fw_replies &run, int socket, const DatagramTarget &target)
{
    if (!add(run, socket))
        return false;
    Run &queued = at(count_ - 1);
    if (FW_X_DATA_HEADER + run.unit > target.bytes)
        return true; // as frames
    queued.target = target;
    fw_datagram_seal(queued.header.data(), target.secret);
    return true;
}

/// Datagrams of one run: all as long, but the last of the message.
uint32_t ReplySender::build_datagrams(const Run &run, uint32_t &iovecs)
{
    fw_replies left = run.replies;
    const auto most = static_cast<uint32_t>(std::clamp<std::size_t>(
        EMX_X_DATAGRAM_MAX / (FW_X_DATA_HEADER + left.unit), 1, datagram_headers_.size()));
    uint32_t frames = 0;
    for (; frames < most && left.count > 0; frames++) {
        uint8_t *header = datagram_headers_[frames].data();
        std::memcpy(header, run.header.data(), FW_X_DATA_HEADER);
        const uint32_t used = describe(left, header, &iovecs_[iovecs], iovecs_max - iovecs);
        if (used == 0)
            break;
        iovecs += used;
    }
    return frames;
}

int ReplySender::send_datagrams(int socket)
{
    const Run &run = at(0);
    uint32_t iovecs = 0;
    const uint32_t frames = socket < 0 ? 0 : build_datagrams(run, iovecs);
    if (frames == 0) {
        leave_datagrams();
        return 0;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(run.target.address);
    to.sin_port = htons(run.target.port);
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof(to);
    message.msg_iov = iovecs_.data();
    message.msg_iovlen = iovecs;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(uint16_t))> control{};
    if (frames > 1) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr *cut = CMSG_FIRSTHDR(&message);
        cut->cmsg_level = SOL_UDP;
        cut->cmsg_type = UDP_SEGMENT;
        cut->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const auto each = static_cast<uint16_t>(FW_X_DATA_HEADER + run.replies.unit);
        std::memcpy(CMSG_DATA(cut), &each, sizeof(each));
    }
    if (sys::sendmsg(socket, &message, MSG_DONTWAIT) >= 0) {
        emx_count(&counters_, EMX_CNT_TX_DATAGRAM, frames);
        advance(frames, true);
        return 0;
    }
    const int why = errno;
    if (why == EFAULT)
        return why;
    emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    if (is_passing(why))
        return EAGAIN;
    lost_ = run.target;
    leave_datagrams();
    return 0;
}

/// The next run leaves as frames.
void ReplySender::leave_datagrams()
{
    Run &run = at(0);
    run.target = {};
    fw_encode(&sizes_, &run.replies.reply, run.header.data());
}

} // namespace emx

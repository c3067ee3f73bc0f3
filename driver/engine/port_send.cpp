// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the engine: frames out.
#include "driver/engine/port.hpp"

#include "driver/base/copy.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {

namespace {

ssize_t send_frame(int socket, const void *frame, std::size_t bytes)
{
    // Not send(): as a cancellation point it costs a process with threads two atomic operations.
    return ::syscall(SYS_sendto, socket, frame, bytes, MSG_DONTWAIT, nullptr, 0);
}

} // namespace

inline bool EnginePort::transmit(int socket, const void *frame, std::size_t bytes, int counter)
{
    if (send_frame(socket, frame, bytes) < 0 && !transmit_again(socket, frame, bytes)) [[unlikely]]
        return false;
    emx_count(&counters_, counter, 1);
    if (link_state_ != EMX_LINK_UP && socket == ring_.fd()) [[unlikely]]
        set_link(EMX_LINK_UP);
    return true;
}

/// After a failure, whose errno tells why: tries again where that may help; false when the frame is lost.
bool EnginePort::transmit_again(int socket, const void *frame, std::size_t bytes)
{
    bool told_down = false; // perhaps of an interface that is up again: told once
    while (errno == EINTR || (errno == ENETDOWN && !told_down)) {
        told_down = told_down || errno == ENETDOWN;
        if (send_frame(socket, frame, bytes) >= 0)
            return true;
    }
    emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    if (socket != lo_.fd())
        send_failed(errno);
    return false;
}

bool EnginePort::send(const emx_msg &msg, std::byte *payload)
{
    static_assert(EMX_HEADER_MAX >= EMX_FRAME_MIN);
    // The header, or a small frame as a whole, padded.
    std::byte frame[EMX_HEADER_MAX + EMX_SMALL_MAX];
    std::memset(frame, 0, EMX_HEADER_MAX);
    int counter = 0;
    const uint32_t header = fw_send(&endpoint_, &msg, frame, &counter);
    if (header == 0) [[unlikely]]
        return false;
    std::size_t bytes = header + msg.data_len;
    std::byte *start = frame;
    if (bytes > sizeof(frame)) [[unlikely]] {
        start = payload - header;
        std::memcpy(start, frame, header);
        if (fragments_.begun() && msg.u.medium.frag != 0 && fragments_.add(start, bytes, counter))
            return true;
    } else {
        if (msg.data_len > 0) [[likely]]
            copy_bytes(frame + header, payload, msg.data_len);
        bytes = std::max<std::size_t>(bytes, EMX_FRAME_MIN);
    }
    return transmit(socket_for(msg.peer), start, bytes, counter);
}

/// A fragment that was to leave in a datagram.
void EnginePort::transmit_kept(const void *frame, std::size_t bytes, int counter)
{
    transmit(ring_.fd(), frame, bytes, counter);
}

bool EnginePort::send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed)
{
    static_assert(send_headroom >= FW_X_GROUP_HEADER);
    if (length > group_bytes() || link_state_ == EMX_LINK_GONE)
        return false;
    std::byte header[EMX_FRAME_MIN + FW_X_GROUP_HEADER] = {};
    const uint32_t bytes = fw_group_encode(&endpoint_, key, number, length, header);
    if (bytes == 0)
        return false;
    if (summed)
        fw_put_checksum(header, fw_crc32c(0, payload, length));
    if (bytes + length >= EMX_FRAME_MIN) {
        std::memcpy(payload - bytes, header, bytes);
        return transmit(ring_.fd(), payload - bytes, bytes + length, EMX_CNT_TX_X_GROUP);
    }
    std::memcpy(header + bytes, payload, length);
    return transmit(ring_.fd(), header, EMX_FRAME_MIN, EMX_CNT_TX_X_GROUP);
}

/// The core's own frames: pull requests and refusals.
void EnginePort::transmit_effect(const fw_fx &fx)
{
    const CoreFrame frame(fx);
    const bool local = file_->board_of(emx_get_mac(fx.u.tx.header)) >= 0;
    transmit(local ? lo_.fd() : ring_.fd(), frame.bytes.data(), frame.length, fx.counter);
}

void EnginePort::send_replies()
{
    int why = replies_.send_batch(datagrams_.fd());
    if (why == ENETDOWN)
        why = replies_.send_batch(datagrams_.fd()); // as in transmit()
    if (const auto lost = replies_.take_lost()) [[unlikely]]
        datagrams_.lost_target(*lost);
    if (why == ENETDOWN || why == ENXIO || why == ENODEV) {
        replies_.drop_all();
        send_failed(why);
    }
    if (why == EFAULT)
        refuse_replies();
    publish();
}

/// The program took the memory of a message away that is being sent.
void EnginePort::refuse_replies()
{
    fw_fx fx;
    refuse(replies_.give_up(), fx);
    transmit_effect(fx);
}

/// A down or vanished interface becomes an event; a full queue passes by itself.
void EnginePort::send_failed(int why)
{
    if (why == ENETDOWN)
        set_link(EMX_LINK_DOWN);
    else if (why == ENXIO || why == ENODEV)
        set_link(EMX_LINK_GONE);
}

} // namespace emx

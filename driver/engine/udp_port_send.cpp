// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: frames out.
#include "driver/base/copy.hpp"
#include "driver/engine/udp_port.hpp"

#include <algorithm>
#include <cstring>

namespace emx {

bool UdpPort::send(const emx_msg &msg, std::byte *payload)
{
    std::byte frame[EMX_HEADER_MAX + EMX_SMALL_MAX];
    std::memset(frame, 0, EMX_HEADER_MAX);
    int counter = 0;
    const uint32_t header = fw_send(&endpoint_, &msg, frame, &counter);
    if (header == 0) [[unlikely]]
        return false;
    const bool medium = msg.type == EMX_MEDIUM || msg.type == EMX_X_MEDIUM;
    if (medium && msg.data_len < msg.msg_len) // of several: flush() follows
        return sender_.add_fragment(msg.peer, reinterpret_cast<const uint8_t *>(frame), header, payload,
                                    msg.data_len, counter);
    std::size_t bytes = header + msg.data_len;
    std::byte *start = frame;
    if (bytes > sizeof(frame)) {
        start = payload - header;
        std::memcpy(start, frame, header);
    } else {
        if (msg.data_len > 0)
            copy_bytes(frame + header, payload, msg.data_len);
        bytes = std::max<std::size_t>(bytes, EMX_FRAME_MIN);
    }
    return sender_.send(msg.peer, start, bytes, counter);
}

/// The core's own frames: pull requests and refusals.
void UdpPort::transmit_effect(const fw_fx &fx)
{
    const CoreFrame frame(fx);
    const int peer = fw_peer_find(peers_, emx_get_mac(fx.u.tx.header), 0);
    if (peer >= 0)
        sender_.send(static_cast<uint32_t>(peer), frame.bytes.data(), frame.length, fx.counter);
}

void UdpPort::send_replies()
{
    sender_.send_replies();
    if (const auto run = sender_.take_unreadable()) [[unlikely]] {
        fw_fx fx; // the program took the memory of a message away that is being sent
        refuse(*run, fx);
        transmit_effect(fx);
    }
    publish();
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Socket filters: which MXoE frames a socket gets (wire specification, 3 and 4).
//
// All follow the table of packets (packet_ways.hpp).
// Frames that the kernel marks as another host's (PACKET_OTHERHOST), as it does those of a VLAN that this
// host has no interface for, pass none but the agent's, which counts them. On lo every frame bears that mark.
// `full`: lengths that no frames but pull replies have on the board.
#pragma once

#include "driver/base/packet_socket.hpp"
#include "driver/board/packet_ways.hpp"

#include <bitset>
#include <cstdint>

#include <emx/wire.h>

namespace emx {

/// Bytes of a full PULL REPLY and a full X DATA where no other packet gets as long, else 0: full_frames.
struct FullFrames {
    uint32_t reply = 0;
    uint32_t x_data = 0;
};

/// Everything for one endpoint but pull replies; with_replies: that as well (loopback).
FilterProgram endpoint_filter(uint64_t mac, uint8_t endpoint, bool with_replies);

/// The types that it passes (no replies), and the same judgement on a frame, for a socket without the filter.
/// Two ranges and an exception are cheaper for each frame than a look into the table, whose equal they are.
constexpr bool passes_endpoint_filter(uint8_t type)
{
    return (type >= EMX_TRUC && type <= EMX_NACK_MCP && type != EMX_PULL_REPLY) ||
           (type >= EMX_X_MEDIUM && type < EMX_X_DATA) || type == EMX_X_ADDRESS || type == EMX_X_PACK;
}
static_assert([] {
    for (unsigned type = 0; type < packet_ways.size(); type++)
        if (passes_endpoint_filter(static_cast<uint8_t>(type)) !=
            (packet_ways[type].role == SocketRole::ring))
            return false;
    return true;
}());
bool passes_endpoint_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint);

/// Only pull replies for one endpoint.
FilterProgram reply_filter(uint64_t mac, uint8_t endpoint);
/// The same judgement on a frame.
bool passes_reply_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint);

/// Frames to any of our groups (docs/protocol.md, Groups); which ones reach the host is a matter of
/// membership.
FilterProgram group_filter();

/// The filter for the agent's answers: host queries and replies, beacons, and packets that may be refused for
/// endpoints that nobody claims; and, but on loopback, what is for this board by its address and for another
/// host by its VLAN.
FilterProgram agent_filter(uint64_t mac, const std::bitset<EMX_ENDPOINTS_MAX> &claimed, FullFrames full,
                           bool loopback);

/// For a fan-out group: pull replies to its second member, all else to the first.
FilterProgram reply_chooser(FullFrames full);

} // namespace emx

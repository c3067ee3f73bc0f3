// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The table of packets: the socket that each type is for, and the byte of its frames that has the number of
// the endpoint (wire specification, 3 and 4).
//
// Socket filters are made from it, and predicates on frames read it. The core reads the same bytes
// (fw_check.c) and refuses the same types (fw_tx.c), which a unit test compares (packet_ways.cpp).
#pragma once

#include <emx/wire.h>

#include <array>
#include <cstdint>

namespace emx {

/// The socket that takes a packet type.
enum class SocketRole : uint8_t {
    none, ///< types that do not exist
    agent, ///< beacons, host queries and replies: no endpoint's
    ring, ///< the ring of an endpoint
    bulk, ///< its bulk socket: PULL REPLY and X DATA, called pull replies here
};

struct PacketWay {
    SocketRole role = SocketRole::none;
    uint8_t endpoint_at = 0; ///< byte of the frame, counted from its start
    bool refusable = false; ///< draws a NACK where no endpoint has the number
};

inline constexpr uint8_t packet_type_at = 16; ///< byte of each frame
inline constexpr uint8_t usual_endpoint_at = 17; ///< dst_ep of struct emx_w_eager

/// By packet type. A PULL REPLY has no endpoint number: the low byte of our magic is it.
inline constexpr std::array<PacketWay, 256> packet_ways = [] {
    constexpr uint8_t nack_lib_endpoint_at = 25, magic_endpoint_at = 31;
    std::array<PacketWay, 256> ways{};
    for (const uint8_t type : {EMX_RAW, EMX_HOST_QUERY, EMX_HOST_REPLY})
        ways[type] = {SocketRole::agent, 0, false};
    for (const uint8_t type : {EMX_TRUC, EMX_NACK_MCP, EMX_X_REPORT, EMX_X_ADDRESS})
        ways[type] = {SocketRole::ring, usual_endpoint_at, false};
    for (const uint8_t type : {EMX_CONNECT, EMX_TINY, EMX_SMALL, EMX_MEDIUM, EMX_RNDV, EMX_PULL, EMX_NOTIFY,
                               EMX_X_MEDIUM, EMX_X_PULL, EMX_X_PACK})
        ways[type] = {SocketRole::ring, usual_endpoint_at, true};
    ways[EMX_NACK_LIB] = {SocketRole::ring, nack_lib_endpoint_at, false};
    ways[EMX_PULL_REPLY] = {SocketRole::bulk, magic_endpoint_at, false};
    ways[EMX_X_DATA] = {SocketRole::bulk, usual_endpoint_at, false};
    return ways;
}();

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where the peers of a UDP board are, as the agent has found out: in the board file, for all its readers.
#pragma once

#include "driver/base/udp_address.hpp"
#include "driver/board/packet_ways.hpp"
#include "driver/config/udp_spec.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace emx {

/// One for each slot of the peer table. All zero: not known.
struct PeerAddress {
    uint32_t serial; ///< odd while it changes
    uint32_t reserved;
    UdpAddress address; ///< of the peer's agent; port 0: not known
};
static_assert(sizeof(PeerAddress) == 32);

/// The one writer.
inline void write_address(PeerAddress &place, const UdpAddress &address)
{
    const std::atomic_ref serial(place.serial);
    serial.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(static_cast<void *>(&place.address), &address, sizeof(address));
    serial.fetch_add(1, std::memory_order_release);
}

/// Any process. False while it changes: then what was read before still does.
inline bool read_address(PeerAddress &place, uint32_t &serial, UdpAddress &address)
{
    const std::atomic_ref now(place.serial);
    const uint32_t before = now.load(std::memory_order_acquire);
    UdpAddress read;
    std::memcpy(static_cast<void *>(&read), &place.address, sizeof(read));
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((before & 1) || now.load(std::memory_order_relaxed) != before)
        return false;
    serial = before;
    address = read;
    return true;
}

/// The port at a peer that a frame is for: of its agent, or of the endpoint that the frame names.
inline uint32_t udp_port_for(const uint8_t *frame, uint32_t first)
{
    const PacketWay &way = packet_ways[frame[packet_type_at]];
    const bool of_endpoint = way.role == SocketRole::ring || way.role == SocketRole::bulk;
    return of_endpoint ? udp_port_of(first, frame[way.endpoint_at]) : first;
}

} // namespace emx

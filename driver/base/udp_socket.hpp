// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// UDP sockets of boards, and equal datagrams by one call (UDP_SEGMENT, UDP_GRO).
#pragma once

#include "driver/base/fd.hpp"
#include "driver/base/udp_address.hpp"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace emx {

/// A non-blocking socket bound to that address; empty with errno set, EADDRINUSE when another has the port.
/// The kernel finds out what the path to a host takes, and cuts what is longer.
Fd make_udp_socket(const UdpAddress &own);
/// Has the kernel drop what comes to a UDP socket without a byte. False with errno: it does not.
///
/// FIONREAD tells as little of such a datagram, whatever stands behind it, as of none.
bool refuse_empty_datagrams(int socket);
/// True if a descriptor is a UDP socket; one that another process sends may be anything.
bool is_udp_socket(int fd);
/// The address that it is bound to.
UdpAddress bound_address(int socket);

/// Datagrams of that length under way to a socket, at most: its receive buffer holds them, and the cache of a
/// processor. headers: bytes that the interface brings with each. buffer_bytes: as the kernel accounts it.
uint16_t datagram_window(uint32_t datagram, uint32_t headers, uint32_t buffer_bytes);

/// Room for a control message that tells the length of joined or cut datagrams.
struct alignas(cmsghdr) SegmentControl {
    std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
};

/// Has the kernel cut a message into datagrams of that length. The control message is to stay.
void cut_into(msghdr &message, SegmentControl &control, uint32_t each);
/// The length of each of the datagrams that a received message joins, but the last: `bytes` if it is one.
uint32_t length_of_each(msghdr &message, uint32_t bytes);

} // namespace emx

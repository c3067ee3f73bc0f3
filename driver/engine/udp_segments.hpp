// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One call to the kernel for many datagrams (UDP_SEGMENT).
#pragma once

#include "driver/engine/datagrams.hpp"

#include <sys/uio.h>

#include <cstdint>
#include <span>

namespace emx {

/// Sends the pieces as one run of bytes that is cut into datagrams of `each` bytes; 0: as one datagram.
/// Never blocks. False with errno: nothing left.
bool send_segments(int socket, const DatagramTarget &target, std::span<iovec> pieces, uint16_t each);

/// True for an errno after which it is useless to send there again; else what was sent is lost, or never
/// left.
bool is_lasting(int error);

} // namespace emx

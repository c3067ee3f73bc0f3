// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Lengths of a board's frames, and so of what sockets and rings must hold.
#pragma once

#include "driver/base/packet_socket.hpp"
#include "driver/board/filter.hpp"

#include <cstdint>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Longest frame that an interface's ring must hold: everything but pull replies.
uint32_t ring_frame_max(const fw_sizes &sizes, uint32_t interface_mtu);
/// Bytes of data of an X MEDIUM, at most, of a board whose longest X DATA is x_frame: 0 when a ring has no
/// room for them.
uint32_t ring_fragment(const RingShape &shape, uint32_t x_frame);
/// Lengths of frames that can only be full pull replies, as no other packet gets as long.
FullFrames full_frames(const fw_sizes &sizes, uint32_t interface_mtu);
/// Longest frame on loopback, where pull replies share the ring, and no fragments of the extension travel.
uint32_t lo_frame_max(const fw_sizes &sizes, uint32_t interface_mtu);
/// Full pull replies of the dialect that a receive buffer of that many bytes surely holds.
uint32_t replies_held(const fw_sizes &sizes, uint32_t buffer_bytes);

} // namespace emx

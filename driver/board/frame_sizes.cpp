// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Lengths of a board's frames.
#include "driver/board/frame_sizes.hpp"

#include <algorithm>

namespace emx {
namespace {

constexpr uint32_t medium_header = EMX_OUTER_LEN + sizeof(emx_w_medium);
constexpr uint32_t reply_header = EMX_OUTER_LEN + sizeof(emx_w_pull_reply);

uint32_t medium_frame_max(const fw_sizes &sizes)
{
    return medium_header + std::max(sizes.frag, sizes.frag_accept);
}

/// The longest frame that an interface carries, of no extension and no pull.
uint32_t dialect_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::min(medium_frame_max(sizes),
                    std::max(interface_mtu + ethernet_header, uint32_t{EMX_FRAME_MIN}));
}

uint32_t x_medium_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return FW_X_MEDIUM_HEADER + fw_x_frag_max(fw_x_frame_max(&sizes, interface_mtu));
}

} // namespace

uint32_t ring_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::max(dialect_frame_max(sizes, interface_mtu), x_medium_frame_max(sizes, interface_mtu));
}

uint32_t ring_fragment(const RingShape &shape, uint32_t x_frame)
{
    const uint32_t fragment = fw_x_frag_max(x_frame);
    return shape.frame_max() >= FW_X_MEDIUM_HEADER + fragment ? fragment : 0;
}

FullFrames full_frames(const fw_sizes &sizes, uint32_t interface_mtu)
{
    const uint32_t reply = reply_header + sizes.reply, x_data = fw_x_frame_max(&sizes, interface_mtu);
    const uint32_t others = std::max(medium_frame_max(sizes), x_medium_frame_max(sizes, interface_mtu));
    return {reply > others ? reply : 0, x_data > others ? x_data : 0};
}

uint32_t lo_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::max(dialect_frame_max(sizes, interface_mtu), reply_header + sizes.reply);
}

uint32_t replies_held(const fw_sizes &sizes, uint32_t buffer_bytes)
{
    return frames_held(reply_header + sizes.reply, buffer_bytes);
}

} // namespace emx

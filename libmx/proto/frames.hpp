// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The frames of eager messages of more than SMALL: laid out at posting, each behind the room for its header
// (wire specification, section 9).
#pragma once

#include "driver/device.hpp"
#include "libmx/partner/way.hpp"
#include "libmx/reliab/tx_message.hpp"
#include "libmx/reliab/tx_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace emx {

/// The payload of a message's frame of that number.
inline std::byte *frame_at(const TxMessage *tx, uint32_t number)
{
    return tx->buffer + number * (send_headroom + tx->frame_data) + send_headroom;
}

/// Copies a message into fragments, or into one, of the kind and size that travel to a partner. The caller
/// fills in where it goes. Throws std::bad_alloc.
[[gnu::noinline]] TxMessage *make_medium(TxPool &pool, std::span<const Segment> segments, uint32_t bytes,
                                         const Way &way);
/// Makes an X MEDIUM of an eager message of which the peer has taken nothing, where those travel that way.
void convert_to_extension(TxPool &pool, TxMessage *tx, const Way &way);

} // namespace emx

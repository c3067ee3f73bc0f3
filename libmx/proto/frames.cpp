// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The layout of messages in frames: see frames.hpp.
#include "libmx/proto/frames.hpp"

#include "libmx/request.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace emx {

namespace {

/// Copies a message into its frames.
void gather_frames(TxMessage *tx, std::span<const Segment> segments)
{
    for (uint32_t i = 0; i < tx->frames; ++i) {
        const uint32_t offset = i * tx->frame_data;
        gather(frame_at(tx, i), segments, offset, std::min(tx->frame_data, tx->header.msg_len - offset));
    }
}

} // namespace

TxMessage *make_medium(TxPool &pool, std::span<const Segment> segments, uint32_t bytes, const Way &way)
{
    const uint32_t frame = way.frame_bytes(bytes);
    const uint32_t frames = frames_of(bytes, frame);
    TxMessage *tx = pool.allocate(frames * static_cast<uint32_t>(send_headroom) + bytes);
    tx->frames = static_cast<uint16_t>(frames);
    tx->frame_data = frame;
    tx->header = emx_msg{};
    tx->header.type = way.goes_by_extension(bytes) ? EMX_X_MEDIUM : EMX_MEDIUM;
    tx->header.msg_len = bytes;
    gather_frames(tx, segments);
    return tx;
}

void convert_to_extension(TxPool &pool, TxMessage *tx, const Way &way)
{
    const uint32_t bytes = tx->header.msg_len;
    if (tx->header.type > EMX_MEDIUM || bytes > way.eager_max || !way.goes_by_extension(bytes))
        return;
    if (tx->frames > 1 || bytes > way.x_medium_bytes) {
        std::vector<std::byte> message(bytes);
        for (uint32_t i = 0, at = 0; i < tx->frames; ++i, at += tx->frame_data)
            std::memcpy(&message[at], frame_at(tx, i), std::min(tx->frame_data, bytes - at));
        const Segment whole{message.data(), bytes};
        TxMessage *other = make_medium(pool, {&whole, 1}, bytes, way);
        std::swap(tx->buffer, other->buffer);
        std::swap(tx->capacity, other->capacity);
        std::swap(tx->size_class, other->size_class);
        tx->frames = other->frames;
        pool.release(other);
    }
    tx->header.type = EMX_X_MEDIUM;
    tx->frame_data = way.frame_bytes(bytes);
}

} // namespace emx

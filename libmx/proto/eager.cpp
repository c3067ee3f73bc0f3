// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posting sends; eager messages: copied at posting into ready-made frames, complete before their ack
// (wire specification, section 9; API specification, section 6).
#include "libmx/endpoint.hpp"

namespace emx {

Request *Endpoint::post_send(const Segment *segments, uint32_t count, uint64_t length, Partner *to,
                             uint64_t match, void *context, bool synchronous)
{
    Request *request = requests_.allocate(synchronous ? RequestKind::synchronous_send : RequestKind::send);
    if (!request)
        return nullptr;
    request->match = match;
    request->context = context;
    request->partner = to;
    request->msg_length = static_cast<uint32_t>(length);
    if (default_budget_ns_) [[unlikely]]
        set_timeout(request, static_cast<uint32_t>(default_budget_ns_ / 1000000));
    if (to->state == PartnerState::dead) [[unlikely]] {
        complete(request, to->dead_code);
    } else if (to->self) [[unlikely]] {
        request->segments.assign(segments, count);
        send_self(request, length, synchronous);
    } else if (synchronous || length > to->eager_max) [[unlikely]] {
        request->segments.assign(segments, count);
        send_rendezvous(request, to);
    } else {
        send_eager(request, {segments, count}, length, to);
    }
    return request;
}

namespace {

/// Copies a message into its frames.
[[gnu::noinline]] void gather_frames(TxMessage *tx, std::span<const Segment> segments)
{
    const uint32_t frame = tx->frame_data;
    for (uint32_t i = 0; i < tx->frames; ++i) {
        const uint32_t offset = i * frame;
        gather(tx->buffer + i * (send_headroom + frame) + send_headroom, segments, offset,
               std::min(frame, tx->header.msg_len - offset));
    }
}

} // namespace

void Endpoint::send_eager(Request *request, std::span<const Segment> segments, uint64_t length, Partner *to)
{
    auto bytes = static_cast<uint32_t>(length);
    uint32_t frame = bytes > EMX_SMALL_MAX ? to->frag : EMX_SMALL_MAX;
    uint32_t frames = bytes > frame ? (bytes + frame - 1) / frame : 1;
    TxMessage *tx = tx_pool_.allocate(frames * static_cast<uint32_t>(send_headroom) + bytes);
    tx->partner = to;
    tx->frames = static_cast<uint16_t>(frames);
    tx->frame_data = frame;
    emx_msg &msg = tx->header;
    msg = emx_msg{};
    msg.type = bytes <= EMX_TINY_MAX ? EMX_TINY : bytes <= EMX_SMALL_MAX ? EMX_SMALL : EMX_MEDIUM;
    msg.remote_ep = to->remote_ep;
    msg.peer = to->peer;
    msg.match = request->match;
    msg.msg_len = msg.data_len = bytes;
    if (frames == 1) [[likely]]
        gather(tx->buffer + send_headroom, segments, 0, bytes);
    else
        gather_frames(tx, segments);
    request->buffered = true;
    tx->zombie = zombies_ < static_cast<uint32_t>(context_.conf().zombies_max);
    if (!tx->zombie) [[unlikely]] {
        tx->request = request;
        request->tx = tx;
        return enqueue(tx);
    }
    ++zombies_;
    enqueue(tx); // first the frame, then the books
    request->xfer_length = bytes;
    complete(request, MX_STATUS_SUCCESS);
}

} // namespace emx

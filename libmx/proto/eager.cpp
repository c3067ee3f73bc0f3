// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posting sends; eager messages: copied at posting into ready-made frames, complete before their ack
// (wire specification, section 9; API specification, section 6).
#include "libmx/endpoint.hpp"
#include "libmx/proto/frames.hpp"

#include <algorithm>

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
    if (const uint64_t budget_ns = completions_.default_budget_ns()) [[unlikely]]
        set_timeout(request, static_cast<uint32_t>(budget_ns / 1000000));
    if (to->life.is_dead()) [[unlikely]] {
        completions_.complete(request, to->life.dead_code());
    } else if (to->way.detour) [[unlikely]] {
        send_detour(request, {segments, count}, length, to, synchronous);
    } else if (synchronous || length > to->way.eager_max) [[unlikely]] {
        request->segments.assign(segments, count);
        send_rendezvous(request, to);
    } else {
        send_eager(request, {segments, count}, length, to);
    }
    return request;
}

/// Sends an eager message that has its type and lies in its frames.
[[gnu::always_inline]] inline void Endpoint::send_copy(Request *request, TxMessage *tx, uint32_t bytes,
                                                       Partner *to)
{
    tx->partner = to;
    emx_msg &msg = tx->header;
    msg.remote_ep = to->remote_ep;
    msg.peer = to->peer;
    msg.match = request->match;
    msg.msg_len = msg.data_len = bytes;
    request->buffered = true;
    const bool zombie = tx_pool_.make_zombie(tx, static_cast<uint32_t>(context_.conf().zombies_max));
    if (!zombie) [[unlikely]] {
        tx->request = request;
        request->tx = tx;
        return enqueue(tx);
    }
    enqueue(tx); // first the frame, then the books
    request->xfer_length = bytes;
    completions_.complete(request, MX_STATUS_SUCCESS);
}

void Endpoint::send_eager(Request *request, std::span<const Segment> segments, uint64_t length, Partner *to)
{
    const auto bytes = static_cast<uint32_t>(length);
    TxMessage *tx;
    if (bytes > EMX_SMALL_MAX) [[unlikely]] {
        tx = make_medium(tx_pool_, segments, bytes, to->way);
    } else {
        tx = tx_pool_.allocate(static_cast<uint32_t>(send_headroom) + bytes);
        tx->header = emx_msg{};
        tx->header.type = bytes <= EMX_TINY_MAX ? EMX_TINY : EMX_SMALL;
        gather(tx->buffer + send_headroom, segments, 0, bytes);
    }
    send_copy(request, tx, bytes, to);
}

/// To ourselves, or with checksums.
void Endpoint::send_detour(Request *request, std::span<const Segment> segments, uint64_t length, Partner *to,
                           bool synchronous)
{
    if (to->self)
        request->partner = to = way_to_self();
    if (to->way.is_of_other_dialect() && !to->way.offer && length > (synchronous ? 0 : EMX_SMALL_MAX))
        return completions_.complete(request, MX_STATUS_ENDPOINT_UNREACHABLE);
    if (!to->self && !synchronous && length <= to->way.eager_max) {
        if (!to->way.summed)
            return send_eager(request, segments, length, to);
        const auto bytes = static_cast<uint32_t>(length);
        return send_copy(request, make_medium(tx_pool_, segments, bytes, to->way), bytes, to);
    }
    request->segments.assign(segments.data(), static_cast<uint32_t>(segments.size()));
    if (to->self)
        send_self(request, length, synchronous);
    else
        send_rendezvous(request, to);
}

// ---- fragments by the extension

/// Chooses how eager messages travel to a session that has just agreed; those that wait for that included.
void Endpoint::choose_fragments(Partner *partner)
{
    if (!(emx_offer_features(partner->way.offer) & EMX_X_FRAGMENTS) || port_->peer_is_local(partner->peer))
        return;
    const uint32_t fragment =
        std::min(port_->x_fragment(), fw_x_frag_max(emx_offer_frame(partner->way.offer)));
    const bool summed = emx_offer_features(partner->way.offer) & EMX_X_SUMS;
    if (!partner->way.take_x_medium(fragment, summed))
        return;
    partner->sender.waiting.each([&](TxMessage *tx) { convert_to_extension(tx_pool_, tx, partner->way); });
}

} // namespace emx

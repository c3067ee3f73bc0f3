// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posting sends; eager messages: copied at posting into ready-made frames, complete before their ack
// (wire specification, section 9; API specification, section 6).
#include "libmx/endpoint.hpp"

#include <cstring>
#include <utility>

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
    } else if (to->detour) [[unlikely]] {
        send_detour(request, {segments, count}, length, to, synchronous);
    } else if (synchronous || length > to->eager_max) [[unlikely]] {
        request->segments.assign(segments, count);
        send_rendezvous(request, to);
    } else {
        send_eager(request, {segments, count}, length, to);
    }
    return request;
}

namespace {

constexpr uint32_t eager_most = 32768; // OMX_RNDV_THRESHOLD is no higher

uint32_t frames_of(uint32_t bytes, uint32_t frame) { return bytes > frame ? (bytes + frame - 1) / frame : 1; }

/// Copies a message into its frames.
void gather_frames(TxMessage *tx, std::span<const Segment> segments)
{
    const uint32_t frame = tx->frame_data;
    for (uint32_t i = 0; i < tx->frames; ++i) {
        const uint32_t offset = i * frame;
        gather(tx->buffer + i * (send_headroom + frame) + send_headroom, segments, offset,
               std::min(frame, tx->header.msg_len - offset));
    }
}

/// True if a message that is no TINY or SMALL goes as X MEDIUM: when that saves frames, for its checksum, or
/// between dialects.
bool by_extension(uint32_t bytes, const Partner *to)
{
    return to->summed || (to->other_dialect && to->fragment) || (to->fragment != 0 && bytes > to->frag);
}

} // namespace

/// A message in fragments, or in one, laid out in frames.
TxMessage *Endpoint::make_medium(std::span<const Segment> segments, uint32_t bytes, const Partner *to)
{
    const bool x = by_extension(bytes, to);
    const uint32_t frame = x ? to->fragment : to->frag;
    const uint32_t frames = frames_of(bytes, frame);
    TxMessage *tx = tx_pool_.allocate(frames * static_cast<uint32_t>(send_headroom) + bytes);
    tx->frames = static_cast<uint16_t>(frames);
    tx->frame_data = frame;
    tx->header = emx_msg{};
    tx->header.type = x ? EMX_X_MEDIUM : EMX_MEDIUM;
    tx->header.msg_len = bytes;
    gather_frames(tx, segments);
    return tx;
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

void Endpoint::send_eager(Request *request, std::span<const Segment> segments, uint64_t length, Partner *to)
{
    const auto bytes = static_cast<uint32_t>(length);
    TxMessage *tx;
    if (bytes > EMX_SMALL_MAX) [[unlikely]] {
        tx = make_medium(segments, bytes, to);
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
    if (to->other_dialect && !to->offer && length > (synchronous ? 0 : EMX_SMALL_MAX))
        return complete(request, MX_STATUS_ENDPOINT_UNREACHABLE);
    if (!to->self && !synchronous && length <= to->eager_max) {
        if (!to->summed)
            return send_eager(request, segments, length, to);
        const auto bytes = static_cast<uint32_t>(length);
        return send_copy(request, make_medium(segments, bytes, to), bytes, to);
    }
    request->segments.assign(segments.data(), static_cast<uint32_t>(segments.size()));
    if (to->self)
        send_self(request, length, synchronous);
    else
        send_rendezvous(request, to);
}

// ---- fragments by the extension

/// True if the longest eager message to or from it takes fewer X MEDIUM of that size than fragments of the
/// dialect that it is spoken to in.
bool Endpoint::fragments_pay(const Partner *to, uint32_t fragment)
{
    const uint32_t longest = std::min(eager_most, to->frag * EMX_FRAGS_MAX);
    return uint64_t{fragment} * EMX_FRAGS_MAX >= longest &&
           frames_of(longest, fragment) < frames_of(longest, to->frag);
}

/// Chooses how eager messages travel to a session that has just agreed; those that wait for that included.
void Endpoint::choose_fragments(Partner *partner)
{
    if (!(emx_offer_features(partner->offer) & EMX_X_FRAGMENTS) || port_->peer_is_local(partner->peer))
        return;
    const uint32_t fragment = std::min(port_->x_fragment(), fw_x_frag_max(emx_offer_frame(partner->offer)));
    const bool summed = emx_offer_features(partner->offer) & EMX_X_SUMS;
    if (fragment == 0 || (!summed && !partner->other_dialect && !fragments_pay(partner, fragment)))
        return;
    partner->fragment = fragment;
    partner->eager_max = std::min(partner->eager_max, fragment * EMX_FRAGS_MAX);
    partner->summed = partner->detour = summed;
    for (TxMessage *tx = partner->waiting; tx; tx = tx->next)
        convert(tx);
}

/// Makes an X MEDIUM of an eager message of which the peer has taken nothing.
void Endpoint::convert(TxMessage *tx)
{
    const Partner *to = tx->partner;
    const uint32_t bytes = tx->header.msg_len;
    if (tx->header.type > EMX_MEDIUM || bytes > to->eager_max || !by_extension(bytes, to))
        return;
    if (tx->frames > 1 || bytes > to->fragment) {
        std::vector<std::byte> message(bytes);
        for (uint32_t i = 0, at = 0; i < tx->frames; ++i, at += tx->frame_data)
            std::memcpy(&message[at], tx->buffer + i * (send_headroom + tx->frame_data) + send_headroom,
                        std::min(tx->frame_data, bytes - at));
        const Segment whole{message.data(), bytes};
        TxMessage *other = make_medium({&whole, 1}, bytes, to);
        std::swap(tx->buffer, other->buffer);
        std::swap(tx->capacity, other->capacity);
        std::swap(tx->size_class, other->size_class);
        tx->frames = other->frames;
        tx_pool_.release(other);
    }
    tx->header.type = EMX_X_MEDIUM;
    tx->frame_data = to->fragment;
}

} // namespace emx

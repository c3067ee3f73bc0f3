// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posting sends: eager messages are copied at posting into ready-made frames, and complete before their ack
// (wire specification, section 9; API specification, section 6); longer and synchronous ones are announced;
// those to ourselves need no device (API specification, 3.3).
#include "driver/base/probe.hpp"
#include "libmx/endpoint/posting.hpp"
#include "libmx/proto/frames.hpp"

namespace emx {

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
    const bool zombie = tx_pool_.make_zombie(tx, static_cast<uint32_t>(instance_.conf().zombies_max));
    if (!zombie) [[unlikely]] {
        tx->request = request;
        request->tx = tx;
        return enqueue(tx);
    }
    enqueue(tx); // first the frame, then the books
    request->xfer_length = bytes;
    completions_.complete(request, MX_STATUS_SUCCESS);
}

inline void Endpoint::send_eager(Request *request, std::span<const Segment> segments, uint64_t length,
                                 Partner *to)
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

/// Inlined into both ways to post: for messages between hosts, too, a call costs as much as its work.
inline void Endpoint::start_send(Request *request, std::span<const Segment> segments, uint64_t length,
                                 Partner *to, bool synchronous)
{
    if (const uint64_t budget_ns = completions_.default_budget_ns()) [[unlikely]]
        set_timeout(request, static_cast<uint32_t>(budget_ns / 1000000));
    if (to->life.is_dead()) [[unlikely]] {
        completions_.complete(request, to->life.dead_code());
    } else if (to->way.detour) [[unlikely]] {
        send_detour(request, segments, length, to, synchronous);
    } else if (synchronous || length > to->way.eager_max) [[unlikely]] {
        request->segments.assign(segments.data(), static_cast<uint32_t>(segments.size()));
        send_rendezvous(request, to);
    } else {
        send_eager(request, segments, length, to);
    }
}

Request *Endpoint::post_send(const Segment *segments, uint32_t count, uint64_t length, Partner *to,
                             uint64_t match, void *context, bool synchronous)
{
    const RequestKind kind = synchronous ? RequestKind::synchronous_send : RequestKind::send;
    Request *request = begin_send(kind, length, to, match, context);
    if (request) [[likely]]
        start_send(request, {segments, count}, length, to, synchronous);
    return request;
}

Request *Endpoint::post_other_send(const Segment &memory, Partner *to, uint64_t match, void *context)
{
    Request *request = begin_send(RequestKind::send, memory.length, to, match, context);
    if (request) [[likely]]
        start_send(request, {&memory, 1}, memory.length, to, false);
    return request;
}

/// To ourselves, within the host, or with checksums.
void Endpoint::send_detour(Request *request, std::span<const Segment> segments, uint64_t length, Partner *to,
                           bool synchronous)
{
    if (to->self) [[unlikely]]
        request->partner = to = way_to_self();
    if (to->lists.acked && !to->way.sure) [[unlikely]]
        take_acks(); // there may be nothing unacknowledged
    if (to->way.local && goes_sure(to)) [[likely]] {
        if (!synchronous && length <= to->way.eager_max) [[likely]]
            return send_sure(request, segments, static_cast<uint32_t>(length), to);
        request->segments.assign(segments.data(), static_cast<uint32_t>(segments.size()));
        return send_rendezvous(request, to);
    }
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

/// The partner that a message to ourselves goes by: our own or, where that is disabled, the one that the
/// device reaches by our address. For a program that has not connected to itself we do, and its messages wait
/// for that.
Partner *Endpoint::way_to_self()
{
    if (!instance_.conf().disable_self || identity_.gone) [[likely]]
        return self();
    DeviceError error; // the board itself stands in its table
    Partner *mirror = partner_to_ask(identity_.board.nic_id, static_cast<uint8_t>(number()), 0, error);
    if (!mirror)
        return self();
    connect_back(mirror);
    mirror->named = true;
    if (!mirror->user_context) // set by our own address, which stands for the mirror from now on
        mirror->user_context = self()->user_context;
    return mirror;
}

void Endpoint::send_self(Request *request, uint64_t length, bool synchronous)
{
    emx_msg msg{};
    msg.type = EMX_RNDV;
    msg.match = request->match;
    msg.msg_len = static_cast<uint32_t>(length);
    Incoming *in = incoming_.make(self(), msg);
    if (synchronous || length > identity_.eager_max) {
        in->rendezvous = true;
        in->self_send = request;
    } else {
        in->complete = true;
        in->msg.data_len =
            std::min(in->msg.msg_len, self()->way.medium_bytes); // as its first packet would have
        in->storage = std::make_unique<std::byte[]>(length ? length : 1);
        gather(in->storage.get(), request->segments.view(), 0, length);
        request->buffered = true;
        request->xfer_length = request->msg_length;
        completions_.complete(request, MX_STATUS_SUCCESS);
    }
    stage(in);
    // Matching now lets a program that only waits for the receive see it; not from inside the handler.
    if (!gate_.is_closed() && !gate_.is_staging())
        match_accepted();
}

} // namespace emx

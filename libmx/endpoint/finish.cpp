// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ends receives, and lets go of their messages; bounds the time of a request (API specification, 3.8).
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>

namespace emx {

void Endpoint::free_incoming(Incoming *in)
{
    if (in->held) [[unlikely]]
        matcher_.discharge(in);
    if (in->partial) [[unlikely]]
        unlink_partial(in);
    if (in->pull_waits) [[unlikely]]
        pulls_.forget(in);
    incoming_.release(in);
}

void Endpoint::unlink_partial(Incoming *in)
{
    in->partner->receiver.partial = nullptr;
    in->partial = false;
    if (in->by_datagrams && port_)
        port_->fragments_ended();
    in->by_datagrams = false;
}

/// A complete eager message and its receive: the copy, when the bytes are not in place yet.
void Endpoint::consume(Incoming *in)
{
    uint64_t length = std::min<uint64_t>(in->msg.msg_len, in->recv->room);
    if (const std::byte *data = in->storage ? in->storage.get() : in->view)
        scatter(in->recv->segments.view(), 0, data, length);
    finish_receive(in, MX_STATUS_SUCCESS);
}

void Endpoint::finish_receive(Incoming *in, int code)
{
    Request *recv = in->recv;
    uint64_t room = recv->room;
    bool good = code == MX_STATUS_SUCCESS;
    uint32_t length = good ? static_cast<uint32_t>(std::min<uint64_t>(in->msg.msg_len, room)) : 0;
    if (good && room < in->msg.msg_len)
        code = MX_STATUS_TRUNCATED;
    Partner *partner = in->partner;
    emx_msg msg = in->msg;
    recv->incoming = nullptr;
    free_incoming(in);
    complete_receive(recv, msg, partner, length, code);
}

void Endpoint::complete_receive(Request *recv, const emx_msg &msg, Partner *partner, uint32_t xfer_length,
                                int code)
{
    recv->matched = true;
    recv->partner = partner;
    recv->match = msg.match;
    recv->msg_length = msg.msg_len;
    recv->xfer_length = xfer_length;
    completions_.complete_inline(recv, code);
}

void Endpoint::finish_self(Incoming *in)
{
    Request *send = in->self_send;
    Request *recv = in->recv;
    uint64_t length = recv ? std::min<uint64_t>(in->msg.msg_len, recv->room) : 0;
    uint64_t offset = 0;
    if (recv)
        for (const Segment &from : send->segments.view()) {
            uint64_t piece = std::min<uint64_t>(from.length, length - offset);
            scatter(recv->segments.view(), offset, from.data, piece);
            offset += piece;
        }
    send->xfer_length = static_cast<uint32_t>(length);
    completions_.complete(send, length < in->msg.msg_len ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
    in->self_send = nullptr;
}

void Endpoint::set_timeout(Request *request, uint32_t ms)
{
    // Never earlier than a resend period or so: programs pass 1 and mean "soon" (API specification, 3.8).
    constexpr uint64_t least_ns = 1000000000;
    uint64_t budget = ms ? std::max(uint64_t{ms} * 1000000, least_ns) : 0;
    if (!request)
        return completions_.set_default_budget(budget);
    request->budget_ns = budget;
    if (request->complete)
        return;
    completions_.clear_deadline(request);
    bool transferring =
        request->kind != RequestKind::receive || (request->incoming && request->incoming->pulling);
    if (budget == 0 || !transferring)
        return;
    completions_.set_deadline(request, now() + budget);
    clock_.arm(request->expires_ns);
}

} // namespace emx

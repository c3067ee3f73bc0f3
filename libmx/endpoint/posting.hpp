// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The first steps of a send, inlined into all ways to post one.
#pragma once

#include "driver/base/probe.hpp"
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

inline Request *Endpoint::begin_send(RequestKind kind, uint64_t length, Partner *to, uint64_t match,
                                     void *context)
{
    Request *request = requests_.allocate(kind);
    if (!request) [[unlikely]]
        return nullptr;
    request->match = match;
    request->context = context;
    request->partner = to;
    request->msg_length = static_cast<uint32_t>(length);
    EMX_PROBE(5, posted, request, static_cast<uint8_t>(kind), length, to->address.stuff[0], match);
    return request;
}

/// An eager message within the host, by a sure way (sure.cpp).
inline void Endpoint::send_sure(Request *request, std::span<const Segment> segments, uint32_t bytes,
                                Partner *to)
{
    emx_msg msg{};
    msg.type = eager_type(bytes);
    msg.remote_ep = to->remote_ep;
    msg.peer = to->peer;
    msg.seq = to->sender.next;
    msg.ack = to->receiver.done;
    msg.match = request->match;
    msg.msg_len = bytes;
    if (!to->sender.waiting.empty() || !port_->send_sure(msg, segments)) [[unlikely]]
        return queue_sure(request, segments, bytes, to);
    to->sender.number_sure(nullptr);
    if (to->receiver.owes_ack()) [[unlikely]]
        to->receiver.acknowledged();
    request->buffered = true;
    request->xfer_length = bytes;
    completions_.complete_inline(request, MX_STATUS_SUCCESS);
}

} // namespace emx

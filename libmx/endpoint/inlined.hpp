// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Members of Endpoint that are inlined into the calls of the API: the usual way of a short message at posting
// and at its end. A call of its own would cost as much as the work of most of them.
#pragma once

#include "libmx/endpoint/posting.hpp"

namespace emx {

/// A sure way is that of a living partner, so nothing else is to be looked at.
inline Request *Endpoint::post_plain_send(const Segment &memory, Partner *to, uint64_t match, void *context)
{
    const uint32_t length = memory.length;
    if (!to->way.sure || length > to->way.eager_max || completions_.default_budget_ns() != 0)
        return post_other_send(memory, to, match, context);
    Request *request = begin_send(RequestKind::send, length, to, match, context);
    if (request) [[likely]]
        send_sure(request, {&memory, 1}, length, to);
    return request;
}

inline Request *Endpoint::post_receive(const Segment *segments, uint32_t count, uint64_t room, uint64_t match,
                                       uint64_t mask, void *context)
{
    Request *recv = requests_.allocate(RequestKind::receive);
    if (!recv) [[unlikely]]
        return nullptr;
    recv->match = match;
    recv->mask = mask;
    recv->context = context;
    recv->room = room;
    recv->budget_ns = completions_.default_budget_ns();
    EMX_PROBE(5, posted, recv, static_cast<uint8_t>(RequestKind::receive), room, uint64_t{0}, match);
    recv->segments.assign(segments, count);
    if (Incoming *in = matcher_.post(recv)) [[unlikely]]
        bind(in, recv);
    return recv;
}

inline void Endpoint::reap(Request *request, mx_status_t &status)
{
    const bool failed_connect = request->kind == RequestKind::connect && request->code != MX_STATUS_SUCCESS;
    status.code = static_cast<mx_status_code_t>(request->code);
    status.source = request->partner && !failed_connect ? request->partner->address : mx_endpoint_addr_t{};
    status.match_info = request->match;
    status.msg_length = request->msg_length;
    status.xfer_length = request->xfer_length;
    status.context = request->context;
    completions_.remove(request);
    requests_.release(request);
}

} // namespace emx

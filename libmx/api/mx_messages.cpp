// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sending, receiving, cancelling, forgetting (API specification, 3.3, 3.4, 3.8).
#include "libmx/api/call.hpp"
#include "libmx/api/hooks.hpp"
#include "libmx/endpoint/inlined.hpp"

#include "mx_extensions.h"

using namespace emx;
using namespace emx::api;

namespace {

/// Endpoint::posted. A receiver of this host takes what is sent at once, and its acks want to be heard as
/// often.
constexpr unsigned send_weight = PassClock::weight_of_send, local_weight = PassClock::weight_per_pass,
                   receive_weight = 1;

unsigned weight_to(const Partner *to) { return to->way.sure || !to->way.local ? send_weight : local_weight; }

const char *segment_text(mx_return_t code)
{
    switch (code) {
    case MX_BAD_SEG_LIST: return "segment list is NULL though its count is not 0";
    case MX_BAD_SEG_MEM: return "a segment with bytes has no address";
    default: return "more than 256 segments, or more than 4 GiB - 1 bytes";
    }
}

/// Arguments of a call. By reference, since more than registers hold would cost the caller a frame pointer.
struct Posting {
    mx_segment_t *segs;
    uint32_t nseg;
    mx_endpoint_addr_t dest; ///< send
    uint64_t match, mask; ///< mask: receive
    void *context;
    mx_request_t *req;
};

[[gnu::noinline]] mx_return_t send(const char *function, EndpointSlot *locked, const Posting &args,
                                   bool synchronous)
{
    return on_endpoint(function, locked, [&](Call &call) {
        call.set_send(true);
        Segments segments;
        uint64_t length;
        if (mx_return_t code = segments.read(args.segs, args.nseg, length)) [[unlikely]]
            return call.fail(code, segment_text(code));
        Partner *to = call->resolve(args.dest);
        if (!to) [[unlikely]]
            return call.fail(MX_BAD_ENDPOINT, "destination address is not of this endpoint; connect first");
        Request *request =
            call->post_send(segments.data(), args.nseg, length, to, args.match, args.context, synchronous);
        if (!request)
            return call.fail(MX_NO_RESOURCES, "too many requests");
        if (args.req)
            *args.req = static_cast<mx_request_t>(call->requests().handle(request));
        else
            call->completions().forget(request);
        call->posted(weight_to(to));
        return call.done();
    });
}

[[gnu::noinline]] mx_return_t receive(EndpointSlot *locked, const Posting &args)
{
    return on_endpoint("mx_irecv", locked, [&](Call &call) {
        Segments segments;
        uint64_t room;
        if (mx_return_t code = segments.read(args.segs, args.nseg, room)) [[unlikely]]
            return call.fail(code, segment_text(code));
        if (args.match & ~args.mask)
            return call.fail(MX_BAD_MATCH_MASK, "match information has bits outside the mask");
        if (call->context_mask() & ~args.mask)
            return call.fail(MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK, "the mask must cover the context id bits");
        Request *request =
            call->post_receive(segments.data(), args.nseg, room, args.match, args.mask, args.context);
        if (!request)
            return call.fail(MX_NO_RESOURCES, "too many requests");
        if (args.req)
            *args.req = static_cast<mx_request_t>(call->requests().handle(request));
        else
            call->completions().forget(request);
        call->posted(receive_weight);
        return call.done();
    });
}

/// One piece of memory, which needs no list: nearly all calls come with that.
bool is_plain(const mx_segment_t *segs, uint32_t nseg) { return nseg == 1 && segs && segs->segment_ptr; }

Segment memory_of(const mx_segment_t &segment)
{
    return {static_cast<std::byte *>(segment.segment_ptr), segment.segment_length};
}

} // namespace

[[gnu::hot]] mx_return_t mx_isend(mx_endpoint_t ep, mx_segment_t *segs, uint32_t nseg,
                                  mx_endpoint_addr_t dest, uint64_t match, void *context, mx_request_t *req)
{
    return guarded("mx_isend", [&] {
        Visit visit(ep);
        Partner *to = visit && is_plain(segs, nseg) ? visit->resolve(dest) : nullptr;
        Request *request = to ? visit->post_plain_send(memory_of(*segs), to, match, context) : nullptr;
        if (!request) [[unlikely]]
            return send("mx_isend", visit.hand_over(), {segs, nseg, dest, match, 0, context, req}, false);
        if (req)
            *req = static_cast<mx_request_t>(visit->requests().handle(request));
        else
            visit->completions().forget(request);
        visit->posted(weight_to(to));
        visit.set_send(true);
        return visit.done("mx_isend");
    });
}

mx_return_t mx_issend(mx_endpoint_t ep, mx_segment_t *segs, uint32_t nseg, mx_endpoint_addr_t dest,
                      uint64_t match, void *context, mx_request_t *req)
{
    return send("mx_issend", Visit(ep).hand_over(), {segs, nseg, dest, match, 0, context, req}, true);
}

[[gnu::hot]] mx_return_t mx_irecv(mx_endpoint_t ep, mx_segment_t *segs, uint32_t nseg, uint64_t match,
                                  uint64_t mask, void *context, mx_request_t *req)
{
    return guarded("mx_irecv", [&] {
        Visit visit(ep);
        const bool plain = visit && req && is_plain(segs, nseg) && !((match | visit->context_mask()) & ~mask);
        const Segment memory = plain ? memory_of(*segs) : Segment{};
        Request *request =
            plain ? visit->post_receive(&memory, 1, memory.length, match, mask, context) : nullptr;
        if (!request) [[unlikely]]
            return receive(visit.hand_over(), {segs, nseg, {}, match, mask, context, req});
        *req = static_cast<mx_request_t>(visit->requests().handle(request));
        visit->posted(receive_weight);
        return visit.done("mx_irecv");
    });
}

namespace {

mx_return_t cancel(mx_endpoint_t ep, mx_request_t *req, uint32_t *result, bool notify)
{
    if (result)
        *result = 0; // before anything can fail: callers read it without looking at the code
    return on_endpoint("mx_cancel", ep, [&](Call &call) {
        if (!call->inside_handler())
            call->progress(Driver::application);
        Request *request = req ? call->requests().find(*req) : nullptr;
        if (!request || request->forgotten || !result)
            return call.fail(MX_BAD_REQUEST, "mx_cancel: not a request of this endpoint");
        if (request->kind == RequestKind::send || request->kind == RequestKind::synchronous_send)
            return call.fail(MX_CANCEL_NOT_SUPPORTED,
                             "mx_cancel: sends cannot be cancelled; disconnect instead");
        if (!call->cancel(request, notify))
            return call.done();
        *result = 1;
        if (!notify)
            *req = nullptr;
        return call.done();
    });
}

} // namespace

mx_return_t mx_cancel(mx_endpoint_t ep, mx_request_t *req, uint32_t *result)
{
    return cancel(ep, req, result, false);
}

mx_return_t emx::api::cancel_notest(mx_endpoint_t ep, mx_request_t *req, uint32_t *result)
{
    return cancel(ep, req, result, true);
}

mx_return_t mx_forget(mx_endpoint_t ep, mx_request_t *req)
{
    return on_endpoint("mx_forget", ep, [&](Call &call) {
        Request *request = req ? call->requests().find(*req) : nullptr;
        if (!request || request->forgotten)
            return call.fail(MX_BAD_REQUEST, "mx_forget: not a request of this endpoint");
        call.set_send(request->kind == RequestKind::send);
        call->completions().forget(request);
        *req = nullptr;
        return call.done();
    });
}

mx_return_t mx_set_request_timeout(mx_endpoint_t ep, mx_request_t req, uint32_t ms)
{
    return on_endpoint("mx_set_request_timeout", ep, [&](Call &call) {
        Request *request = nullptr;
        if (req) {
            request = call->requests().find(req);
            if (!request || request->forgotten)
                return call.fail(MX_BAD_REQUEST, "mx_set_request_timeout: not a request of this endpoint");
        }
        call->set_timeout(request, ms);
        return call.done();
    });
}

mx_return_t mx_context(mx_request_t *req, void **context)
{
    Context *library = process().context.get();
    if (!library)
        return fail(process().inherited ? MX_BAD_ENDPOINT : MX_NOT_INITIALIZED,
                    "mx_context: call mx_init first");
    EndpointSlot *slot = req && *req ? library->slot(RequestPool::endpoint_slot_of(*req)) : nullptr;
    if (slot && context) {
        std::lock_guard lock(slot->mutex);
        Request *request = slot->endpoint ? slot->endpoint->requests().find(*req) : nullptr;
        if (request && !request->forgotten) {
            *context = request->context;
            return MX_SUCCESS;
        }
    }
    return fail(MX_BAD_REQUEST, "mx_context: not a live request");
}

mx_return_t mx_iput(mx_endpoint_t, void *, uint32_t, mx_endpoint_addr_t, uint64_t, void *, mx_request_t *)
{
    return fail(MX_FAILURE, "mx_iput: one-sided operations exist in no MX implementation; send a message");
}

mx_return_t mx_iget(mx_endpoint_t, void *, uint32_t, mx_endpoint_addr_t, uint64_t, void *, mx_request_t *)
{
    return fail(MX_FAILURE, "mx_iget: one-sided operations exist in no MX implementation; send a message");
}

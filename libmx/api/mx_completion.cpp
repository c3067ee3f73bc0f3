// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Completion and inspection: test, wait, peek, probe and their families (API specification, 3.5 to 3.7).
#include "libmx/api/call.hpp"
#include "libmx/endpoint/inlined.hpp"

#include "mx_extensions.h"

using namespace emx;
using namespace emx::api;

namespace {

constexpr uint32_t poll_only = 0; ///< the non-blocking twins look once

/// Runs until found(), which is false now, or the timeout; non-blocking for poll_only. True iff found.
template <class Found>
bool search_on(Call &call, uint32_t timeout_ms, bool blocking, Found found)
{
    if (!blocking || call->inside_handler()) {
        if (!call->inside_handler() && call->progress(Driver::application) && found()) {
            call->found_something();
            return true;
        }
        if (found())
            return true;
        call->found_nothing(call.lock());
        return false;
    }
    return call->wait(call.lock(), deadline_of(*call, timeout_ms), found);
}

template <class Found>
bool search(Call &call, uint32_t timeout_ms, bool blocking, Found found)
{
    return found() || search_on(call, timeout_ms, blocking, found);
}

inline mx_return_t finish(Call &call, Request *request, mx_status_t *status, uint32_t *result)
{
    mx_status_t unwanted;
    const int code = request->code;
    call->reap(request, status ? *status : unwanted);
    *result = 1;
    call->found_something();
    call->report_lost(call.lock());
    if (is_failure(code)) [[unlikely]]
        call.request_failed(code);
    return MX_SUCCESS;
}

[[gnu::noinline]] mx_return_t test_or_wait(const char *function, EndpointSlot *locked, mx_request_t *req,
                                           uint32_t timeout, bool blocking, mx_status_t *status,
                                           uint32_t *result)
{
    return on_endpoint(function, locked, [&](Call &call) {
        Request *request = req && result ? call->requests().find(*req) : nullptr;
        if (!request || request->forgotten) [[unlikely]]
            return call.fail(MX_BAD_REQUEST, "not a request of this endpoint, or finished already");
        // Another thread may finish the request while the lock is released: look the handle up each time.
        auto found = [&] {
            request = call->requests().find(*req);
            return !request || request->complete;
        };
        const int was_complete = request->complete; // then nothing was waited for
        if (!request->complete && !search_on(call, timeout, blocking, found))
            return call.done();
        if (!request) [[unlikely]]
            return call.fail(MX_BAD_REQUEST, "the request was finished by another thread");
        *req = nullptr;
        call.set_send(was_complete & static_cast<int>(request->kind == RequestKind::send));
        return finish(call, request, status, result);
    });
}

/// mx_test after a Visit. Few arguments: more than registers hold would cost mx_test a frame pointer.
[[gnu::noinline]] mx_return_t test(EndpointSlot *locked, mx_request_t *req, mx_status_t *status,
                                   uint32_t *result)
{
    return test_or_wait("mx_test", locked, req, poll_only, false, status, result);
}

/// Asks for any request that ended. `locked`: what a Visit handed over.
[[gnu::noinline]] mx_return_t any(const char *function, EndpointSlot *locked, uint64_t info, uint64_t mask,
                                  uint32_t timeout, bool blocking, mx_status_t *status, uint32_t *result)
{
    return on_endpoint(function, locked, [&](Call &call) {
        if (info & ~mask)
            return call.fail(MX_BAD_MATCH_MASK, "match information has bits outside the mask");
        if (!result)
            return call.fail(MX_BAD_BAD_BAD, "result pointer is NULL");
        Request *request = nullptr;
        if (!search(call, timeout, blocking,
                    [&] { return (request = call->completions().find(info, mask)) != nullptr; }))
            return call.done();
        return finish(call, request, status, result);
    });
}

/// mx_test_any after a Visit.
[[gnu::noinline]] mx_return_t test_any(EndpointSlot *locked, uint64_t info, uint64_t mask,
                                       mx_status_t *status, uint32_t *result)
{
    return any("mx_test_any", locked, info, mask, poll_only, false, status, result);
}

/// The end of a test that found nothing, as so often before that others may have the core.
[[gnu::cold, gnu::noinline]] mx_return_t not_yet(EndpointSlot *locked)
{
    return on_endpoint("mx_test", locked, [](Call &call) {
        call->offer_core(call.lock());
        return call.done();
    });
}

/// The end of a test that found nothing.
[[gnu::always_inline]] inline mx_return_t found_nothing(Visit &visit, const char *function)
{
    if (visit->asked_in_vain()) [[unlikely]]
        return not_yet(visit.hand_over());
    return visit.done(function);
}

/// The end of a test that found a request that succeeded.
[[gnu::always_inline]] inline mx_return_t give(Visit &visit, Request *request, mx_status_t *status,
                                               uint32_t *result, const char *function)
{
    mx_status_t unwanted;
    visit->reap(request, status ? *status : unwanted);
    *result = 1;
    visit->found_something();
    return visit.done(function);
}

mx_return_t peek(const char *function, mx_endpoint_t ep, mx_request_t *req, uint32_t timeout, bool blocking,
                 uint32_t *result)
{
    if (result)
        *result = 0;
    return on_endpoint(function, ep, [&](Call &call) {
        if (!req || !result)
            return call.fail(MX_BAD_REQUEST, "request or result pointer is NULL");
        Request *request = nullptr;
        if (!search(call, timeout, blocking,
                    [&] { return (request = call->completions().oldest()) != nullptr; }))
            return call.done();
        *req = static_cast<mx_request_t>(call->requests().handle(request));
        *result = 1;
        call->found_something();
        return call.done();
    });
}

mx_return_t probe(const char *function, mx_endpoint_t ep, uint64_t info, uint64_t mask, uint32_t timeout,
                  bool blocking, mx_status_t *status, uint32_t *result)
{
    if (result)
        *result = 0;
    return on_endpoint(function, ep, [&](Call &call) {
        if (info & ~mask)
            return call.fail(MX_BAD_MATCH_MASK, "match information has bits outside the mask");
        if (!result)
            return call.fail(MX_BAD_BAD_BAD, "result pointer is NULL");
        Incoming *in = nullptr;
        if (!search(call, timeout, blocking,
                    [&] { return (in = call->matcher().probe(info, mask)) != nullptr; }))
            return call.done();
        *result = 1;
        call->found_something();
        if (status) {
            status->code = MX_STATUS_SUCCESS;
            status->source = in->partner->address;
            status->match_info = in->match;
            status->msg_length = status->xfer_length = in->msg.msg_len;
            status->context = nullptr;
        }
        return call.done();
    });
}

mx_return_t buffered(const char *function, mx_endpoint_t ep, mx_request_t *req, uint32_t timeout,
                     bool blocking, uint32_t *result)
{
    if (result)
        *result = 0;
    return on_endpoint(function, ep, [&](Call &call) {
        Request *request = req && result ? call->requests().find(*req) : nullptr;
        bool send =
            request && (request->kind == RequestKind::send || request->kind == RequestKind::synchronous_send);
        if (!send || request->forgotten)
            return MX_BAD_REQUEST; // without the handler: clients ask about any request (section 6)
        auto found = [&] {
            request = call->requests().find(*req);
            return !request || request->complete || request->buffered;
        };
        if (search(call, timeout, blocking, found))
            *result = request ? 1 : 0;
        return call.done();
    });
}

} // namespace

[[gnu::hot]] mx_return_t mx_test(mx_endpoint_t ep, mx_request_t *req, mx_status_t *status, uint32_t *result)
{
    if (result)
        *result = 0;
    return guarded("mx_test", [&] {
        Visit visit(ep);
        Request *request = visit && req && result ? visit->requests().find(*req) : nullptr;
        if (!request || request->forgotten || visit->gate().handler_runs()) [[unlikely]]
            return test(visit.hand_over(), req, status, result);
        const bool was_complete = request->complete; // then nothing was waited for
        if (!was_complete)
            visit->progress(Driver::application);
        // Another thread may finish the request while the lock is released.
        const bool is_there = RequestPool::handle(request) == *req;
        if (is_there && !request->complete)
            return found_nothing(visit, "mx_test");
        if (!is_there || request->code != MX_STATUS_SUCCESS) [[unlikely]]
            return test(visit.hand_over(), req, status, result);
        visit.set_send(was_complete & static_cast<int>(request->kind == RequestKind::send));
        *req = nullptr;
        return give(visit, request, status, result, "mx_test");
    });
}

mx_return_t mx_wait(mx_endpoint_t ep, mx_request_t *req, uint32_t timeout, mx_status_t *status,
                    uint32_t *result)
{
    if (result)
        *result = 0;
    return test_or_wait("mx_wait", Visit(ep).hand_over(), req, timeout, true, status, result);
}

[[gnu::hot]] mx_return_t mx_test_any(mx_endpoint_t ep, uint64_t info, uint64_t mask, mx_status_t *status,
                                     uint32_t *result)
{
    if (result)
        *result = 0;
    return guarded("mx_test_any", [&] {
        Visit visit(ep);
        if (!visit || !result || (info & ~mask) || visit->gate().handler_runs()) [[unlikely]]
            return test_any(visit.hand_over(), info, mask, status, result);
        Request *request = visit->completions().find(info, mask);
        if (!request) {
            visit->progress(Driver::application);
            request = visit->completions().find(info, mask);
        }
        if (!request)
            return found_nothing(visit, "mx_test_any");
        if (request->code != MX_STATUS_SUCCESS) [[unlikely]]
            return test_any(visit.hand_over(), info, mask, status, result);
        return give(visit, request, status, result, "mx_test_any");
    });
}

mx_return_t mx_wait_any(mx_endpoint_t ep, uint32_t timeout, uint64_t info, uint64_t mask, mx_status_t *status,
                        uint32_t *result)
{
    if (result)
        *result = 0;
    return any("mx_wait_any", Visit(ep).hand_over(), info, mask, timeout, true, status, result);
}

mx_return_t mx_ipeek(mx_endpoint_t ep, mx_request_t *req, uint32_t *result)
{
    return peek("mx_ipeek", ep, req, poll_only, false, result);
}

mx_return_t mx_peek(mx_endpoint_t ep, uint32_t timeout, mx_request_t *req, uint32_t *result)
{
    return peek("mx_peek", ep, req, timeout, true, result);
}

mx_return_t mx_iprobe(mx_endpoint_t ep, uint64_t info, uint64_t mask, mx_status_t *status, uint32_t *result)
{
    return probe("mx_iprobe", ep, info, mask, poll_only, false, status, result);
}

mx_return_t mx_probe(mx_endpoint_t ep, uint32_t timeout, uint64_t info, uint64_t mask, mx_status_t *status,
                     uint32_t *result)
{
    return probe("mx_probe", ep, info, mask, timeout, true, status, result);
}

mx_return_t mx_ibuffered(mx_endpoint_t ep, mx_request_t *req, uint32_t *result)
{
    return buffered("mx_ibuffered", ep, req, poll_only, false, result);
}

mx_return_t mx_buffered(mx_endpoint_t ep, mx_request_t *req, uint32_t timeout, uint32_t *result)
{
    return buffered("mx_buffered", ep, req, timeout, true, result);
}

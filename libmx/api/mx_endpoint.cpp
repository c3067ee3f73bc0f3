// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Endpoints: open, close, wakeup, progression, handlers (API specification, 3.2 and 3.10).
#include "libmx/api/binding.hpp"
#include "libmx/api/call.hpp"
#include "libmx/api/hooks.hpp"
#include "libmx/api/parameters.hpp"

#include "mx_extensions.h"

using namespace emx;
using namespace emx::api;

mx_return_t mx_open_endpoint(uint32_t board, uint32_t eid, uint32_t key, mx_param_t *params, uint32_t nparams,
                             mx_endpoint_t *ep)
{
    return open_endpoint(
        board, eid, key, [&](EndpointParameters &out) { return read_parameters(params, nparams, out); }, ep);
}

namespace {

void bind(Context &context, mx_endpoint_t ep)
{
    Call call(ep);
    if (!call)
        return;
    const auto cpus =
        processors_for(context.conf().process_binding, call->identity().board.nic_id, call->number());
    const char *text = cpus.empty()        ? "OMX_PROCESS_BINDING names no processor"
                       : bind_thread(cpus) ? "bound as OMX_PROCESS_BINDING wants"
                                           : "no processor of OMX_PROCESS_BINDING can be had";
    context.tell(text, &call->identity().board, call->number());
}

} // namespace

mx_return_t emx::api::open_endpoint(uint32_t board, uint32_t number, uint32_t key,
                                    const std::function<mx_return_t(EndpointParameters &)> &read,
                                    mx_endpoint_t *ep)
{
    if (!ep)
        return fail(MX_BAD_ENDPOINT, "mx_open_endpoint: no place for the handle");
    *ep = nullptr;
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_open_endpoint: call mx_init first");
    EndpointParameters parameters;
    parameters.bits = static_cast<unsigned>(context->conf().context_bits);
    parameters.shift = static_cast<unsigned>(context->conf().context_shift);
    if (mx_return_t code = read(parameters))
        return fail(code, "mx_open_endpoint: bad parameter list, key, or value");
    try {
        DeviceError error;
        *ep = context->open(
            {board, number, key, parameters.handler, parameters.bits, parameters.shift, parameters.unexp_max},
            error);
        if (*ep) {
            if (!context->conf().process_binding.empty())
                bind(*context, *ep);
            return MX_SUCCESS;
        }
        return fail(static_cast<mx_return_t>(error.code), ("mx_open_endpoint: " + error.text).c_str());
    } catch (const std::bad_alloc &) {
        return fail(MX_NO_RESOURCES, "mx_open_endpoint: out of memory");
    } catch (const std::exception &e) {
        return fail(MX_BAD_BAD_BAD, e.what());
    }
}

mx_return_t mx_close_endpoint(mx_endpoint_t ep)
{
    return on_endpoint("mx_close_endpoint", ep, [&](Call &call) {
        if (call->inside_handler())
            return call.fail(MX_CLOSE_IN_HANDLER,
                             "mx_close_endpoint: not from inside the unexpected handler");
        process().context->close(call.slot(), call.lock());
        return MX_SUCCESS;
    });
}

mx_return_t mx_wakeup(mx_endpoint_t ep)
{
    return on_endpoint("mx_wakeup", ep, [](Call &call) {
        call->wakeup();
        return MX_SUCCESS;
    });
}

mx_return_t mx_disable_progression(mx_endpoint_t ep)
{
    return on_endpoint("mx_disable_progression", ep, [](Call &call) {
        call->gate().disable(call.lock());
        return MX_SUCCESS;
    });
}

mx_return_t mx_reenable_progression(mx_endpoint_t ep)
{
    return on_endpoint("mx_reenable_progression", ep, [](Call &call) {
        call->enable_progression();
        return call.done();
    });
}

mx_return_t mx_progress(mx_endpoint_t ep)
{
    return on_endpoint("mx_progress", ep, [](Call &call) {
        if (!call->inside_handler() && !call->progress(Driver::application))
            call->found_nothing(call.lock());
        return call.done();
    });
}

mx_return_t mx_set_messages_per_ack(mx_endpoint_t ep, uint32_t messages)
{
    return on_endpoint("mx_set_messages_per_ack", ep, [&](Call &call) {
        if (messages < 1 || messages > 255)
            return call.fail(MX_BAD_PARAM_VAL, "mx_set_messages_per_ack: give 1 to 255");
        call->set_messages_per_ack(static_cast<int>(messages));
        return call.done();
    });
}

mx_return_t emx::api::set_unexp_handler(const char *function, mx_endpoint_t endpoint, UnexpHandler handler)
{
    return on_endpoint(function, endpoint, [&](Call &call) {
        call->matcher().set_handler(std::move(handler));
        return MX_SUCCESS;
    });
}

mx_return_t mx_register_unexp_handler(mx_endpoint_t ep, mx_unexp_handler_t handler, void *context)
{
    emx::UnexpHandler call;
    if (handler)
        call = [handler, context](mx_endpoint_addr_t source, uint64_t match, uint32_t length, void *data) {
            return static_cast<int>(handler(context, source, match, length, data));
        };
    return emx::api::set_unexp_handler("mx_register_unexp_handler", ep, std::move(call));
}

mx_return_t mx_register_unexp_callback(mx_endpoint_t ep, mx_matching_callback_t callback, void *context)
{
    emx::UnexpHandler call;
    if (callback)
        call = [callback, context](mx_endpoint_addr_t, uint64_t match, uint32_t length, void *) {
            callback(context, match, static_cast<int>(length));
            return int{MX_RECV_CONTINUE};
        };
    return emx::api::set_unexp_handler("mx_register_unexp_callback", ep, std::move(call));
}

ErrorHandler emx::api::set_endpoint_error_handler(mx_endpoint_t ep, ErrorHandler handler)
{
    Call call(ep);
    if (!call)
        return {};
    return call->exchange_handler(handler);
}

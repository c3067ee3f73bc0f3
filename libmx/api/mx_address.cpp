// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Addresses, names, connecting (API specification, 3.9 and section 8).
#include "libmx/api/call.hpp"
#include "libmx/api/hooks.hpp"
#include "libmx/endpoint/inlined.hpp"

#include "mx_extensions.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace emx;
using namespace emx::api;

namespace {

/// For the board agent, where the caller names none.
constexpr int longest_patience_ms = 60000; // as AgentConnection's own

/// Runs body(endpoint, partner) for the partner an address names; false when there is none.
template <class Body>
bool with_partner(mx_endpoint_addr_t address, Body body)
{
    Context *context = process().context.get();
    EndpointSlot *slot =
        context ? context->slot(static_cast<uint32_t>(address.stuff[1] >> 22) & 0x3ff) : nullptr;
    if (!slot)
        return false;
    std::lock_guard lock(slot->mutex);
    Partner *partner = slot->endpoint ? slot->endpoint->resolve(address) : nullptr;
    if (!partner)
        return false;
    body(partner);
    return true;
}

mx_return_t connect_code(int status)
{
    switch (status) {
    case MX_STATUS_SUCCESS: return MX_SUCCESS;
    case MX_STATUS_BAD_KEY: return MX_BAD_CONNECTION_KEY;
    case MX_STATUS_ENDPOINT_CLOSED: return MX_CONNECTION_FAILED;
    case MX_STATUS_BAD_ENDPOINT: return MX_BAD_ENDPOINT_ID;
    case MX_STATUS_NO_RESOURCES: return MX_NO_RESOURCES;
    default: return MX_TIMEOUT;
    }
}

const char *connect_text(mx_return_t code)
{
    switch (code) {
    case MX_BAD_CONNECTION_KEY: return "mx_connect: the remote endpoint has another key";
    case MX_CONNECTION_FAILED: return "mx_connect: nobody has that endpoint open";
    case MX_BAD_ENDPOINT_ID: return "mx_connect: the remote board has no such endpoint number";
    case MX_NIC_NOT_FOUND:
        return "mx_connect: that board is not in the peers file; add it, or remove the file to admit any";
    case MX_NO_DEV:
        return "mx_connect: the interface of this endpoint is gone, or omxd was restarted without it: close "
               "the "
               "endpoint and open it again";
    case MX_NO_RESOURCES: return "mx_connect: out of memory or requests";
    case MX_FAILURE: return "mx_connect: not from inside the unexpected handler; use mx_iconnect";
    default: return "mx_connect: no answer in time";
    }
}

std::string text_of(const DeviceError &error)
{
    return error.text.empty() ? connect_text(static_cast<mx_return_t>(error.code))
                              : "mx_connect: " + error.text;
}

/// Endpoint::wait, and the other endpoints of the process are served meanwhile when the user wants that.
bool wait_for_answer(Call &call, uint64_t deadline, Condition answered)
{
    Context &context = *process().context;
    if (!context.conf().connect_pollall)
        return call->wait(call.lock(), deadline, answered);
    constexpr uint64_t slice_ns = 1000000; // nothing wakes us for the others
    const uint32_t epoch = call->waiter().epoch();
    const auto look = [&] {
        context.serve_others(call.slot());
        return answered();
    };
    for (;;) {
        const uint64_t now = context.device().now_ns();
        if (call->wait(call.lock(), std::min(deadline, now + slice_ns), look))
            return true;
        if (call->gate().is_ending() || call->waiter().epoch() != epoch ||
            context.device().now_ns() >= deadline)
            return false;
    }
}

} // namespace

mx_return_t mx_get_endpoint_addr(mx_endpoint_t ep, mx_endpoint_addr_t *address)
{
    return on_endpoint("mx_get_endpoint_addr", ep, [&](Call &call) {
        if (!address)
            return call.fail(MX_BAD_BAD_BAD, "mx_get_endpoint_addr: no place for the address");
        *address = call->self()->address;
        return MX_SUCCESS;
    });
}

mx_return_t mx_decompose_endpoint_addr2(mx_endpoint_addr_t address, uint64_t *nic, uint32_t *eid,
                                        uint32_t *session)
{
    if (nic)
        *nic = address.stuff[0] >> 16;
    if (eid)
        *eid = static_cast<uint32_t>(address.stuff[0] >> 8) & 0xff;
    if (session)
        *session = static_cast<uint32_t>(address.stuff[1] >> 32);
    return MX_SUCCESS;
}

mx_return_t mx_decompose_endpoint_addr(mx_endpoint_addr_t address, uint64_t *nic, uint32_t *eid)
{
    return mx_decompose_endpoint_addr2(address, nic, eid, nullptr);
}

mx_return_t mx_set_endpoint_addr_context(mx_endpoint_addr_t address, void *context)
{
    // An address that was never filled in, or is of a closed endpoint, is tolerated (1.9).
    with_partner(address, [&](Partner *partner) { partner->user_context = context; });
    return MX_SUCCESS;
}

mx_return_t mx_get_endpoint_addr_context(mx_endpoint_addr_t address, void **context)
{
    if (!context)
        return fail(MX_BAD_BAD_BAD, "mx_get_endpoint_addr_context: no place for the context");
    *context = nullptr;
    with_partner(address, [&](Partner *partner) { *context = partner->user_context; });
    return MX_SUCCESS;
}

mx_return_t mx_connect(mx_endpoint_t ep, uint64_t nic, uint32_t eid, uint32_t key, uint32_t timeout,
                       mx_endpoint_addr_t *address)
{
    return on_endpoint("mx_connect", ep, [&](Call &call) {
        auto refuse = [&](mx_return_t code) { return call.fail(code, connect_text(code)); };
        bool own = nic == call->identity().board.nic_id && eid == call->number();
        if (call->inside_handler() && !own)
            return refuse(MX_FAILURE);
        const uint64_t deadline = deadline_of(*call, timeout);
        const int patience =
            timeout == 0 || timeout > longest_patience_ms ? longest_patience_ms : static_cast<int>(timeout);
        DeviceError error;
        Request *request = call->post_connect(nic, eid, key, 0, nullptr, true, patience, error);
        if (!request)
            return call.fail(static_cast<mx_return_t>(error.code), text_of(error).c_str());
        void *handle = call->requests().handle(request);
        auto answered = [&] {
            request = call->requests().find(handle);
            return !request || request->complete;
        };
        if (!wait_for_answer(call, deadline, answered)) {
            if (request)
                call->cancel(request, false);
            return refuse(MX_TIMEOUT);
        }
        if (!request)
            return refuse(MX_BAD_BAD_BAD);
        mx_status_t status;
        call->reap(request, status);
        if (mx_return_t failed = connect_code(status.code))
            return refuse(failed == MX_TIMEOUT && call->identity().gone ? MX_NO_DEV : failed);
        if (address)
            *address = status.source;
        return call.done();
    });
}

mx_return_t mx_iconnect(mx_endpoint_t ep, uint64_t nic, uint32_t eid, uint32_t key, uint64_t match,
                        void *context, mx_request_t *req)
{
    return on_endpoint("mx_iconnect", ep, [&](Call &call) {
        DeviceError error;
        Request *request =
            call->post_connect(nic, eid, key, match, context, false, longest_patience_ms, error);
        if (!request)
            return call.fail(static_cast<mx_return_t>(error.code), text_of(error).c_str());
        if (req)
            *req = static_cast<mx_request_t>(call->requests().handle(request));
        else
            call->completions().forget(request);
        if (!call->inside_handler())
            call->progress(Driver::application);
        return call.done();
    });
}

mx_return_t mx_disconnect(mx_endpoint_t ep, mx_endpoint_addr_t address)
{
    return on_endpoint("mx_disconnect", ep, [&](Call &call) {
        if (Partner *partner = call->resolve(address))
            call->disconnect(partner);
        if (!call->inside_handler())
            call->progress(Driver::application);
        return call.done();
    });
}

mx_return_t mx_hostname_to_nic_id(char *name, uint64_t *nic)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_hostname_to_nic_id: call mx_init first");
    if (!name || !nic)
        return fail(MX_BAD_HOSTNAME_ARGS, "mx_hostname_to_nic_id: NULL argument");
    std::string wanted(name);
    std::string number = "0";
    std::string host = wanted;
    if (auto colon = wanted.rfind(':'); colon != std::string::npos) {
        host = wanted.substr(0, colon);
        number = wanted.substr(colon + 1);
    }
    for (const BoardInfo &board : context->device().boards())
        if (host == "localhost" && std::to_string(board.number) == number) {
            *nic = board.nic_id;
            return MX_SUCCESS;
        }
    do {
        for (const std::string &candidate :
             {wanted, host + ":" + number, host.substr(0, host.find('.')) + ":" + number})
            if (auto found = context->device().nic_id_of(candidate)) {
                *nic = *found;
                return MX_SUCCESS;
            }
    } while (context->device().wait_for_names());
    return fail(MX_HOST_NOT_FOUND, ("mx_hostname_to_nic_id: no board is called " + wanted).c_str());
}

mx_return_t mx_nic_id_to_hostname(uint64_t nic, char *name)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_nic_id_to_hostname: call mx_init first");
    if (!name)
        return fail(MX_BAD_HOSTNAME_ARGS, "mx_nic_id_to_hostname: NULL argument");
    auto found = context->device().name_of(nic);
    if (!found)
        return fail(MX_HOST_NOT_FOUND, "mx_nic_id_to_hostname: no board with that id has told its name");
    std::size_t length = std::min<std::size_t>(found->size(), MX_MAX_HOSTNAME_LEN - 1);
    std::memcpy(name, found->data(), length);
    name[length] = '\0';
    return MX_SUCCESS;
}

mx_return_t mx_board_number_to_nic_id(uint32_t number, uint64_t *nic)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_board_number_to_nic_id: call mx_init first");
    for (const BoardInfo &board : context->device().boards())
        if (board.number == number && nic) {
            *nic = board.nic_id;
            return MX_SUCCESS;
        }
    return fail(MX_BOARD_UNKNOWN, "mx_board_number_to_nic_id: no such board; omx_info lists them");
}

mx_return_t mx_nic_id_to_board_number(uint64_t nic, uint32_t *number)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_nic_id_to_board_number: call mx_init first");
    for (const BoardInfo &board : context->device().boards())
        if (board.nic_id == nic && number) {
            *number = board.number;
            return MX_SUCCESS;
        }
    return fail(MX_BOARD_UNKNOWN, "mx_nic_id_to_board_number: no board of this host has that id");
}

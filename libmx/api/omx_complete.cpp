// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The second layer: completion of requests, and what is done to them.
#include "libmx/api/hooks.hpp"
#include "libmx/api/omx_convert.hpp"

using emx::omx::asked;
using emx::omx::code;
using emx::omx::mx;

omx_return_t emx::omx::status_code(mx_status_code_t mx_code)
{
    switch (mx_code) {
    case MX_STATUS_SUCCESS: return OMX_SUCCESS;
    case MX_STATUS_TIMEOUT: return OMX_TIMEOUT;
    case MX_STATUS_TRUNCATED: return OMX_MESSAGE_TRUNCATED;
    case MX_STATUS_CANCELLED: return OMX_CANCELLED;
    case MX_STATUS_ENDPOINT_CLOSED: return OMX_REMOTE_ENDPOINT_CLOSED;
    case MX_STATUS_ENDPOINT_UNREACHABLE: return OMX_REMOTE_ENDPOINT_UNREACHABLE;
    case MX_STATUS_BAD_SESSION: return OMX_REMOTE_ENDPOINT_BAD_SESSION;
    case MX_STATUS_BAD_KEY: return OMX_REMOTE_ENDPOINT_BAD_CONNECTION_KEY;
    case MX_STATUS_BAD_ENDPOINT: return OMX_REMOTE_ENDPOINT_BAD_ID;
    case MX_STATUS_BAD_RDMAWIN: return OMX_REMOTE_RDMA_WINDOW_BAD_ID;
    case MX_STATUS_ABORTED: return OMX_MESSAGE_ABORTED;
    case MX_STATUS_NO_RESOURCES: return OMX_NO_RESOURCES;
    default: return OMX_BAD_ERROR;
    }
}

void emx::omx::hand_out(mx_return_t returned, const uint32_t *result, const mx_status_t &from,
                        omx_status_t *to)
{
    if (returned != MX_SUCCESS || !result || *result == 0 || !to)
        return;
    to->code = status_code(from.code);
    to->addr = std::bit_cast<omx_endpoint_addr_t>(from.source);
    to->match_info = from.match_info;
    to->msg_length = from.msg_length;
    to->xfer_length = from.xfer_length;
    to->context = from.context;
}

omx_return_t omx_test(omx_endpoint_t ep, omx_request_t *request, omx_status_t *status, uint32_t *result)
{
    return asked(status, result,
                 [&](mx_status_t *found) { return mx_test(mx(ep), mx(request), found, result); });
}

omx_return_t omx_wait(omx_endpoint_t ep, omx_request_t *request, omx_status_t *status, uint32_t *result,
                      uint32_t timeout)
{
    if (timeout == 0)
        return omx_test(ep, request, status, result);
    return asked(status, result, [&](mx_status_t *found) {
        return mx_wait(mx(ep), mx(request), emx::omx::timeout(timeout), found, result);
    });
}

omx_return_t omx_test_any(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask, omx_status_t *status,
                          uint32_t *result)
{
    return asked(status, result, [&](mx_status_t *found) {
        return mx_test_any(mx(ep), match_info, match_mask, found, result);
    });
}

omx_return_t omx_wait_any(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask, omx_status_t *status,
                          uint32_t *result, uint32_t timeout)
{
    if (timeout == 0)
        return omx_test_any(ep, match_info, match_mask, status, result);
    return asked(status, result, [&](mx_status_t *found) {
        return mx_wait_any(mx(ep), emx::omx::timeout(timeout), match_info, match_mask, found, result);
    });
}

omx_return_t omx_ipeek(omx_endpoint_t ep, omx_request_t *request, uint32_t *result)
{
    return code(mx_ipeek(mx(ep), mx(request), result));
}

omx_return_t omx_peek(omx_endpoint_t ep, omx_request_t *request, uint32_t *result, uint32_t timeout)
{
    if (timeout == 0)
        return omx_ipeek(ep, request, result);
    return code(mx_peek(mx(ep), emx::omx::timeout(timeout), mx(request), result));
}

omx_return_t omx_ibuffered(omx_endpoint_t ep, omx_request_t *request, uint32_t *result)
{
    return code(mx_ibuffered(mx(ep), mx(request), result));
}

omx_return_t omx_context(omx_request_t *request, void **context)
{
    return code(mx_context(mx(request), context));
}

omx_return_t omx_cancel(omx_endpoint_t ep, omx_request_t *request, uint32_t *result)
{
    return code(mx_cancel(mx(ep), mx(request), result));
}

omx_return_t omx_cancel_notest(omx_endpoint_t ep, omx_request_t *request, uint32_t *result)
{
    return code(emx::api::cancel_notest(mx(ep), mx(request), result));
}

omx_return_t omx_forget(omx_endpoint_t ep, omx_request_t *request)
{
    return code(mx_forget(mx(ep), mx(request)));
}

omx_return_t omx_set_request_timeout(omx_endpoint_t ep, omx_request_t request, uint32_t milli_seconds)
{
    return code(mx_set_request_timeout(mx(ep), mx(request), milli_seconds));
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conversions between the two layers: handles, addresses, codes, statuses, timeouts.
//
// Handles and structures are laid out alike (compat/abi/layout.c holds them to it), so pointers to
// them are cast; a status is copied, because its code changes.
#pragma once

#include "mx_extensions.h"
#include "open-mx.h"

#include <bit>

namespace emx::omx {

inline mx_endpoint_t mx(omx_endpoint_t endpoint) { return reinterpret_cast<mx_endpoint_t>(endpoint); }

inline mx_request_t mx(omx_request_t request) { return reinterpret_cast<mx_request_t>(request); }

inline mx_request_t *mx(omx_request_t *request) { return reinterpret_cast<mx_request_t *>(request); }

inline mx_segment_t *mx(omx_seg_t *segments) { return reinterpret_cast<mx_segment_t *>(segments); }

inline mx_endpoint_addr_t mx(omx_endpoint_addr_t address)
{
    return std::bit_cast<mx_endpoint_addr_t>(address);
}

inline mx_endpoint_addr_t *mx(omx_endpoint_addr_t *address)
{
    return reinterpret_cast<mx_endpoint_addr_t *>(address);
}

/// Codes of calls. Equal below 90, except what the other list spells differently or lacks.
inline omx_return_t code(mx_return_t mx_code)
{
    switch (mx_code) {
    case MX_CANCEL_NOT_SUPPORTED: return OMX_BAD_REQUEST;
    case MX_CLOSE_IN_HANDLER: return OMX_NOT_SUPPORTED_IN_HANDLER;
    case MX_BAD_SEG_LIST: return OMX_SEGMENTS_BAD_COUNT;
    default: return static_cast<omx_return_t>(mx_code);
    }
}

/// Codes of requests.
omx_return_t status_code(mx_status_code_t mx_code);

/// Copies a status that a call with these two results filled in; else leaves *to alone.
void hand_out(mx_return_t returned, const uint32_t *result, const mx_status_t &from, omx_status_t *to);

/// Makes a call of the other layer that tells by a status and a result: `ask` makes it with a status
/// of its own layer, and with `result`.
template <class Ask>
omx_return_t asked(omx_status_t *status, const uint32_t *result, Ask ask)
{
    mx_status_t told;
    const mx_return_t returned = ask(&told);
    hand_out(returned, result, told, status);
    return code(returned);
}

/// A blocking call's timeout, which is not 0 (that is the non-blocking twin's business).
inline uint32_t timeout(uint32_t omx_timeout)
{
    return omx_timeout == OMX_TIMEOUT_INFINITE ? MX_INFINITE : omx_timeout;
}

} // namespace emx::omx

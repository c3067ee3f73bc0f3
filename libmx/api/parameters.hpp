// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Parameters of an endpoint, as either layer gives them.
#pragma once

#include "libmx/error_handler.hpp"

#include "myriexpress.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

namespace emx::api {

struct EndpointParameters {
    ErrorHandler handler; ///< none: the global one
    unsigned bits = 0, shift = 0; ///< of the context id
    uint64_t unexp_max = 0; ///< bytes of unexpected messages; 0: no bound
};

/// Reads a list of mx_param_t or of their twins: MX_SUCCESS, or the code to fail with.
template <class Param>
mx_return_t read_parameters(const Param *params, uint32_t count, EndpointParameters &out)
{
    if (count && !params)
        return MX_BAD_PARAM_LIST;
    for (uint32_t i = 0; i < count; ++i) {
        const Param &param = params[i];
        switch (std::bit_cast<int>(param.key)) { // a C program may give any number
        case MX_PARAM_ERROR_HANDLER: out.handler = param.val.error_handler; break;
        case MX_PARAM_UNEXP_QUEUE_MAX:
            out.unexp_max = std::max(param.val.unexp_queue_max, uint32_t{1}); // 0 bytes still let one in
            break;
        case MX_PARAM_CONTEXT_ID:
            out.bits = param.val.context_id.bits;
            out.shift = param.val.context_id.shift;
            if (out.bits > MX_CONTEXT_ID_BITS_MAX || out.bits + out.shift > 64)
                return MX_BAD_PARAM_VAL;
            break;
        default: return MX_BAD_PARAM_NAME;
        }
    }
    return MX_SUCCESS;
}

/// mx_open_endpoint with parameters that `read` fills in.
mx_return_t open_endpoint(uint32_t board, uint32_t number, uint32_t key,
                          const std::function<mx_return_t(EndpointParameters &)> &read,
                          mx_endpoint_t *endpoint);

} // namespace emx::api

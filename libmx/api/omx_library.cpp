// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The second layer: library, endpoints, addresses, names, connecting.
#include "libmx/api/hooks.hpp"
#include "libmx/api/omx_convert.hpp"
#include "libmx/api/parameters.hpp"

using emx::omx::code;
using emx::omx::mx;

omx_return_t omx__init_api(int api) { return code(mx__init_api(api)); }

omx_return_t omx_finalize(void) { return code(mx_finalize()); }

omx_error_handler_t omx_set_error_handler(omx_endpoint_t ep, omx_error_handler_t handler)
{
    const emx::ErrorHandler previous = ep ? emx::api::set_endpoint_error_handler(mx(ep), handler)
                                          : emx::api::set_global_error_handler(handler);
    return previous.omx();
}

omx_return_t omx_open_endpoint(uint32_t board_index, uint32_t endpoint_index, uint32_t key,
                               omx_endpoint_param_t *param_array, uint32_t param_count, omx_endpoint_t *ep)
{
    return code(emx::api::open_endpoint(
        board_index, endpoint_index, key,
        [&](emx::api::EndpointParameters &out) {
            return emx::api::read_parameters(param_array, param_count, out);
        },
        reinterpret_cast<mx_endpoint_t *>(ep)));
}

omx_return_t omx_close_endpoint(omx_endpoint_t ep) { return code(mx_close_endpoint(mx(ep))); }

omx_return_t omx_wakeup(omx_endpoint_t ep) { return code(mx_wakeup(mx(ep))); }

omx_return_t omx_progress(omx_endpoint_t ep) { return code(mx_progress(mx(ep))); }

omx_return_t omx_disable_progression(omx_endpoint_t ep) { return code(mx_disable_progression(mx(ep))); }

omx_return_t omx_reenable_progression(omx_endpoint_t ep) { return code(mx_reenable_progression(mx(ep))); }

omx_return_t omx_get_endpoint_addr(omx_endpoint_t ep, omx_endpoint_addr_t *addr)
{
    return code(mx_get_endpoint_addr(mx(ep), mx(addr)));
}

omx_return_t omx_decompose_endpoint_addr(omx_endpoint_addr_t addr, uint64_t *nic_id, uint32_t *endpoint_index)
{
    return code(mx_decompose_endpoint_addr(mx(addr), nic_id, endpoint_index));
}

omx_return_t omx_decompose_endpoint_addr_with_session(omx_endpoint_addr_t addr, uint64_t *nic_id,
                                                      uint32_t *endpoint_index, uint32_t *session_id)
{
    return code(mx_decompose_endpoint_addr2(mx(addr), nic_id, endpoint_index, session_id));
}

omx_return_t omx_set_endpoint_addr_context(omx_endpoint_addr_t addr, void *context)
{
    return code(mx_set_endpoint_addr_context(mx(addr), context));
}

omx_return_t omx_get_endpoint_addr_context(omx_endpoint_addr_t addr, void **context)
{
    return code(mx_get_endpoint_addr_context(mx(addr), context));
}

omx_return_t omx_hostname_to_nic_id(char *hostname, uint64_t *nic_id)
{
    return code(mx_hostname_to_nic_id(hostname, nic_id));
}

omx_return_t omx_nic_id_to_hostname(uint64_t nic_id, char *hostname)
{
    return code(mx_nic_id_to_hostname(nic_id, hostname));
}

omx_return_t omx_board_number_to_nic_id(uint32_t board, uint64_t *nic_id)
{
    return code(mx_board_number_to_nic_id(board, nic_id));
}

omx_return_t omx_nic_id_to_board_number(uint64_t nic_id, uint32_t *board)
{
    return code(mx_nic_id_to_board_number(nic_id, board));
}

omx_return_t omx_connect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
                         uint32_t timeout, omx_endpoint_addr_t *addr)
{
    // There is no twin that does not wait; the shortest wait is a millisecond.
    const uint32_t ms = timeout == 0 ? 1 : emx::omx::timeout(timeout);
    return code(mx_connect(mx(ep), nic_id, endpoint_id, key, ms, mx(addr)));
}

omx_return_t omx_iconnect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
                          uint64_t match_info, void *context, omx_request_t *request)
{
    return code(mx_iconnect(mx(ep), nic_id, endpoint_id, key, match_info, context, mx(request)));
}

omx_return_t omx_disconnect(omx_endpoint_t ep, omx_endpoint_addr_t addr)
{
    return code(mx_disconnect(mx(ep), mx(addr)));
}

omx_return_t omx_register_unexp_handler(omx_endpoint_t ep, omx_unexp_handler_t handler, void *context)
{
    emx::UnexpHandler call;
    if (handler)
        call = [handler, context](mx_endpoint_addr_t source, uint64_t match, uint32_t length, void *data) {
            return static_cast<int>(
                handler(context, std::bit_cast<omx_endpoint_addr_t>(source), match, length, data));
        };
    return code(emx::api::set_unexp_handler("omx_register_unexp_handler", mx(ep), std::move(call)));
}

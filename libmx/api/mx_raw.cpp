// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The raw interface of mappers: EtherMX discovers its peers by itself, so every call answers MX_NO_DEV.
#include "libmx/api/hooks.hpp"

#include "mx_raw.h"

#define EMX_NO_RAW(function, ...)                                                                            \
    mx_return_t function(__VA_ARGS__)                                                                        \
    {                                                                                                        \
        return emx::api::fail(MX_NO_DEV, #function ": no raw endpoints here, peers need no mapper");         \
    }

EMX_NO_RAW(mx_raw_open_endpoint, uint32_t, mx_param_t *, uint32_t, mx_raw_endpoint_t *)
EMX_NO_RAW(mx_raw_close_endpoint, mx_raw_endpoint_t)
EMX_NO_RAW(mx_raw_send, mx_raw_endpoint_t, uint32_t, void *, uint32_t, void *, uint32_t, void *)
EMX_NO_RAW(mx_raw_next_event, mx_raw_endpoint_t, uint32_t *, void **, void *, uint32_t *, uint32_t,
           mx_raw_status_t *)
EMX_NO_RAW(mx_raw_set_route_begin, mx_raw_endpoint_t)
EMX_NO_RAW(mx_raw_set_route_end, mx_raw_endpoint_t)
EMX_NO_RAW(mx_raw_set_route, mx_raw_endpoint_t, uint64_t, void *, uint32_t, uint32_t, uint32_t,
           mx_host_type_t)
EMX_NO_RAW(mx_raw_set_route_mag, mx_raw_endpoint_t, uint64_t, void *, uint32_t, uint32_t, uint32_t,
           mx_host_type_t, uint32_t)
EMX_NO_RAW(mx_raw_clear_routes, mx_raw_endpoint_t, uint64_t, uint32_t)
EMX_NO_RAW(mx_raw_remove_peer, mx_raw_endpoint_t, uint64_t)
EMX_NO_RAW(mx_raw_set_map_version, mx_raw_endpoint_t, uint32_t, uint64_t, uint32_t, uint32_t, uint32_t)
EMX_NO_RAW(mx_raw_num_ports, mx_raw_endpoint_t, uint32_t *)
EMX_NO_RAW(mx_raw_line_speed, mx_raw_endpoint_t, mx_line_speed_t *)
EMX_NO_RAW(mx_raw_set_hostname, mx_raw_endpoint_t, char *)
EMX_NO_RAW(mx_raw_set_peer_name, mx_raw_endpoint_t, uint64_t, char *)
EMX_NO_RAW(mx_raw_set_nic_reply_info, mx_raw_endpoint_t, void *, uint32_t)

mx_endpt_handle_t mx_raw_handle(mx_raw_endpoint_t) { return MX__INVALID_HANDLE; }

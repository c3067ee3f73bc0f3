/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sizes, offsets and values of the public headers that binaries depend on (spec 1.5 and 1.6).
 * Compiled only, for LP64 and for i386.
 */
#include "mx_extensions.h"
#include "mx_raw.h"
#include "mx_internals/mx__driver_interface.h"
#include "open-mx.h"
#include <stddef.h>

#define IS(a, b) _Static_assert((a) == (b), #a " is not " #b)
#define PTR sizeof(void *)
#define LP64_OR_I386(l, i) (sizeof(void *) == 8 ? (l) : (i))

IS(sizeof(mx_endpoint_t), PTR);
IS(sizeof(mx_request_t), PTR);
IS(sizeof(mx_segment_ptr_t), PTR);
IS(sizeof(mx_raw_endpoint_t), PTR);
IS(sizeof(mx_error_handler_t), PTR);
IS(sizeof(MX_ERRORS_RETURN), PTR);
IS(sizeof(MX_ERRORS_ARE_FATAL), PTR);
IS(sizeof(OMX_ERRORS_RETURN), PTR);
IS(sizeof(OMX_ERRORS_ARE_FATAL), PTR);
IS(sizeof(mx_endpt_handle_t), 4);
IS(sizeof(mx_raw_status_t), 4);
IS(MX__INVALID_HANDLE, -1);

IS(sizeof(mx_endpoint_addr_t), 16);
IS(sizeof(((mx_endpoint_addr_t *)0)->stuff[0]), 8);
IS(_Alignof(mx_endpoint_addr_t), LP64_OR_I386(8, 4));

IS(sizeof(mx_segment_t), LP64_OR_I386(16, 8));
IS(offsetof(mx_segment_t, segment_ptr), 0);
IS(offsetof(mx_segment_t, segment_length), PTR);

IS(sizeof(mx_param_t), LP64_OR_I386(16, 8));
IS(offsetof(mx_param_t, key), 0);
IS(offsetof(mx_param_t, val.error_handler), PTR);
IS(offsetof(mx_param_t, val.unexp_queue_max), PTR);
IS(offsetof(mx_param_t, val.context_id.bits), PTR);
IS(offsetof(mx_param_t, val.context_id.shift), PTR + 1);

IS(sizeof(struct mx_status), LP64_OR_I386(48, 40));
IS(offsetof(mx_status_t, code), 0);
IS(offsetof(mx_status_t, source), LP64_OR_I386(8, 4));
IS(offsetof(mx_status_t, match_info), LP64_OR_I386(24, 20));
IS(offsetof(mx_status_t, msg_length), LP64_OR_I386(32, 28));
IS(offsetof(mx_status_t, xfer_length), LP64_OR_I386(36, 32));
IS(offsetof(mx_status_t, context), LP64_OR_I386(40, 36));

IS(sizeof(mx_mapper_state_t), 36);
IS(_Alignof(mx_mapper_state_t), 4);
IS(offsetof(mx_mapper_state_t, board_number), 0);
IS(offsetof(mx_mapper_state_t, mapper_mac), 4);
IS(sizeof(((mx_mapper_state_t *)0)->mapper_mac), 6);
IS(offsetof(mx_mapper_state_t, iport), 10);
IS(offsetof(mx_mapper_state_t, map_version), 12);
IS(offsetof(mx_mapper_state_t, num_hosts), 16);
IS(offsetof(mx_mapper_state_t, network_configured), 20);
IS(offsetof(mx_mapper_state_t, routes_valid), 24);
IS(offsetof(mx_mapper_state_t, level), 28);
IS(offsetof(mx_mapper_state_t, flags), 32);

/* Enums are int-sized. */
IS(sizeof(mx_return_t), 4);
IS(sizeof(mx_status_code_t), 4);
IS(sizeof(mx_param_key_t), 4);
IS(sizeof(mx_unexp_handler_action_t), 4);
IS(sizeof(mx_line_speed_t), 4);
IS(sizeof(mx_net_type_t), 4);
IS(sizeof(mx_get_info_key_t), 4);
IS(sizeof(mx_host_type_t), 4);

/* The second layer is laid out like the first. */
IS(sizeof(omx_endpoint_t), PTR);
IS(sizeof(omx_request_t), PTR);
IS(sizeof(omx_return_t), 4);
IS(sizeof(omx_info_key_t), 4);
IS(sizeof(omx_endpoint_addr_t), sizeof(mx_endpoint_addr_t));
IS(_Alignof(omx_endpoint_addr_t), _Alignof(mx_endpoint_addr_t));
IS(sizeof(omx_seg_t), sizeof(mx_segment_t));
IS(offsetof(omx_seg_t, len), offsetof(mx_segment_t, segment_length));
IS(sizeof(omx_endpoint_param_t), sizeof(mx_param_t));
IS(offsetof(omx_endpoint_param_t, val.context_id.shift), offsetof(mx_param_t, val.context_id.shift));
IS(sizeof(omx_status_t), sizeof(mx_status_t));
IS(offsetof(omx_status_t, code), offsetof(mx_status_t, code));
IS(offsetof(omx_status_t, addr), offsetof(mx_status_t, source));
IS(offsetof(omx_status_t, match_info), offsetof(mx_status_t, match_info));
IS(offsetof(omx_status_t, msg_length), offsetof(mx_status_t, msg_length));
IS(offsetof(omx_status_t, xfer_length), offsetof(mx_status_t, xfer_length));
IS(offsetof(omx_status_t, context), offsetof(mx_status_t, context));

/* Values. */
IS(MX_API, 0x301);
IS(OMX_API, 0x301);
IS(MX_MAX_STR_LEN, 128);
IS(MX_MAX_HOSTNAME_LEN, 80);
IS(MX_SIZEOF_ADDR, 16);
IS(MX_ANY_NIC, 0xffffffffU);
IS(MX_ANY_ENDPOINT, 0xffffffffU);
IS(MX_INFINITE, 0);
IS(MX_MAX_SEGMENTS, 256);
IS(MX_MATCH_MASK_NONE, 0xffffffffffffffffULL);
IS(sizeof(MX_MATCH_MASK_NONE), 8);
IS(MX_CONTEXT_ID_BITS_MAX, 16);
IS(MX_U32(0x123456789abcdef0ULL), 0x12345678U);
IS(MX_L32(0x123456789abcdef0ULL), 0x9abcdef0U);
IS(MX_U32(0x12345678U), 0);
IS(MX_HAS_ICONNECT_V2, 1);
#ifndef MX_HAS_NET_TYPE
#error "MX_HAS_NET_TYPE must be defined"
#endif
/* Defined, but empty. */
IS(0 MX_HAS_NET_TYPE, 0);

IS(MX_SUCCESS, 0);
IS(MX_BAD_BAD_BAD, 1);
IS(MX_BAD_ENDPOINT, 9);
IS(MX_BUSY, 20);
IS(MX_BAD_ROOT, 18);
IS(MX_HOST_NOT_FOUND, 28);
IS(MX_TIMEOUT, 30);
IS(MX_BAD_ENDPOINT_ID, 32);
IS(MX_NIC_DEAD, 39);
IS(MX_CANCEL_NOT_SUPPORTED, 40);
IS(MX_NOT_SUPPORTED_WITH_CONTEXT_ID, 43);
IS(MX_STATUS_TIMEOUT, 4);
IS(MX_STATUS_TRUNCATED, 5);
IS(MX_STATUS_ENDPOINT_CLOSED, 8);
IS(MX_STATUS_BAD_ENDPOINT, 12);
IS(MX_STATUS_NO_RESOURCES, 16);
IS(MX_PARAM_CONTEXT_ID, 2);
IS(MX_RECV_CONTINUE, 0);
IS(MX_RECV_FINISHED, 1);
IS(MX_SPEED_2G, 0);
IS(MX_SPEED_OPEN_MX, 2);
IS(MX_NET_MYRI, 0);
IS(MX_NET_ETHER, 1);
IS(MX_HOST_GM, 1);
IS(MX_HOST_MXvM, 4);
IS(MX_NIC_COUNT, 1);
IS(MX_COUNTERS_LABELS, 6);
IS(MX_PRODUCT_CODE, 8);
IS(MX_COPY_SEND_MAX, 13);
IS(MX_NET_TYPE, 15);
IS(MX_LINE_SPEED, 16);

IS(MX_RAW_NO_EVENT, 0);
IS(MX_RAW_RECV_COMPLETE, 2);
IS(MX_DEAD_RECOVERABLE_SRAM_PARITY_ERROR, 10);
IS(MX_DEAD_PCI_MASTER_ABORT, 17);
IS(MX_RAW_POLL_SUPPORTED + MX_SET_ROUTE_TAKES_MAGID + MX_HAS_RAW_LINE_SPEED, 3);
IS(MX_HAS_RAW_SET_NIC_REPLY_INFO, 1);

IS(OMX_PEER_NOT_FOUND, 28);
IS(OMX_BAD_MATCHING_FOR_CONTEXT_ID_MASK, 42);
IS(OMX_CANCELLED, 90);
IS(OMX_MESSAGE_TRUNCATED, 95);
IS(OMX_NO_SYSTEM_RESOURCES, 97);
IS(OMX_NOT_IMPLEMENTED, 99);
IS(OMX_RETURN_CODE_MAX, 100);
IS(OMX_INFO_BOARD_HOSTNAME, 4);
IS(OMX_INFO_COUNTER_LABEL, 9);
IS(OMX_HOSTNAMELEN_MAX, 80);
IS(OMX_BOARD_ADDR_STRLEN, 18);

/* Argument lists, as pointer types: a wrong prototype is a conflicting declaration. */
mx_return_t mx_wait(mx_endpoint_t, mx_request_t *, uint32_t, mx_status_t *, uint32_t *);
mx_return_t mx_wait_any(mx_endpoint_t, uint32_t, uint64_t, uint64_t, mx_status_t *, uint32_t *);
mx_return_t mx_peek(mx_endpoint_t, uint32_t, mx_request_t *, uint32_t *);
mx_return_t mx_buffered(mx_endpoint_t, mx_request_t *, uint32_t, uint32_t *);
mx_return_t mx_isend(mx_endpoint_t, mx_segment_t *, uint32_t, mx_endpoint_addr_t, uint64_t, void *,
		     mx_request_t *);
mx_return_t mx_set_request_timeout(mx_endpoint_t, mx_request_t, uint32_t);
omx_return_t omx_wait_any(omx_endpoint_t, uint64_t, uint64_t, omx_status_t *, uint32_t *, uint32_t);
omx_return_t omx_peek(omx_endpoint_t, omx_request_t *, uint32_t *, uint32_t);

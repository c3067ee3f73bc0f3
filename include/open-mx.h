/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The Open-MX programming interface (level 0x301), a second layer over the same library: a handle
 * of one layer may be used with the other. Types are laid out as their twins of myriexpress.h.
 *
 * The rules of myriexpress.h on errors, threads, results and memory hold, with three differences:
 * one list of codes for calls and for statuses; the timeout is the last argument; and 0 means "do
 * not wait", OMX_TIMEOUT_INFINITE for ever. A call whose comment only names its MX twin does what
 * that does, with these differences. "Spec n" as in myriexpress.h; this layer is section 10.
 */
#ifndef OPEN_MX_H
#define OPEN_MX_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define OMX_API 0x301

#define OMX_ANY_NIC 0xffffffffU
#define OMX_ANY_ENDPOINT 0xffffffffU
#define OMX_TIMEOUT_INFINITE 0xffffffffU
#define OMX_HOSTNAMELEN_MAX 80 /* with the final NUL */
#define OMX_BOARD_ADDR_STRLEN 18 /* "00:11:22:33:44:55" with the final NUL */

/* Result of a call, and of a request. Below 90 the numbers are those of mx_return_t. Spec 10.2. */
enum omx_return_code {
	OMX_SUCCESS = 0,
	OMX_BAD_ERROR = 1, /* unclassified internal failure */
	OMX_ALREADY_INITIALIZED = 3,
	OMX_NOT_INITIALIZED = 4,
	OMX_NO_DEVICE_FILE = 5, /* no usable board is configured */
	OMX_NO_DRIVER = 6,
	OMX_ACCESS_DENIED = 7,
	OMX_BOARD_NOT_FOUND = 8,
	OMX_BAD_ENDPOINT = 9,
	OMX_SEGMENTS_BAD_COUNT = 12,
	OMX_BAD_REQUEST = 13,
	OMX_BAD_MATCH_MASK = 14,
	OMX_NO_RESOURCES = 15,
	OMX_BUSY = 20,
	OMX_BAD_INFO_KEY = 21,
	OMX_BAD_INFO_ADDRESS = 22,
	OMX_ENDPOINT_PARAMS_BAD_LIST = 24,
	OMX_ENDPOINT_PARAM_BAD_KEY = 25,
	OMX_ENDPOINT_PARAM_BAD_VALUE = 26,
	OMX_PEER_NOT_FOUND = 28,
	OMX_TIMEOUT = 30,
	OMX_REMOTE_ENDPOINT_BAD_ID = 32,
	OMX_REMOTE_ENDPOINT_CLOSED = 33,
	OMX_REMOTE_ENDPOINT_BAD_CONNECTION_KEY = 34,
	OMX_BAD_INFO_LENGTH = 35,
	OMX_NIC_ID_NOT_FOUND = 36,
	OMX_BAD_KERNEL_ABI = 37,
	OMX_BAD_LIB_ABI = 38,
	OMX_BAD_MATCHING_FOR_CONTEXT_ID_MASK = 42,
	OMX_CANCELLED = 90, /* by omx_cancel_notest */
	OMX_REMOTE_RDMA_WINDOW_BAD_ID = 91, /* the announced message vanished at the peer */
	OMX_REMOTE_ENDPOINT_UNREACHABLE = 92,
	OMX_REMOTE_ENDPOINT_BAD_SESSION = 93, /* closed and opened again since the connect */
	OMX_MESSAGE_ABORTED = 94,
	OMX_MESSAGE_TRUNCATED = 95,
	OMX_NOT_SUPPORTED_IN_HANDLER = 96,
	OMX_NO_SYSTEM_RESOURCES = 97,
	OMX_NOT_IMPLEMENTED = 99,
	OMX_RETURN_CODE_MAX = 100 /* end mark, no code */
};
typedef enum omx_return_code omx_return_t;

/* Endpoint parameters; twin of mx_param_key_t. */
enum omx_endpoint_param_key {
	OMX_ENDPOINT_PARAM_ERROR_HANDLER = 0,
	OMX_ENDPOINT_PARAM_UNEXP_QUEUE_MAX = 1,
	OMX_ENDPOINT_PARAM_CONTEXT_ID = 2
};
typedef enum omx_endpoint_param_key omx_endpoint_param_key_t;

/* Return values of an unexpected handler; twin of mx_unexp_handler_action_t. */
enum omx_unexp_handler_action {
	OMX_UNEXP_HANDLER_RECV_CONTINUE = 0,
	OMX_UNEXP_HANDLER_RECV_FINISHED = 1
};
typedef enum omx_unexp_handler_action omx_unexp_handler_action_t;

/* Keys of omx_get_info: "input -> output". A board or counter is given as one uint8_t. */
enum omx_info_key {
	OMX_INFO_BOARD_MAX = 0, /* -> uint32_t */
	OMX_INFO_ENDPOINT_MAX = 1, /* -> uint32_t, for each board */
	OMX_INFO_BOARD_COUNT = 2, /* -> uint32_t, local boards */
	OMX_INFO_BOARD_IDS = 3, /* -> uint64_t[], NIC ids in board order; 0 ends it if there is room */
	OMX_INFO_BOARD_HOSTNAME = 4, /* board -> string */
	OMX_INFO_BOARD_IFACENAME = 5, /* board -> string */
	OMX_INFO_BOARD_NUMA_NODE = 6, /* board -> uint32_t, 0xffffffff: unknown */
	OMX_INFO_COUNTER_MAX = 7, /* -> uint32_t, number of counters */
	OMX_INFO_COUNTER_VALUES = 8, /* board -> uint32_t[] */
	OMX_INFO_COUNTER_LABEL = 9 /* counter -> string */
};
typedef enum omx_info_key omx_info_key_t;

/* Twins of mx_endpoint_t, mx_request_t, mx_endpoint_addr_t, mx_segment_t. */
typedef struct omx_endpoint *omx_endpoint_t;
typedef union omx_request *omx_request_t;

typedef struct {
	uint64_t stuff[2];
} omx_endpoint_addr_t;

typedef struct {
	void *ptr;
	uint32_t len; /* bytes */
} omx_seg_t;

/* Twin of mx_status_t. */
typedef struct omx_status {
	omx_return_t code;
	omx_endpoint_addr_t addr;
	uint64_t match_info;
	uint32_t msg_length; /* bytes */
	uint32_t xfer_length; /* bytes */
	void *context;
} omx_status_t;

/* Twins of mx_error_handler_t and mx_unexp_handler_t. */
typedef omx_return_t (*omx_error_handler_t)(const char *str, omx_return_t ret);
typedef omx_unexp_handler_action_t (*omx_unexp_handler_t)(void *context, omx_endpoint_addr_t source,
							  uint64_t match_info, uint32_t msg_length,
							  void *data_if_available);

/* Twin of mx_param_t. */
typedef struct {
	omx_endpoint_param_key_t key;
	union {
		omx_error_handler_t error_handler;
		uint32_t unexp_queue_max;
		struct {
			uint8_t bits;
			uint8_t shift;
		} context_id;
	} val;
} omx_endpoint_param_t;

/* The predefined error handlers: equal to those of myriexpress.h. */
extern const omx_error_handler_t OMX_ERRORS_ARE_FATAL;
extern const omx_error_handler_t OMX_ERRORS_RETURN;

/* -------------------------------------------------------------------------- library ---- */

/* Twin of mx__init_api; `api` is OMX_API: use omx_init(). */
omx_return_t omx__init_api(int api);

/* Twin of mx_init. */
#if defined(__GNUC__)
static __inline__ __attribute__((unused)) omx_return_t omx_init(void)
#elif defined(__cplusplus)
inline omx_return_t omx_init(void)
#else
static omx_return_t omx_init(void)
#endif
{
	return omx__init_api(OMX_API);
}

/* Twin of mx_finalize. */
omx_return_t omx_finalize(void);

/*
 * Installs the error handler of an endpoint, or, with `ep` NULL, the global one, and returns the
 * previous one (NULL: the endpoint had none of its own, or `ep` is not open). A NULL handler
 * restores the default, for an endpoint the global one.
 */
omx_error_handler_t omx_set_error_handler(omx_endpoint_t ep, omx_error_handler_t handler);

/* Static text of a code: any value, never NULL, at any time. */
const char *omx_strerror(omx_return_t code);

/* Reads one fact; twin of mx_get_info with other keys, see enum omx_info_key. Spec 10.1. */
omx_return_t omx_get_info(omx_endpoint_t ep, enum omx_info_key key, const void *in_val,
			  uint32_t in_len, void *out_val, uint32_t out_len);

/* ------------------------------------------------------------------------ endpoints ---- */

/* Twin of mx_open_endpoint. */
omx_return_t omx_open_endpoint(uint32_t board_index, uint32_t endpoint_index, uint32_t key,
			       omx_endpoint_param_t *param_array, uint32_t param_count,
			       omx_endpoint_t *ep);

/* Twin of mx_close_endpoint; inside a handler OMX_NOT_SUPPORTED_IN_HANDLER. */
omx_return_t omx_close_endpoint(omx_endpoint_t ep);

/* Twin of mx_wakeup. */
omx_return_t omx_wakeup(omx_endpoint_t ep);

/* Twin of mx_progress. */
omx_return_t omx_progress(omx_endpoint_t ep);

/* Twins of mx_disable_progression and mx_reenable_progression. */
omx_return_t omx_disable_progression(omx_endpoint_t ep);
omx_return_t omx_reenable_progression(omx_endpoint_t ep);

/* ------------------------------------------------------------------------ addresses ---- */

/* Twin of mx_get_endpoint_addr. */
omx_return_t omx_get_endpoint_addr(omx_endpoint_t ep, omx_endpoint_addr_t *addr);

/* Twin of mx_decompose_endpoint_addr. */
omx_return_t omx_decompose_endpoint_addr(omx_endpoint_addr_t addr, uint64_t *nic_id,
					 uint32_t *endpoint_index);

/* Twin of mx_decompose_endpoint_addr2. */
omx_return_t omx_decompose_endpoint_addr_with_session(omx_endpoint_addr_t addr, uint64_t *nic_id,
						      uint32_t *endpoint_index,
						      uint32_t *session_id);

/* Twins of mx_set_endpoint_addr_context and mx_get_endpoint_addr_context. */
omx_return_t omx_set_endpoint_addr_context(omx_endpoint_addr_t addr, void *context);
omx_return_t omx_get_endpoint_addr_context(omx_endpoint_addr_t addr, void **context);

/* Twins of mx_hostname_to_nic_id, mx_nic_id_to_hostname (OMX_HOSTNAMELEN_MAX bytes). */
omx_return_t omx_hostname_to_nic_id(char *hostname, uint64_t *nic_id);
omx_return_t omx_nic_id_to_hostname(uint64_t nic_id, char *hostname);

/* Twins of mx_board_number_to_nic_id and mx_nic_id_to_board_number. */
omx_return_t omx_board_number_to_nic_id(uint32_t board, uint64_t *nic_id);
omx_return_t omx_nic_id_to_board_number(uint64_t nic_id, uint32_t *board);

/* Twin of mx_connect; timeout 0: gives up after a millisecond. */
omx_return_t omx_connect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			 uint32_t timeout, omx_endpoint_addr_t *addr);

/* Twin of mx_iconnect. */
omx_return_t omx_iconnect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			  uint64_t match_info, void *context, omx_request_t *request);

/* Twin of mx_disconnect. */
omx_return_t omx_disconnect(omx_endpoint_t ep, omx_endpoint_addr_t addr);

/* ------------------------------------------------------------- sending and receiving ---- */

/*
 * mx_isend, mx_issend, mx_irecv of one piece of memory, `length` bytes at most 2^32 - 1 (more:
 * OMX_SEGMENTS_BAD_COUNT).
 */
omx_return_t omx_isend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
		       uint64_t match_info, void *context, omx_request_t *request);
omx_return_t omx_issend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
			uint64_t match_info, void *context, omx_request_t *request);
omx_return_t omx_irecv(omx_endpoint_t ep, void *buffer, size_t length, uint64_t match_info,
		       uint64_t match_mask, void *context, omx_request_t *request);

/* Twins of mx_isend, mx_issend, mx_irecv. */
omx_return_t omx_isendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, omx_endpoint_addr_t dest,
			uint64_t match_info, void *context, omx_request_t *request);
omx_return_t omx_issendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg,
			 omx_endpoint_addr_t dest, uint64_t match_info, void *context,
			 omx_request_t *request);
omx_return_t omx_irecvv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, uint64_t match_info,
			uint64_t match_mask, void *context, omx_request_t *request);

/* ----------------------------------------------------------------------- completion ---- */

/* Twin of mx_test. */
omx_return_t omx_test(omx_endpoint_t ep, omx_request_t *request, omx_status_t *status,
		      uint32_t *result);

/* Twin of mx_wait. */
omx_return_t omx_wait(omx_endpoint_t ep, omx_request_t *request, omx_status_t *status,
		      uint32_t *result, uint32_t timeout);

/* Twin of mx_test_any. */
omx_return_t omx_test_any(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask,
			  omx_status_t *status, uint32_t *result);

/* Twin of mx_wait_any. */
omx_return_t omx_wait_any(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask,
			  omx_status_t *status, uint32_t *result, uint32_t timeout);

/* Twin of mx_ipeek. */
omx_return_t omx_ipeek(omx_endpoint_t ep, omx_request_t *request, uint32_t *result);

/* Twin of mx_peek. */
omx_return_t omx_peek(omx_endpoint_t ep, omx_request_t *request, uint32_t *result,
		      uint32_t timeout);

/* Twin of mx_iprobe. */
omx_return_t omx_iprobe(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask,
			omx_status_t *status, uint32_t *result);

/* Twin of mx_probe. */
omx_return_t omx_probe(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask,
		       omx_status_t *status, uint32_t *result, uint32_t timeout);

/* Twin of mx_ibuffered. */
omx_return_t omx_ibuffered(omx_endpoint_t ep, omx_request_t *request, uint32_t *result);

/* Twin of mx_context. */
omx_return_t omx_context(omx_request_t *request, void **context);

/* Twin of mx_cancel; a send: OMX_BAD_REQUEST. */
omx_return_t omx_cancel(omx_endpoint_t ep, omx_request_t *request, uint32_t *result);

/*
 * Like omx_cancel, but with result 1 the request completes with OMX_CANCELLED and must be tested
 * (the name suggests the reverse). Errors: OMX_BAD_REQUEST.
 */
omx_return_t omx_cancel_notest(omx_endpoint_t ep, omx_request_t *request, uint32_t *result);

/* Twin of mx_forget. */
omx_return_t omx_forget(omx_endpoint_t ep, omx_request_t *request);

/* Twin of mx_set_request_timeout. */
omx_return_t omx_set_request_timeout(omx_endpoint_t ep, omx_request_t request,
				     uint32_t milli_seconds);

/* Twin of mx_register_unexp_handler. */
omx_return_t omx_register_unexp_handler(omx_endpoint_t ep, omx_unexp_handler_t handler,
					void *context);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* OPEN_MX_H */

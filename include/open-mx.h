/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The Open-MX programming interface (level 0x301), a second layer over the same library: a
 * handle of one layer may be used with the other. Types are laid out as their twins of
 * myriexpress.h.
 *
 * The rules of myriexpress.h on errors, threads and memory hold, with three differences: one
 * list of codes for calls and for statuses; the timeout is the last argument; and 0 means "do
 * not wait", OMX_TIMEOUT_INFINITE for ever. A call whose comment names its MX twin does what
 * that does, with the differences that follow. "Spec n" as in myriexpress.h; this layer is
 * section 10.
 *
 * - Returns. OMX_SUCCESS, or what the error handler returned.
 * - timeout: milliseconds to wait; 0 does not wait, OMX_TIMEOUT_INFINITE waits for ever. It is
 *   no error that the time passed, or that omx_wakeup ended the sleep: the call succeeds with
 *   result 0.
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

/* Level of this interface, for omx__init_api. */
#define OMX_API 0x301

#define OMX_ANY_NIC 0xffffffffU /* omx_open_endpoint: any board */
#define OMX_ANY_ENDPOINT 0xffffffffU /* omx_open_endpoint: any number */
#define OMX_TIMEOUT_INFINITE 0xffffffffU /* MX_INFINITE: the timeout "for ever" */
#define OMX_HOSTNAMELEN_MAX 80 /* MX_MAX_HOSTNAME_LEN: with the final NUL */
#define OMX_BOARD_ADDR_STRLEN 18 /* "00:11:22:33:44:55" with the final NUL */

/*
 * Results of a call, and of a request. Below 90 the numbers are those of mx_return_t. A comment
 * that begins with a name of myriexpress.h tells the twin. Spec 10.2.
 */
enum omx_return_code {
	OMX_SUCCESS = 0, /* the call or the operation succeeded */
	OMX_BAD_ERROR = 1, /* unclassified internal failure */
	OMX_ALREADY_INITIALIZED = 3, /* second omx_init */
	OMX_NOT_INITIALIZED = 4, /* before omx_init, or after omx_finalize */
	OMX_NO_DEVICE_FILE = 5, /* no usable board is configured */
	OMX_NO_DRIVER = 6, /* the service behind the library is not there */
	OMX_ACCESS_DENIED = 7, /* permission refused */
	OMX_BOARD_NOT_FOUND = 8, /* no such local board */
	OMX_BAD_ENDPOINT = 9, /* handle invalid or closed */
	OMX_SEGMENTS_BAD_COUNT = 12, /* MX_BAD_SEG_LIST: too many segments or bytes, or no list */
	OMX_BAD_REQUEST = 13, /* MX_CANCEL_NOT_SUPPORTED: request invalid, or of a wrong kind */
	OMX_BAD_MATCH_MASK = 14, /* match info has bits outside its mask */
	OMX_NO_RESOURCES = 15, /* MX_STATUS_NO_RESOURCES: memory or a table is exhausted, here or at the peer */
	OMX_BUSY = 20, /* endpoint number open already, or all of them are */
	OMX_BAD_INFO_KEY = 21, /* unknown key of omx_get_info */
	OMX_BAD_INFO_ADDRESS = 22, /* bad input or output pointer of omx_get_info */
	OMX_ENDPOINT_PARAMS_BAD_LIST = 24, /* parameter list NULL, count not 0 */
	OMX_ENDPOINT_PARAM_BAD_KEY = 25, /* unknown parameter key */
	OMX_ENDPOINT_PARAM_BAD_VALUE = 26, /* parameter out of range */
	OMX_PEER_NOT_FOUND = 28, /* name or NIC id not in the peer table */
	OMX_TIMEOUT = 30, /* MX_STATUS_TIMEOUT: a limit passed, of omx_connect or a request; or woken */
	OMX_REMOTE_ENDPOINT_BAD_ID = 32, /* MX_STATUS_BAD_ENDPOINT: remote endpoint number out of range */
	OMX_REMOTE_ENDPOINT_CLOSED = 33, /* MX_STATUS_ENDPOINT_CLOSED: nobody has it open */
	OMX_REMOTE_ENDPOINT_BAD_CONNECTION_KEY = 34, /* MX_STATUS_BAD_KEY: the keys of the two sides differ */
	OMX_BAD_INFO_LENGTH = 35, /* output buffer too small */
	OMX_NIC_ID_NOT_FOUND = 36, /* connect to a NIC id that is not in the peer table */
	OMX_BAD_KERNEL_ABI = 37, /* service older than the library */
	OMX_BAD_LIB_ABI = 38, /* application and library, or library and service, differ */
	OMX_BAD_MATCHING_FOR_CONTEXT_ID_MASK = 42, /* mask hides context id bits */
	OMX_CANCELLED = 90, /* MX_STATUS_CANCELLED: by omx_cancel_notest */
	OMX_REMOTE_RDMA_WINDOW_BAD_ID = 91, /* MX_STATUS_BAD_RDMAWIN: the announced message vanished at the peer */
	OMX_REMOTE_ENDPOINT_UNREACHABLE = 92, /* MX_STATUS_ENDPOINT_UNREACHABLE: no answer, or disconnected */
	OMX_REMOTE_ENDPOINT_BAD_SESSION = 93, /* MX_STATUS_BAD_SESSION: reopened since the connect */
	OMX_MESSAGE_ABORTED = 94, /* MX_STATUS_ABORTED: memory of the transfer cannot be read or written */
	OMX_MESSAGE_TRUNCATED = 95, /* MX_STATUS_TRUNCATED: the receive buffer is smaller than the message */
	OMX_NOT_SUPPORTED_IN_HANDLER = 96, /* MX_CLOSE_IN_HANDLER: inside the unexpected handler */
	OMX_NO_SYSTEM_RESOURCES = 97, /* never produced */
	OMX_NOT_IMPLEMENTED = 99, /* never produced */
	OMX_RETURN_CODE_MAX = 100 /* end mark, no code */
};
typedef enum omx_return_code omx_return_t;

/* Keys of endpoint parameters. Twin of mx_param_key_t. */
enum omx_endpoint_param_key {
	OMX_ENDPOINT_PARAM_ERROR_HANDLER = 0, /* val.error_handler: handler of this endpoint */
	OMX_ENDPOINT_PARAM_UNEXP_QUEUE_MAX = 1, /* val.unexp_queue_max: bytes of unexpected messages */
	OMX_ENDPOINT_PARAM_CONTEXT_ID = 2 /* val.context_id: which match bits are a context id */
};
typedef enum omx_endpoint_param_key omx_endpoint_param_key_t;

/* Return values of an unexpected handler. Twin of mx_unexp_handler_action_t. */
enum omx_unexp_handler_action {
	OMX_UNEXP_HANDLER_RECV_CONTINUE = 0, /* match against posted receives again, else queue it */
	OMX_UNEXP_HANDLER_RECV_FINISHED = 1 /* the message is consumed */
};
typedef enum omx_unexp_handler_action omx_unexp_handler_action_t;

/*
 * Keys of omx_get_info, with "input -> output". A board or a counter is given as one uint8_t.
 * Spec 10.1.
 */
enum omx_info_key {
	OMX_INFO_BOARD_MAX = 0, /* -> uint32_t, most boards of a host */
	OMX_INFO_ENDPOINT_MAX = 1, /* -> uint32_t, for each board */
	OMX_INFO_BOARD_COUNT = 2, /* -> uint32_t, local boards */
	OMX_INFO_BOARD_IDS = 3, /* -> uint64_t[], NIC ids in board order; 0 ends it if there is room */
	OMX_INFO_BOARD_HOSTNAME = 4, /* board -> string, name of the board */
	OMX_INFO_BOARD_IFACENAME = 5, /* board -> string, name of its interface */
	OMX_INFO_BOARD_NUMA_NODE = 6, /* board -> uint32_t, 0xffffffff: unknown */
	OMX_INFO_COUNTER_MAX = 7, /* -> uint32_t, number of counters */
	OMX_INFO_COUNTER_VALUES = 8, /* board -> uint32_t[] */
	OMX_INFO_COUNTER_LABEL = 9 /* counter -> string */
};
typedef enum omx_info_key omx_info_key_t;

/*
 * Handles of an open endpoint and of a pending operation. Twins of mx_endpoint_t and
 * mx_request_t.
 */
typedef struct omx_endpoint *omx_endpoint_t;
typedef union omx_request *omx_request_t;

/* A remote endpoint as one local endpoint sees it. Twin of mx_endpoint_addr_t. */
typedef struct {
	uint64_t stuff[2]; /* opaque */
} omx_endpoint_addr_t;

/* A piece of a message. Twin of mx_segment_t. */
typedef struct {
	void *ptr; /* its start */
	uint32_t len; /* bytes */
} omx_seg_t;

/* Result of an operation. Twin of mx_status_t. */
typedef struct omx_status {
	omx_return_t code; /* the outcome */
	omx_endpoint_addr_t addr; /* sender, or destination of a send; usable as destination */
	uint64_t match_info; /* of the message, all 64 bits */
	uint32_t msg_length; /* bytes sent */
	uint32_t xfer_length; /* bytes delivered */
	void *context; /* given when the request was posted */
} omx_status_t;

/*
 * Error handler of the program. Twin of mx_error_handler_t. It gets codes of this layer.
 * - str: the error in words, valid during the call.
 * - ret: its code.
 * Returns: The result of the call that failed.
 */
typedef omx_return_t (*omx_error_handler_t)(const char *str, omx_return_t ret);

/*
 * Unexpected handler of the program. Twin of mx_unexp_handler_t.
 * - context: as registered.
 * - source: address of the sender, to which one may reply.
 * - match_info: label of the message.
 * - msg_length: length of the whole message in bytes.
 * - data_if_available: the whole data, valid during the call, of an eager message that fits one
 *   packet; else NULL.
 * Returns: OMX_UNEXP_HANDLER_RECV_CONTINUE or OMX_UNEXP_HANDLER_RECV_FINISHED.
 */
typedef omx_unexp_handler_action_t (*omx_unexp_handler_t)(void *context, omx_endpoint_addr_t source,
							  uint64_t match_info, uint32_t msg_length,
							  void *data_if_available);

/* One endpoint parameter; of equal keys the last wins. Twin of mx_param_t. */
typedef struct {
	omx_endpoint_param_key_t key; /* which member of val is meant */
	union {
		omx_error_handler_t error_handler; /* errors of the endpoint go to it */
		uint32_t unexp_queue_max; /* bytes */
		struct {
			uint8_t bits; /* at most 16; 0: no context ids */
			uint8_t shift; /* at most 64 together with bits */
		} context_id;
	} val;
} omx_endpoint_param_t;

/*
 * The predefined error handlers: print and end the process (the default), or return the code.
 * They are equal to those of myriexpress.h.
 */
extern const omx_error_handler_t OMX_ERRORS_ARE_FATAL;
extern const omx_error_handler_t OMX_ERRORS_RETURN;

/* -------------------------------------------------------------------------- library ---- */

/*
 * Twin of mx__init_api.
 * - api: OMX_API.
 */
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
 * Installs the error handler of an endpoint, or the global one.
 * - ep: an open endpoint; NULL: the global handler is meant, also before omx_init.
 * - handler: OMX_ERRORS_ARE_FATAL, OMX_ERRORS_RETURN or a function of the program. NULL
 *   restores the default, for an endpoint the global handler.
 * Returns: The handler before; NULL if the endpoint had none of its own, or is not open.
 * Errors: none.
 */
omx_error_handler_t omx_set_error_handler(omx_endpoint_t ep, omx_error_handler_t handler);

/*
 * Words a code, of a call or of a status.
 * - code: any value.
 * Returns: A static text, never NULL. May be called before omx_init.
 * Errors: none.
 */
const char *omx_strerror(omx_return_t code);

/*
 * Reads one fact about the library or a board. Input and output of each key stand at
 * omx_info_key_t. Strings are cut to fit and terminated. Does not block.
 * - ep: NULL, or an open endpoint, whose board is meant when `in_val` is NULL.
 * - key: the fact.
 * - in_val: the input of the key, the number of a board or counter as uint8_t; a board also as
 *   uint32_t. NULL for keys without input.
 * - in_len: bytes of the input.
 * - out_val: place for the answer, of the caller.
 * - out_len: bytes of that place.
 * Errors: OMX_BAD_INFO_KEY, OMX_BAD_INFO_ADDRESS, OMX_BAD_INFO_LENGTH, OMX_BOARD_NOT_FOUND,
 *   OMX_BAD_ENDPOINT, OMX_NOT_INITIALIZED.
 * Spec 10.1.
 */
omx_return_t omx_get_info(omx_endpoint_t ep, enum omx_info_key key, const void *in_val,
			  uint32_t in_len, void *out_val, uint32_t out_len);

/* ------------------------------------------------------------------------ endpoints ---- */

/* Twin of mx_open_endpoint. */
omx_return_t omx_open_endpoint(uint32_t board_index, uint32_t endpoint_index, uint32_t key,
			       omx_endpoint_param_t *param_array, uint32_t param_count,
			       omx_endpoint_t *ep);

/* Twin of mx_close_endpoint. */
omx_return_t omx_close_endpoint(omx_endpoint_t ep);

/* Twin of mx_wakeup. */
omx_return_t omx_wakeup(omx_endpoint_t ep);

/* Twin of mx_progress. */
omx_return_t omx_progress(omx_endpoint_t ep);

/* Twin of mx_disable_progression. */
omx_return_t omx_disable_progression(omx_endpoint_t ep);

/* Twin of mx_reenable_progression. */
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

/* Twin of mx_set_endpoint_addr_context. */
omx_return_t omx_set_endpoint_addr_context(omx_endpoint_addr_t addr, void *context);

/* Twin of mx_get_endpoint_addr_context. */
omx_return_t omx_get_endpoint_addr_context(omx_endpoint_addr_t addr, void **context);

/* Twin of mx_hostname_to_nic_id. */
omx_return_t omx_hostname_to_nic_id(char *hostname, uint64_t *nic_id);

/* Twin of mx_nic_id_to_hostname. */
omx_return_t omx_nic_id_to_hostname(uint64_t nic_id, char *hostname);

/* Twin of mx_board_number_to_nic_id. */
omx_return_t omx_board_number_to_nic_id(uint32_t board, uint64_t *nic_id);

/* Twin of mx_nic_id_to_board_number. */
omx_return_t omx_nic_id_to_board_number(uint64_t nic_id, uint32_t *board);

/*
 * Twin of mx_connect.
 * - timeout: milliseconds to wait; 0 gives up after one. OMX_TIMEOUT_INFINITE waits until the
 *   peer counts as unreachable.
 */
omx_return_t omx_connect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			 uint32_t timeout, omx_endpoint_addr_t *addr);

/* Twin of mx_iconnect. */
omx_return_t omx_iconnect(omx_endpoint_t ep, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			  uint64_t match_info, void *context, omx_request_t *request);

/* Twin of mx_disconnect. */
omx_return_t omx_disconnect(omx_endpoint_t ep, omx_endpoint_addr_t addr);

/* ------------------------------------------------------------- sending and receiving ---- */

/*
 * Like omx_isendv, but sends one piece of memory.
 * - buffer: the memory.
 * - length: its bytes; with more than 2^32 - 1 the call fails with OMX_SEGMENTS_BAD_COUNT.
 */
omx_return_t omx_isend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
		       uint64_t match_info, void *context, omx_request_t *request);

/*
 * Like omx_issendv, but sends one piece of memory.
 * - buffer: the memory.
 * - length: its bytes; with more than 2^32 - 1 the call fails with OMX_SEGMENTS_BAD_COUNT.
 */
omx_return_t omx_issend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
			uint64_t match_info, void *context, omx_request_t *request);

/*
 * Like omx_irecvv, but receives into one piece of memory.
 * - buffer: the memory.
 * - length: its bytes; with more than 2^32 - 1 the call fails with OMX_SEGMENTS_BAD_COUNT.
 */
omx_return_t omx_irecv(omx_endpoint_t ep, void *buffer, size_t length, uint64_t match_info,
		       uint64_t match_mask, void *context, omx_request_t *request);

/* Twin of mx_isend. */
omx_return_t omx_isendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, omx_endpoint_addr_t dest,
			uint64_t match_info, void *context, omx_request_t *request);

/* Twin of mx_issend. */
omx_return_t omx_issendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg,
			 omx_endpoint_addr_t dest, uint64_t match_info, void *context,
			 omx_request_t *request);

/* Twin of mx_irecv. */
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

/*
 * Twin of mx_cancel. A send, which cannot be cancelled and goes on, is refused by
 * OMX_BAD_REQUEST.
 */
omx_return_t omx_cancel(omx_endpoint_t ep, omx_request_t *request, uint32_t *result);

/*
 * Like omx_cancel, but with result 1 the request completes with OMX_CANCELLED and must be
 * tested. The name suggests the reverse.
 * - request: place of the request's handle, which is left alone.
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MX programming interface (level 0x301): types, constants, and the main calls.
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 * - Errors. A call that fails passes a text and its code to the error handler in force (the
 *   endpoint's own one, else the global one) and returns what that handler returns. The default
 *   handler prints the text and ends the process. MX_NOT_INITIALIZED, and MX_BAD_ENDPOINT where
 *   the call takes an endpoint, are possible everywhere and not repeated.
 * - Threads. Every call may be made by any thread at any time. Two threads must not complete the
 *   same request. Blocking calls hold no lock while they sleep.
 * - Time. Timeouts are milliseconds; MX_INFINITE (0) waits for ever. That a time passed is not an
 *   error: the call succeeds with *result = 0 (mx_connect alone returns MX_TIMEOUT).
 * - Results. *result is 1 or 0. With 0, or on an error, *status is left alone.
 * - Memory. Pointers are read and written during the call only. The one exception is message
 *   data: it belongs to the library from the posting call until the request completed, or until
 *   mx_ibuffered says 1. The segment array itself is read during the posting call only.
 *
 * "Spec n" names a section of the interface specification that docs/man/ethermx.7 sums up.
 */
#ifndef MYRIEXPRESS_H
#define MYRIEXPRESS_H

#include <stddef.h> /* NULL: arguments of callers may be it */
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Level of this interface: high byte incompatible generation, low byte additions. Spec 1.7. */
#define MX_API 0x301

/* ------------------------------------------------------------------ constants, spec 1.6 ---- */

#define MX_MAX_STR_LEN 128 /* stride of counter labels, bytes */
#define MX_MAX_HOSTNAME_LEN 80 /* with the final NUL */
#define MX_SIZEOF_ADDR 16 /* of an endpoint address, bytes */
#define MX_MAX_SEGMENTS 256 /* of one message */
#define MX_CONTEXT_ID_BITS_MAX 16

#define MX_ANY_NIC 0xffffffffU
#define MX_ANY_ENDPOINT 0xffffffffU

#define MX_INFINITE 0 /* the timeout "for ever" */

#define MX_MATCH_MASK_NONE (~(uint64_t)0) /* no wildcard: compare all 64 bits */

/* Upper and lower half of a 64-bit value, for printing. */
#define MX_U32(x) ((uint32_t)(sizeof(x) == 8 ? ((uint64_t)(x)) >> 32 : 0))
#define MX_L32(x) ((uint32_t)((uint64_t)(x) & 0xffffffffU))

/* Tells that the info keys MX_NET_TYPE and MX_LINE_SPEED exist. */
#define MX_HAS_NET_TYPE

/* Return codes. Codes marked "own use" are never produced by the library. */
enum mx_return_code {
	MX_SUCCESS = 0,
	MX_BAD_BAD_BAD = 1, /* unclassified internal failure */
	MX_FAILURE = 2, /* generic failure */
	MX_ALREADY_INITIALIZED = 3, /* second mx_init */
	MX_NOT_INITIALIZED = 4, /* before mx_init, or after mx_finalize */
	MX_NO_DEV = 5, /* no usable board is configured */
	MX_NO_DRIVER = 6, /* the service behind the library is not there */
	MX_NO_PERM = 7, /* permission refused */
	MX_BOARD_UNKNOWN = 8, /* no such local board */
	MX_BAD_ENDPOINT = 9, /* handle invalid or closed */
	MX_BAD_SEG_LIST = 10, /* segment list NULL, count not 0 */
	MX_BAD_SEG_MEM = 11, /* unusable memory in a segment */
	MX_BAD_SEG_CNT = 12, /* more than MX_MAX_SEGMENTS */
	MX_BAD_REQUEST = 13, /* request invalid, or of a kind the call does not accept */
	MX_BAD_MATCH_MASK = 14, /* match info has bits outside its mask */
	MX_NO_RESOURCES = 15, /* memory or a table is exhausted */
	MX_BAD_ADDR_LIST = 16, /* own use */
	MX_BAD_ADDR_COUNT = 17, /* own use */
	MX_BAD_ROOT = 18, /* own use */
	MX_NOT_COMPLETED = 19, /* own use */
	MX_BUSY = 20, /* endpoint number open already, or all of them are */
	MX_BAD_INFO_KEY = 21, /* unknown key of mx_get_info */
	MX_BAD_INFO_VAL = 22, /* bad input or output pointer of mx_get_info */
	MX_BAD_NIC = 23, /* own use */
	MX_BAD_PARAM_LIST = 24, /* parameter list NULL, count not 0 */
	MX_BAD_PARAM_NAME = 25, /* unknown parameter key */
	MX_BAD_PARAM_VAL = 26, /* parameter out of range */
	MX_BAD_HOSTNAME_ARGS = 27, /* NULL argument of a name call */
	MX_HOST_NOT_FOUND = 28, /* name or NIC id not in the peer table */
	MX_REQUEST_PENDING = 29, /* own use */
	MX_TIMEOUT = 30, /* mx_connect was not finished in time, or was woken */
	MX_NO_MATCH = 31, /* own use */
	MX_BAD_ENDPOINT_ID = 32, /* remote endpoint number out of range */
	MX_CONNECTION_FAILED = 33, /* nobody has that remote endpoint open */
	MX_BAD_CONNECTION_KEY = 34, /* the keys of the two sides differ */
	MX_BAD_INFO_LENGTH = 35, /* output buffer too small */
	MX_NIC_NOT_FOUND = 36, /* connect to a NIC id that is not in the peer table */
	MX_BAD_KERNEL_VERSION = 37, /* service older than the library */
	MX_BAD_LIB_VERSION = 38, /* application and library, or library and service, differ */
	MX_NIC_DEAD = 39, /* the interface failed */
	MX_CANCEL_NOT_SUPPORTED = 40, /* sends cannot be cancelled */
	MX_CLOSE_IN_HANDLER = 41, /* mx_close_endpoint inside the unexpected handler */
	MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK = 42, /* mask hides context id bits */
	MX_NOT_SUPPORTED_WITH_CONTEXT_ID = 43, /* own use */
	MX_RETURN_CODE_END = 100 /* end mark, no code: error handlers see numbers of open-mx.h, too */
};
typedef enum mx_return_code mx_return_t;

/* Outcomes of an operation: mx_status_t.code. */
enum mx_status_code {
	MX_STATUS_SUCCESS = 0,
	MX_STATUS_PENDING = 1, /* never reported */
	MX_STATUS_BUFFERED = 2, /* never reported */
	MX_STATUS_REJECTED = 3, /* never reported */
	MX_STATUS_TIMEOUT = 4, /* the request's own time limit passed */
	MX_STATUS_TRUNCATED = 5, /* the receive buffer is smaller than the message */
	MX_STATUS_CANCELLED = 6, /* omx_cancel_notest only */
	MX_STATUS_ENDPOINT_UNKNOWN = 7, /* never reported */
	MX_STATUS_ENDPOINT_CLOSED = 8, /* the peer's host lives, its endpoint is not open */
	MX_STATUS_ENDPOINT_UNREACHABLE = 9, /* no answer for the whole limit, or disconnected */
	MX_STATUS_BAD_SESSION = 10, /* the peer was closed and opened again since the connect */
	MX_STATUS_BAD_KEY = 11, /* mx_iconnect with the wrong key */
	MX_STATUS_BAD_ENDPOINT = 12, /* remote endpoint number out of range */
	MX_STATUS_BAD_RDMAWIN = 13, /* the announced message vanished at the peer */
	MX_STATUS_ABORTED = 14, /* memory of the transfer cannot be read or written, here or there */
	MX_STATUS_EVENTQ_FULL = 15, /* never reported */
	MX_STATUS_NO_RESOURCES = 16 /* shortage here or at the peer */
};
typedef enum mx_status_code mx_status_code_t;

/* Endpoint parameters, see mx_param_t. */
enum mx_param_key {
	MX_PARAM_ERROR_HANDLER = 0, /* val.error_handler: handler of this endpoint */
	MX_PARAM_UNEXP_QUEUE_MAX = 1, /* val.unexp_queue_max: bytes of unexpected messages; beyond, senders wait */
	MX_PARAM_CONTEXT_ID = 2 /* val.context_id: which match bits are a context id */
};
typedef enum mx_param_key mx_param_key_t;

/* Return values of an unexpected handler. */
enum mx_unexp_handler_action {
	MX_RECV_CONTINUE = 0, /* match against posted receives again, else queue it */
	MX_RECV_FINISHED = 1 /* the message is consumed */
};
typedef enum mx_unexp_handler_action mx_unexp_handler_action_t;

/* Values of the info key MX_LINE_SPEED. */
enum mx_line_speed {
	MX_SPEED_2G = 0,
	MX_SPEED_10G = 1,
	MX_SPEED_OPEN_MX = 2
};
typedef enum mx_line_speed mx_line_speed_t;

/* Values of the info key MX_NET_TYPE. */
enum mx_net_type {
	MX_NET_MYRI = 0,
	MX_NET_ETHER = 1
};
typedef enum mx_net_type mx_net_type_t;

/* Keys of mx_get_info: "input -> output". A board is a uint32_t board number. Spec 4. */
enum mx_get_info_key {
	MX_NIC_COUNT = 1, /* -> uint32_t, local boards */
	MX_NIC_IDS = 2, /* -> uint64_t[count + 1], in board order; 0 ends it if there is room */
	MX_MAX_NATIVE_ENDPOINTS = 3, /* -> uint32_t, endpoints per board */
	MX_NATIVE_REQUESTS = 4, /* -> uint32_t, outstanding requests; 0xffffffff: memory only */
	MX_COUNTERS_COUNT = 5, /* board -> uint32_t */
	MX_COUNTERS_LABELS = 6, /* board -> char[count][MX_MAX_STR_LEN] */
	MX_COUNTERS_VALUES = 7, /* board -> uint32_t[count] */
	MX_PRODUCT_CODE = 8, /* board -> string */
	MX_PART_NUMBER = 9, /* board -> string */
	MX_SERIAL_NUMBER = 10, /* board -> string */
	MX_PORT_COUNT = 11, /* board -> uint32_t */
	MX_PIO_SEND_MAX = 12, /* -> uint32_t, longest message of the small class, bytes */
	MX_COPY_SEND_MAX = 13, /* -> uint32_t, longest message that mx_isend copies, bytes */
	MX_NUMA_NODE = 14, /* board -> uint32_t, 0xffffffff: unknown */
	MX_NET_TYPE = 15, /* board -> uint32_t, enum mx_net_type */
	MX_LINE_SPEED = 16 /* board -> uint32_t, enum mx_line_speed */
};
typedef enum mx_get_info_key mx_get_info_key_t;

/* ------------------------------------------------------------- types, spec 1.5, 1.8, 1.9 ---- */

/* An open endpoint, and a pending operation. Opaque; a copy of a handle is as good as it. */
typedef struct mx_endpoint *mx_endpoint_t;
typedef union mx_request *mx_request_t;

/*
 * A remote endpoint as one local endpoint sees it. Opaque, meaningful in this process only, passed
 * by value; valid until the endpoint that produced it is closed. All zero is a harmless "nobody".
 */
typedef struct {
	uint64_t stuff[MX_SIZEOF_ADDR / 8];
} mx_endpoint_addr_t;

typedef void *mx_segment_ptr_t;

/* A piece of a message. Zero length is legal, with any pointer. */
typedef struct {
	mx_segment_ptr_t segment_ptr;
	uint32_t segment_length; /* bytes */
} mx_segment_t;

/* Result of an operation. */
typedef struct mx_status {
	mx_status_code_t code;
	mx_endpoint_addr_t source; /* sender, or destination of a send; usable as destination */
	uint64_t match_info; /* of the message, all 64 bits */
	uint32_t msg_length; /* bytes sent */
	uint32_t xfer_length; /* bytes delivered */
	void *context; /* given when the request was posted */
} mx_status_t;

/*
 * Error handler: gets a text (valid during the call) and a code, returns what the failing call
 * shall return. It may log or longjmp. For a request that failed, `ret` is the nearest
 * mx_return_t, or a code above 89 of open-mx.h; the request's status keeps its own code. Spec 2.1.
 */
typedef mx_return_t (*mx_error_handler_t)(char *str, mx_return_t ret);

/* Unexpected callback of the first interface level, see mx_register_unexp_callback. */
typedef void (*mx_matching_callback_t)(void *context, uint64_t match_value, int length);

/*
 * Unexpected handler, see mx_register_unexp_handler. `length` is the whole message;
 * `data_if_available` its data, valid during the call, of an eager message that fits one packet; else
 * NULL, as of synchronous ones. So it is for messages to oneself and within the host, too.
 */
typedef mx_unexp_handler_action_t (*mx_unexp_handler_t)(void *context, mx_endpoint_addr_t source,
							uint64_t match_value, uint32_t length,
							void *data_if_available);

/* One endpoint parameter; of equal keys the last wins. */
typedef struct {
	mx_param_key_t key;
	union {
		mx_error_handler_t error_handler;
		uint32_t unexp_queue_max;
		struct {
			uint8_t bits; /* at most MX_CONTEXT_ID_BITS_MAX; 0: no context ids */
			uint8_t shift; /* bits + shift at most 64 */
		} context_id;
	} val;
} mx_param_t;

/* The predefined error handlers: print and end the process (the default), or return the code. */
extern const mx_error_handler_t MX_ERRORS_ARE_FATAL;
extern const mx_error_handler_t MX_ERRORS_RETURN;

/* --------------------------------------------------------------- library, spec 2.6, 3.1 ---- */

/*
 * Attaches the process to the MX service and reads the environment. `api` is MX_API: use the
 * macro mx_init(). Does not block; opens nothing on the network. mx_finalize undoes it.
 * Errors: MX_ALREADY_INITIALIZED, MX_BAD_LIB_VERSION, MX_BAD_KERNEL_VERSION, MX_NO_DEV,
 * MX_NO_DRIVER, MX_NO_PERM, MX_NO_RESOURCES; after one of them it may be tried again.
 */
mx_return_t mx__init_api(int api);
#define mx_init() mx__init_api(MX_API)

/*
 * Closes what is open and detaches from the service; all handles are dead afterwards, mx_init may
 * follow again. No other thread may be inside a call. Errors: MX_NOT_INITIALIZED. Spec 2.6.
 */
mx_return_t mx_finalize(void);

/*
 * Installs the global error handler and returns the previous one. NULL restores the default. May
 * be called before mx_init, and stays in force over it. Never fails. Spec 2.1.
 */
mx_error_handler_t mx_set_error_handler(mx_error_handler_t handler);

/* Static text of a return code: any value, never NULL, at any time. Spec 3.1. */
const char *mx_strerror(mx_return_t code);

/* Static text of a status code: any value, never NULL, at any time. Spec 3.1. */
const char *mx_strstatus(mx_status_code_t code);

/*
 * Reads one fact. `in` and `out` are the caller's, lengths in bytes; what goes in and comes out
 * stands at enum mx_get_info_key. `endpoint` may be NULL; with `in` NULL its board is taken.
 * Strings are cut to fit and terminated. Does not block. Errors: MX_BAD_INFO_KEY, MX_BAD_INFO_VAL,
 * MX_BAD_INFO_LENGTH, MX_BOARD_UNKNOWN. Spec 4.
 */
mx_return_t mx_get_info(mx_endpoint_t endpoint, mx_get_info_key_t key, void *in_val,
			uint32_t in_len, void *out_val, uint32_t out_len);

/* ------------------------------------------------------------------ endpoints, spec 3.2 ---- */

/*
 * Opens endpoint `endpoint_id` (or MX_ANY_ENDPOINT: the lowest free one) on board `board_num` (or
 * MX_ANY_NIC) and stores its handle; mx_close_endpoint releases it. Peers must present the same
 * `key` when they connect. `params` may be NULL when `params_count` is 0. Does not block.
 * Errors: MX_BOARD_UNKNOWN, MX_BUSY, MX_BAD_ENDPOINT (number out of range), MX_BAD_PARAM_LIST,
 * MX_BAD_PARAM_NAME, MX_BAD_PARAM_VAL, MX_NO_RESOURCES, MX_NO_PERM; *endpoint is then NULL.
 */
mx_return_t mx_open_endpoint(uint32_t board_num, uint32_t endpoint_id, uint32_t key,
			     mx_param_t *params_array, uint32_t params_count,
			     mx_endpoint_t *endpoint);

/*
 * Delivers what was reported sent (for about a second at most), then releases the endpoint, its
 * requests and addresses. Pending requests vanish without completion; threads that are blocked on
 * the endpoint return with result 0. Errors: MX_CLOSE_IN_HANDLER.
 */
mx_return_t mx_close_endpoint(mx_endpoint_t endpoint);

/*
 * Ends the sleep of every thread that is blocked on the endpoint now: result 0, from mx_connect
 * MX_TIMEOUT. Not remembered for later calls. What was waited for stays pending. Does not block.
 */
mx_return_t mx_wakeup(mx_endpoint_t endpoint);

/*
 * From here on no incoming message is processed and no unexpected handler entered, by any thread;
 * waits for a handler that runs in another thread. Completed requests are still reported. A flag,
 * not a count. Inside the handler it does nothing.
 */
mx_return_t mx_disable_progression(mx_endpoint_t endpoint);

/* Undoes mx_disable_progression, and makes progress once. */
mx_return_t mx_reenable_progression(mx_endpoint_t endpoint);

/* -------------------------------------------------------------------- sending, spec 3.3 ---- */

/*
 * Sends the concatenation of `segments_count` segments with the label `match_info` to `dest_endpoint`,
 * and stores a request (NULL `request`: the operation is forgotten at once). Messages up to
 * MX_COPY_SEND_MAX bytes are copied during the call; longer ones stay the library's until the
 * request completes, which needs a matching receive. `context` comes back in the status. Does not
 * block. Errors: MX_NO_RESOURCES, MX_BAD_SEG_CNT, MX_BAD_SEG_LIST, MX_BAD_SEG_MEM; trouble on the
 * network shows in the status only.
 */
mx_return_t mx_isend(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		     mx_endpoint_addr_t dest_endpoint, uint64_t match_info, void *context,
		     mx_request_t *request);

/*
 * Like mx_isend, but the request does not complete before the receiver has matched the message (or
 * its unexpected handler consumed it), whatever its length.
 */
mx_return_t mx_issend(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		      mx_endpoint_addr_t dest_endpoint, uint64_t match_info, void *context,
		      mx_request_t *request);

/* ------------------------------------------------------------------ receiving, spec 3.4, 5 - */

/*
 * Posts a receive for a message m with (m & match_mask) == match_info, into the segments in order.
 * Receives are tried in posting order, messages in arrival order. A message that is longer than
 * the segments is cut: MX_STATUS_TRUNCATED. Does not block. Errors: MX_BAD_MATCH_MASK,
 * MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK, MX_NO_RESOURCES, MX_BAD_SEG_CNT, MX_BAD_SEG_LIST.
 */
mx_return_t mx_irecv(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		     uint64_t match_info, uint64_t match_mask, void *context,
		     mx_request_t *request);

/*
 * Looks for the earliest unexpected message that such a receive would get; does not consume it.
 * status->msg_length and xfer_length are its length. Does not block. Errors: MX_BAD_MATCH_MASK.
 * Spec 3.7.
 */
mx_return_t mx_iprobe(mx_endpoint_t endpoint, uint64_t match_info, uint64_t match_mask,
		      mx_status_t *status, uint32_t *result);

/* mx_iprobe that waits up to `timeout` ms. */
mx_return_t mx_probe(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match_info,
		     uint64_t match_mask, mx_status_t *status, uint32_t *result);

/* --------------------------------------------------------- completion, spec 3.5, 3.6, 3.8 ---- */

/*
 * Tests a request. A complete one fills *status, is freed, and *request becomes NULL. The call
 * succeeds even when the operation failed: see status->code. Does not block.
 * Errors: MX_BAD_REQUEST.
 */
mx_return_t mx_test(mx_endpoint_t endpoint, mx_request_t *request, mx_status_t *status,
		    uint32_t *result);

/* mx_test that waits up to `timeout` ms. */
mx_return_t mx_wait(mx_endpoint_t endpoint, mx_request_t *request, uint32_t timeout,
		    mx_status_t *status, uint32_t *result);

/*
 * Takes the request that completed first of those, of any kind, whose match bits m satisfy
 * (m & match_mask) == match_info; its handle is dead then, *status tells which it was. Does not
 * block. Errors: MX_BAD_MATCH_MASK.
 */
mx_return_t mx_test_any(mx_endpoint_t endpoint, uint64_t match_info, uint64_t match_mask,
			mx_status_t *status, uint32_t *result);

/* mx_test_any that waits up to `timeout` ms. */
mx_return_t mx_wait_any(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match_info,
			uint64_t match_mask, mx_status_t *status, uint32_t *result);

/*
 * Stores the handle of the request that completed first and is not taken yet; takes nothing, and
 * mx_test of it will say 1. Does not block.
 */
mx_return_t mx_ipeek(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* mx_ipeek that waits up to `timeout` ms. */
mx_return_t mx_peek(mx_endpoint_t endpoint, uint32_t timeout, mx_request_t *request,
		    uint32_t *result);

/* Stores the context of a live request, complete or not. Errors: MX_BAD_REQUEST. */
mx_return_t mx_context(mx_request_t *request, void **context);

/*
 * May the data of this send be overwritten? 1 from then on; takes nothing. Does not block.
 * A receive or a connect: MX_BAD_REQUEST, without a call of the error handler. Spec 6.
 */
mx_return_t mx_ibuffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* mx_ibuffered that waits up to `timeout` ms. */
mx_return_t mx_buffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t timeout,
			uint32_t *result);

/*
 * Takes back a receive that nothing matched yet, or a pending connect: result 1, *request NULL, no
 * completion. Result 0: too late, the request must be tested to its end. Does not block. Errors:
 * MX_CANCEL_NOT_SUPPORTED for a send, which goes on; MX_BAD_REQUEST.
 */
mx_return_t mx_cancel(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* ----------------------------------------------------- addresses and names, spec 3.9, 8 ---- */

/*
 * Connects to endpoint `endpoint_id` of the board with that NIC id and stores its address, which
 * is valid until `endpoint` is closed. Needed once before sending to somebody, unless the address
 * came from a status. Blocks up to `timeout` ms. Errors: MX_NIC_NOT_FOUND, MX_CONNECTION_FAILED
 * (not open), MX_BAD_CONNECTION_KEY, MX_BAD_ENDPOINT_ID, MX_TIMEOUT (also woken, or no answer),
 * MX_NO_RESOURCES.
 */
mx_return_t mx_connect(mx_endpoint_t endpoint, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
		       uint32_t timeout, mx_endpoint_addr_t *addr);

/* Stores the address of the endpoint itself; usable as a destination. Does not block. */
mx_return_t mx_get_endpoint_addr(mx_endpoint_t endpoint, mx_endpoint_addr_t *endpoint_addr);

/* Stores NIC id and endpoint number of an address; either pointer may be NULL. */
mx_return_t mx_decompose_endpoint_addr(mx_endpoint_addr_t endpoint_addr, uint64_t *nic_id,
				       uint32_t *endpoint_id);

/*
 * Finds the NIC id of the board called `hostname` ("node:0"; "node" is the same, "localhost" is
 * this host). Errors: MX_HOST_NOT_FOUND, MX_BAD_HOSTNAME_ARGS. Spec 8.
 */
mx_return_t mx_hostname_to_nic_id(char *hostname, uint64_t *nic_id);

/*
 * Writes the name of a board into `hostname`, MX_MAX_HOSTNAME_LEN bytes of the caller.
 * Errors: MX_HOST_NOT_FOUND, MX_BAD_HOSTNAME_ARGS.
 */
mx_return_t mx_nic_id_to_hostname(uint64_t nic_id, char *hostname);

/* Stores the NIC id of a local board. Errors: MX_BOARD_UNKNOWN. */
mx_return_t mx_board_number_to_nic_id(uint32_t board_num, uint64_t *nic_id);

/* Stores the number of the local board with that NIC id. Errors: MX_BOARD_UNKNOWN. */
mx_return_t mx_nic_id_to_board_number(uint64_t nic_id, uint32_t *board_num);

/* ------------------------------------------------------- rarely used, spec 3.10 and 3.11 ---- */

/*
 * Unexpected callback of the first interface level: called where an unexpected handler would be;
 * the message is then matched again, and queued. NULL removes it. It replaces the handler of
 * mx_register_unexp_handler and is replaced by it.
 */
mx_return_t mx_register_unexp_callback(mx_endpoint_t endpoint, mx_matching_callback_t cb,
				       void *context);

/* One-sided write and read. Nobody ever provided them: MX_FAILURE. Spec 3.11. */
mx_return_t mx_iput(mx_endpoint_t endpoint, void *local_addr, uint32_t length,
		    mx_endpoint_addr_t dest_endpoint, uint64_t remote_addr, void *context,
		    mx_request_t *request);
mx_return_t mx_iget(mx_endpoint_t endpoint, void *local_addr, uint32_t length,
		    mx_endpoint_addr_t dest_endpoint, uint64_t remote_addr, void *context,
		    mx_request_t *request);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MYRIEXPRESS_H */

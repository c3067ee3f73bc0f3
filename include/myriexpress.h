/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MX programming interface (level 0x301): types, constants, and the main calls.
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 * - Returns. MX_SUCCESS, or what the error handler returned.
 * - Errors. A call that fails passes a text and its code to the error handler in force (the
 *   endpoint's own one, else the global one) and returns what that handler returns. The default
 *   handler prints the text and ends the process. After a fork the child's calls on endpoints
 *   of its parent fail with MX_BAD_ENDPOINT.
 * - Threads. Every call may be made by any thread at any time. Two threads must not complete
 *   the same request. Blocking calls hold no lock while they sleep.
 * - Memory. Pointers are read and written during the call only. The one exception is message
 *   data: it belongs to the library from the posting call until the request completed, or until
 *   mx_ibuffered says 1. The segment array itself is read during the posting call only.
 *
 * Arguments that have one meaning in all calls:
 *
 * - endpoint: an open endpoint of this process, from mx_open_endpoint.
 * - request: place of the handle of a request that is not yet finished.
 * - status: place for the outcome, or NULL. It is filled when `result` says 1, and left alone
 *   with 0 or on an error.
 * - result: place for the answer, 1 or 0; 0 on an error, too.
 * - timeout: milliseconds to wait; MX_INFINITE (0) waits for ever. It is no error that the time
 *   passed, or that mx_wakeup ended the sleep: the call succeeds with result 0.
 * - context: a pointer of the caller, which the library hands back and does not look at.
 * - segments_list: the pieces of memory, in order; NULL is fine without pieces.
 * - segments_count: number of pieces, 0 to MX_MAX_SEGMENTS.
 * - match_info: the 64 bits that are wanted; those outside `match_mask` are 0.
 * - match_mask: the bits that are compared; MX_MATCH_MASK_NONE compares all.
 * - nic_id: number of a board in the network: its MAC address in the lower 48 bits.
 * - board_num: number of a local board, from 0.
 * - endpoint_id: number of an endpoint on its board, from 0.
 * - key: any 32 bits; those of mx_open_endpoint at the other end must be equal.
 *
 * A comment says, in this order: the call in a sentence, its rules, its own arguments, its
 * results, its errors, its threads if they differ, and "Spec n", a section of the interface
 * specification that docs/man/ethermx.7 sums up. The manual pages of section 3 are made of
 * them: docs/CONTRIBUTING.md.
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
#define MX_CONTEXT_ID_BITS_MAX 16 /* of MX_PARAM_CONTEXT_ID */

#define MX_ANY_NIC 0xffffffffU /* mx_open_endpoint: any board */
#define MX_ANY_ENDPOINT 0xffffffffU /* mx_open_endpoint: any number */

#define MX_INFINITE 0 /* the timeout "for ever" */

#define MX_MATCH_MASK_NONE (~(uint64_t)0) /* no wildcard: compare all 64 bits */

/* Upper and lower half of a 64-bit value, for printing. */
#define MX_U32(x) ((uint32_t)(sizeof(x) == 8 ? ((uint64_t)(x)) >> 32 : 0))
#define MX_L32(x) ((uint32_t)((uint64_t)(x) & 0xffffffffU))

/* Tells that the info keys MX_NET_TYPE and MX_LINE_SPEED exist. */
#define MX_HAS_NET_TYPE

/* Return codes of calls. Codes marked "own use" are never produced by the library. */
enum mx_return_code {
	MX_SUCCESS = 0, /* the call succeeded */
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
	MX_NIC_DEAD = 39, /* own use */
	MX_CANCEL_NOT_SUPPORTED = 40, /* sends cannot be cancelled */
	MX_CLOSE_IN_HANDLER = 41, /* mx_close_endpoint inside the unexpected handler */
	MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK = 42, /* mask hides context id bits */
	MX_NOT_SUPPORTED_WITH_CONTEXT_ID = 43, /* own use */
	MX_RETURN_CODE_END = 100 /* end mark, no code: error handlers see numbers of open-mx.h, too */
};
typedef enum mx_return_code mx_return_t;

/* Outcomes of an operation: the code of mx_status_t. */
enum mx_status_code {
	MX_STATUS_SUCCESS = 0, /* the operation succeeded */
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

/* Keys of endpoint parameters, see mx_param_t. */
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
	MX_SPEED_2G = 0, /* Myrinet, 2 Gbit/s */
	MX_SPEED_10G = 1, /* 10 Gbit/s: a board of dialect W */
	MX_SPEED_OPEN_MX = 2 /* any Ethernet: a board of another dialect */
};
typedef enum mx_line_speed mx_line_speed_t;

/* Values of the info key MX_NET_TYPE. */
enum mx_net_type {
	MX_NET_MYRI = 0, /* Myrinet */
	MX_NET_ETHER = 1 /* Ethernet, as all boards here */
};
typedef enum mx_net_type mx_net_type_t;

/* Keys of mx_get_info, with "input -> output". A board is a uint32_t board number. Spec 4. */
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

/*
 * Handles of an open endpoint and of a pending operation. They are opaque; a copy of a handle
 * is as good as it. A request's handle has a generation: once the request is finished, a copy
 * is refused by MX_BAD_REQUEST, and never is that of another request.
 */
typedef struct mx_endpoint *mx_endpoint_t;
typedef union mx_request *mx_request_t;

/*
 * A remote endpoint as one local endpoint sees it. It is opaque, meaningful in this process
 * only, passed by value, and valid until the endpoint that produced it is closed. All zero is a
 * harmless "nobody".
 */
typedef struct {
	uint64_t stuff[MX_SIZEOF_ADDR / 8]; /* opaque */
} mx_endpoint_addr_t;

/* Start of a piece of memory. */
typedef void *mx_segment_ptr_t;

/* A piece of a message. Zero length is legal, with any pointer. */
typedef struct {
	mx_segment_ptr_t segment_ptr; /* its start */
	uint32_t segment_length; /* bytes */
} mx_segment_t;

/* Result of an operation. */
typedef struct mx_status {
	mx_status_code_t code; /* the outcome */
	mx_endpoint_addr_t source; /* sender, or destination of a send; usable as destination */
	uint64_t match_info; /* of the message, all 64 bits */
	uint32_t msg_length; /* bytes sent */
	uint32_t xfer_length; /* bytes delivered */
	void *context; /* given when the request was posted */
} mx_status_t;

/*
 * Error handler of the program. It gets a text and a code, and returns what the failing call
 * shall return. It may log or longjmp. When a request completed with an error, it is called,
 * too, with the nearest mx_return_t, or a code above 89 of omx_return_t; the request's status
 * keeps its own code.
 * - str: the error in words, valid during the call.
 * - ret: its code.
 * Returns: The result of the call that failed.
 * Threads: It runs in the call that failed, which holds no lock.
 * Spec 2.1.
 */
typedef mx_return_t (*mx_error_handler_t)(char *str, mx_return_t ret);

/*
 * Unexpected callback of the first interface level, for mx_register_unexp_callback.
 * - context: as registered.
 * - match_value: label of the message.
 * - length: its length in bytes.
 */
typedef void (*mx_matching_callback_t)(void *context, uint64_t match_value, int length);

/*
 * Unexpected handler of the program, for mx_register_unexp_handler.
 * - context: as registered.
 * - source: address of the sender, to which one may reply.
 * - match_value: label of the message.
 * - length: length of the whole message in bytes.
 * - data_if_available: the whole data, valid during the call, of an eager message that fits one
 *   packet. NULL else, and for synchronous messages. So it is for messages to oneself and
 *   within the host, too.
 * Returns: MX_RECV_CONTINUE or MX_RECV_FINISHED.
 * Spec 3.10.
 */
typedef mx_unexp_handler_action_t (*mx_unexp_handler_t)(void *context, mx_endpoint_addr_t source,
							uint64_t match_value, uint32_t length,
							void *data_if_available);

/* One endpoint parameter; of equal keys the last wins. */
typedef struct {
	mx_param_key_t key; /* which member of val is meant */
	union {
		mx_error_handler_t error_handler; /* errors of the endpoint go to it */
		uint32_t unexp_queue_max; /* bytes */
		struct {
			uint8_t bits; /* at most MX_CONTEXT_ID_BITS_MAX; 0: no context ids */
			uint8_t shift; /* at most 64 together with bits */
		} context_id;
	} val;
} mx_param_t;

/*
 * The predefined error handlers: print and end the process (the default), or return the code.
 */
extern const mx_error_handler_t MX_ERRORS_ARE_FATAL;
extern const mx_error_handler_t MX_ERRORS_RETURN;

/* --------------------------------------------------------------- library, spec 2.6, 3.1 ---- */

/*
 * Attaches the process to the MX service. Programs call mx_init(), which passes the level that
 * they were compiled for. It reads the environment, opens nothing on the network,
 * and does not block. mx_finalize undoes it. After an error it may be tried again.
 * - api: MX_API; its upper byte must be that of the library.
 * Errors: MX_ALREADY_INITIALIZED, MX_BAD_LIB_VERSION, MX_BAD_KERNEL_VERSION, MX_NO_DEV,
 *   MX_NO_DRIVER, MX_NO_PERM, MX_NO_RESOURCES, MX_BAD_BAD_BAD (a variable of the environment
 *   has a bad value).
 * Spec 2.6, 3.1.
 */
mx_return_t mx__init_api(int api);
#define mx_init() mx__init_api(MX_API)

/*
 * Detaches the process from the MX service. Endpoints that are still open are closed. All
 * handles are dead afterwards; mx_init may follow again.
 * Errors: MX_NOT_INITIALIZED.
 * Threads: No other thread may be inside a call.
 * Spec 2.6.
 */
mx_return_t mx_finalize(void);

/*
 * Installs the global error handler. It serves endpoints that have no handler of their own, and
 * errors that concern no endpoint. It may be installed before mx_init, and stays in force over
 * it.
 * - handler: MX_ERRORS_ARE_FATAL, MX_ERRORS_RETURN or a function of the program; NULL restores
 *   the default.
 * Returns: The handler that was in force before.
 * Errors: none.
 * Spec 2.1.
 */
mx_error_handler_t mx_set_error_handler(mx_error_handler_t handler);

/*
 * Words a return code.
 * - code: any value.
 * Returns: A static text, never NULL. May be called before mx_init.
 * Errors: none.
 * Spec 3.1.
 */
const char *mx_strerror(mx_return_t code);

/*
 * Words a status code.
 * - code: any value.
 * Returns: A static text, never NULL. May be called before mx_init.
 * Errors: none.
 * Spec 3.1.
 */
const char *mx_strstatus(mx_status_code_t code);

/*
 * Reads one fact about the library or a board. Input and output of each key stand at
 * mx_get_info_key_t. Strings are cut to fit and terminated. Does not block.
 * - endpoint: NULL, or an open endpoint, whose board is meant when `in_val` is NULL.
 * - key: the fact.
 * - in_val: the input of the key: a board's number as uint32_t, or as uint8_t. NULL for keys
 *   without input.
 * - in_len: bytes of the input.
 * - out_val: place for the answer, of the caller.
 * - out_len: bytes of that place.
 * Errors: MX_BAD_INFO_KEY, MX_BAD_INFO_VAL, MX_BAD_INFO_LENGTH, MX_BOARD_UNKNOWN,
 *   MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 4.
 */
mx_return_t mx_get_info(mx_endpoint_t endpoint, mx_get_info_key_t key, void *in_val,
			uint32_t in_len, void *out_val, uint32_t out_len);

/* ------------------------------------------------------------------ endpoints, spec 3.2 ---- */

/*
 * Opens an endpoint on a local board. mx_close_endpoint releases it, as the end of the process
 * does. With a wildcard the lowest free pair of endpoint and board is taken: endpoint 0 of each
 * board first. Does not block.
 * - board_num: number of the board, or MX_ANY_NIC.
 * - endpoint_id: number of the endpoint, or MX_ANY_ENDPOINT.
 * - key: any 32 bits; peers present the same when they connect.
 * - params_array: parameters, or NULL when there are none; of equal keys the last wins.
 * - params_count: number of parameters.
 * - endpoint: place for the handle; NULL is stored on an error.
 * Errors: MX_BOARD_UNKNOWN, MX_BUSY, MX_BAD_ENDPOINT (the number is out of range, or there is
 *   no place for the handle), MX_BAD_PARAM_LIST, MX_BAD_PARAM_NAME, MX_BAD_PARAM_VAL,
 *   MX_NO_RESOURCES, MX_NO_PERM, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_open_endpoint(uint32_t board_num, uint32_t endpoint_id, uint32_t key,
			     mx_param_t *params_array, uint32_t params_count,
			     mx_endpoint_t *endpoint);

/*
 * Closes an endpoint. It delivers messages that were reported sent, for about a second at most,
 * then releases the endpoint, its requests and its addresses. Pending requests vanish without
 * completion. Threads that are blocked on the endpoint return with result 0.
 * - endpoint: an open endpoint; the handle is dead afterwards.
 * Errors: MX_CLOSE_IN_HANDLER, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_close_endpoint(mx_endpoint_t endpoint);

/*
 * Ends the sleep of every thread that is blocked on an endpoint now. Their calls succeed with
 * result 0; mx_connect fails with MX_TIMEOUT. It is not remembered for later calls. Requests
 * that were waited for stay pending. Does not block.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_wakeup(mx_endpoint_t endpoint);

/*
 * Stops the processing of incoming messages on an endpoint. From here on no unexpected handler
 * is entered, by any thread. It waits for a handler that runs in another thread. Completed
 * requests are still reported. It sets a flag, not a count. Inside the handler it does nothing.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_disable_progression(mx_endpoint_t endpoint);

/*
 * Undoes mx_disable_progression, and makes progress once.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_reenable_progression(mx_endpoint_t endpoint);

/* -------------------------------------------------------------------- sending, spec 3.3 ---- */

/*
 * Sends a message to another endpoint. The message is the concatenation of the segments, 2^32 -
 * 1 bytes at most. Messages up to MX_COPY_SEND_MAX bytes are copied during the call. The data
 * of longer ones is the library's until the request completes, which needs a matching receive.
 * Messages from one endpoint to another are matched in the order of their sends. Does not
 * block.
 * - dest_endpoint: address of the receiver, from mx_connect or from a status of this endpoint.
 * - match_info: label of the message, all 64 bits.
 * - request: place for the handle of the request. NULL: the operation is forgotten at once, as
 *   by mx_forget.
 * Errors: MX_NO_RESOURCES, MX_BAD_SEG_CNT, MX_BAD_SEG_LIST, MX_BAD_SEG_MEM, MX_BAD_ENDPOINT
 *   (the endpoint is not open, or the address is not one of its own), MX_NOT_INITIALIZED.
 *   Trouble on the network shows in the status of the request only.
 * Spec 3.3.
 */
mx_return_t mx_isend(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		     mx_endpoint_addr_t dest_endpoint, uint64_t match_info, void *context,
		     mx_request_t *request);

/*
 * Like mx_isend, but the request does not complete before the receiver has matched the message,
 * or its unexpected handler consumed it, whatever its length. Spec 3.3.
 */
mx_return_t mx_issend(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		      mx_endpoint_addr_t dest_endpoint, uint64_t match_info, void *context,
		      mx_request_t *request);

/* ------------------------------------------------------------------ receiving, spec 3.4, 5 - */

/*
 * Posts a receive for a message that matches. A message with the label m matches if (m &
 * match_mask) == match_info. Receives are tried in posting order, messages in arrival order.
 * The message fills the segments in order; one that is longer is cut, and its status is
 * MX_STATUS_TRUNCATED. Does not block.
 * - request: place for the handle of the request. NULL: the operation is forgotten at once, as
 *   by mx_forget.
 * Errors: MX_BAD_MATCH_MASK, MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK, MX_NO_RESOURCES,
 *   MX_BAD_SEG_CNT, MX_BAD_SEG_LIST, MX_BAD_SEG_MEM, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.4, 5.
 */
mx_return_t mx_irecv(mx_endpoint_t endpoint, mx_segment_t *segments_list, uint32_t segments_count,
		     uint64_t match_info, uint64_t match_mask, void *context,
		     mx_request_t *request);

/*
 * Looks for the earliest unexpected message that a receive would get. The message is not
 * consumed. The status has its sender, label and length, the last in both msg_length and
 * xfer_length. Does not block.
 * - result: 1 if there is such a message, else 0.
 * Errors: MX_BAD_MATCH_MASK, MX_BAD_BAD_BAD (`result` is NULL), MX_BAD_ENDPOINT,
 *   MX_NOT_INITIALIZED.
 * Spec 3.7.
 */
mx_return_t mx_iprobe(mx_endpoint_t endpoint, uint64_t match_info, uint64_t match_mask,
		      mx_status_t *status, uint32_t *result);

/* Like mx_iprobe, but waits up to `timeout` ms for a message. Spec 3.7. */
mx_return_t mx_probe(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match_info,
		     uint64_t match_mask, mx_status_t *status, uint32_t *result);

/* --------------------------------------------------------- completion, spec 3.5, 3.6, 3.8 ---- */

/*
 * Tests whether a request is complete. A complete request fills `status` and is freed. The call
 * succeeds even when the operation failed: the code of the status tells. Does not block.
 * - request: place of the request's handle; NULL is stored there when the request is complete.
 * - result: 1 if the request was complete, else 0.
 * Errors: MX_BAD_REQUEST, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.5.
 */
mx_return_t mx_test(mx_endpoint_t endpoint, mx_request_t *request, mx_status_t *status,
		    uint32_t *result);

/* Like mx_test, but waits up to `timeout` ms for the request. Spec 3.5. */
mx_return_t mx_wait(mx_endpoint_t endpoint, mx_request_t *request, uint32_t timeout,
		    mx_status_t *status, uint32_t *result);

/*
 * Takes the request that completed first of those that match. Requests of any kind are looked
 * at. One whose label is m matches if (m & match_mask) == match_info. It fills `status`, whose
 * context tells which it was, and is freed; its handle is dead then. The call succeeds even
 * when the operation failed. Does not block.
 * - result: 1 if there was such a request, else 0.
 * Errors: MX_BAD_MATCH_MASK, MX_BAD_BAD_BAD (`result` is NULL), MX_BAD_ENDPOINT,
 *   MX_NOT_INITIALIZED.
 * Spec 3.6.
 */
mx_return_t mx_test_any(mx_endpoint_t endpoint, uint64_t match_info, uint64_t match_mask,
			mx_status_t *status, uint32_t *result);

/* Like mx_test_any, but waits up to `timeout` ms for a request. Spec 3.6. */
mx_return_t mx_wait_any(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match_info,
			uint64_t match_mask, mx_status_t *status, uint32_t *result);

/*
 * Stores the handle of the request that completed first and is not taken yet. It takes nothing:
 * the same handle comes again, and mx_test of it will say 1. Does not block.
 * - request: place for the handle.
 * - result: 1 if there was such a request, else 0.
 * Errors: MX_BAD_REQUEST (`request` or `result` is NULL), MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.6.
 */
mx_return_t mx_ipeek(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* Like mx_ipeek, but waits up to `timeout` ms for a request. Spec 3.6. */
mx_return_t mx_peek(mx_endpoint_t endpoint, uint32_t timeout, mx_request_t *request,
		    uint32_t *result);

/*
 * Stores the context of a live request, complete or not.
 * - context: place for the pointer that the posting call was given.
 * Errors: MX_BAD_REQUEST, MX_NOT_INITIALIZED.
 * Spec 3.6.
 */
mx_return_t mx_context(mx_request_t *request, void **context);

/*
 * Tells whether the data of a send may be overwritten. It takes nothing: the request must still
 * be tested. Does not block.
 * - result: 1 if the data may be overwritten from now on, else 0.
 * Errors: MX_BAD_REQUEST (it is no send; the error handler is not called), MX_BAD_ENDPOINT,
 *   MX_NOT_INITIALIZED.
 * Spec 6.
 */
mx_return_t mx_ibuffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* Like mx_ibuffered, but waits up to `timeout` ms for it. Spec 6. */
mx_return_t mx_buffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t timeout,
			uint32_t *result);

/*
 * Takes back a receive that nothing matched yet, or a pending connect. The request then ends
 * without a completion. With result 0 it is too late: the request must be tested to its end.
 * Does not block.
 * - request: place of the request's handle; NULL is stored there when it is cancelled.
 * - result: 1 if the request is cancelled, else 0.
 * Errors: MX_CANCEL_NOT_SUPPORTED (it is a send, which goes on), MX_BAD_REQUEST,
 *   MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.8.
 */
mx_return_t mx_cancel(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/* ----------------------------------------------------- addresses and names, spec 3.9, 8 ---- */

/*
 * Connects to a remote endpoint and stores its address. The address is valid until the local
 * endpoint is closed. Connecting is needed once before sending to an endpoint, unless its
 * address came from a status. The other side need not call anything. Blocks up to `timeout` ms.
 * - nic_id: NIC id of the remote board.
 * - endpoint_id: number of the endpoint there.
 * - key: the key that the remote endpoint was opened with.
 * - timeout: milliseconds to wait; MX_INFINITE (0) waits until the peer counts as unreachable.
 * - addr: place for the address, or NULL.
 * Errors: MX_NIC_NOT_FOUND, MX_CONNECTION_FAILED, MX_BAD_CONNECTION_KEY, MX_BAD_ENDPOINT_ID,
 *   MX_TIMEOUT, MX_NO_RESOURCES, MX_NO_DEV (the interface of this endpoint is gone), MX_FAILURE
 *   (inside the unexpected handler: mx_iconnect is allowed there), MX_BAD_ENDPOINT,
 *   MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_connect(mx_endpoint_t endpoint, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
		       uint32_t timeout, mx_endpoint_addr_t *addr);

/*
 * Stores the address of the endpoint itself, which is usable as a destination. Does not block.
 * - endpoint_addr: place for the address.
 * Errors: MX_BAD_BAD_BAD (`endpoint_addr` is NULL), MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_get_endpoint_addr(mx_endpoint_t endpoint, mx_endpoint_addr_t *endpoint_addr);

/*
 * Stores NIC id and endpoint number of an address.
 * - endpoint_addr: any address, of zeros, too.
 * - nic_id: place for the NIC id, or NULL.
 * - endpoint_id: place for the number of the endpoint, or NULL.
 * Returns: MX_SUCCESS.
 * Errors: none.
 * Spec 3.9.
 */
mx_return_t mx_decompose_endpoint_addr(mx_endpoint_addr_t endpoint_addr, uint64_t *nic_id,
				       uint32_t *endpoint_id);

/*
 * Finds the NIC id of the board with a name. Waits for hosts that have not told their names
 * yet, a short time.
 * - hostname: name of the board, "node:0"; "node" is the same, and "localhost" is this host.
 * - nic_id: place for the NIC id.
 * Errors: MX_HOST_NOT_FOUND, MX_BAD_HOSTNAME_ARGS, MX_NOT_INITIALIZED.
 * Spec 8.
 */
mx_return_t mx_hostname_to_nic_id(char *hostname, uint64_t *nic_id);

/*
 * Writes the name of a board. Does not block.
 * - hostname: MX_MAX_HOSTNAME_LEN bytes of the caller; a longer name is cut, and always
 *   terminated.
 * Errors: MX_HOST_NOT_FOUND, MX_BAD_HOSTNAME_ARGS, MX_NOT_INITIALIZED.
 * Spec 8.
 */
mx_return_t mx_nic_id_to_hostname(uint64_t nic_id, char *hostname);

/*
 * Stores the NIC id of a local board. Does not block.
 * - nic_id: place for the NIC id.
 * Errors: MX_BOARD_UNKNOWN, MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_board_number_to_nic_id(uint32_t board_num, uint64_t *nic_id);

/*
 * Stores the number of the local board with a NIC id. Does not block.
 * - board_num: place for the number.
 * Errors: MX_BOARD_UNKNOWN, MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_nic_id_to_board_number(uint64_t nic_id, uint32_t *board_num);

/* ------------------------------------------------------- rarely used, spec 3.10 and 3.11 ---- */

/*
 * Installs an unexpected callback of the first interface level. It is called where an
 * unexpected handler would be; the message is then matched again, and queued. It replaces the
 * handler of mx_register_unexp_handler and is replaced by it.
 * - cb: the callback; NULL removes it.
 * - context: a pointer that the callback gets.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Threads: It may be called by any thread. The callback runs on a thread of the program, inside
 *   a call that makes progress.
 * Spec 3.10.
 */
mx_return_t mx_register_unexp_callback(mx_endpoint_t endpoint, mx_matching_callback_t cb,
				       void *context);

/*
 * Writes to memory of another process, which no MX implementation ever provided. The name
 * exists so that programs which use it build and load. No argument is looked at.
 * - local_addr: memory of this process.
 * - length: bytes.
 * - dest_endpoint: address of the other endpoint.
 * - remote_addr: memory of the other process.
 * - request: place for the handle of the request.
 * Returns: The error, always.
 * Errors: MX_FAILURE (always).
 * Spec 3.11.
 */
mx_return_t mx_iput(mx_endpoint_t endpoint, void *local_addr, uint32_t length,
		    mx_endpoint_addr_t dest_endpoint, uint64_t remote_addr, void *context,
		    mx_request_t *request);

/* Like mx_iput, but reads. */
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extensions of the MX interface: asynchronous connect, disconnect, forget, request timeouts,
 * contexts of addresses, unexpected handlers, groups. The rules of myriexpress.h hold here too, and its
 * arguments mean the same.
 *
 * - addr: address of the peer, from mx_connect or a status of this endpoint.
 * - endpoint_addr: address of a peer, as one endpoint of this process sees it.
 */
#ifndef MX_EXTENSIONS_H
#define MX_EXTENSIONS_H

#include "myriexpress.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Tells that mx_iconnect has the argument match_info. */
#define MX_HAS_ICONNECT_V2 1

/*
 * Gives a request back in any state. The operation goes on, and its data stays in use until it
 * ends, but nobody is told: a later failure goes to the error handler only. Does not block.
 * - request: place of the request's handle; NULL is stored there.
 * Errors: MX_BAD_REQUEST, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.8.
 */
mx_return_t mx_forget(mx_endpoint_t endpoint, mx_request_t *request);

/*
 * Makes progress once, without blocking.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.2.
 */
mx_return_t mx_progress(mx_endpoint_t endpoint);

/*
 * Sets the time limit of a request, or of all later ones. It holds for sends, connects and
 * transfers under way. It never ends a request earlier than after half a second, nor a receive
 * that nothing matched. A request whose limit passed completes with MX_STATUS_TIMEOUT. Does not
 * block.
 * - request: the request's handle; NULL: all requests that are posted to the endpoint later.
 * - milli_seconds: the limit; 0 restores the default, which is 500 s.
 * Errors: MX_BAD_REQUEST, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.8, 7.3.
 */
mx_return_t mx_set_request_timeout(mx_endpoint_t endpoint, mx_request_t request,
				   uint32_t milli_seconds);

/*
 * Connects to a remote endpoint without blocking. It is mx_connect as a request, which
 * completes with the peer's address in its status, and which mx_cancel takes back. It completes
 * with MX_STATUS_BAD_KEY, MX_STATUS_ENDPOINT_CLOSED, MX_STATUS_BAD_ENDPOINT,
 * MX_STATUS_ENDPOINT_UNREACHABLE, MX_STATUS_TIMEOUT or MX_STATUS_NO_RESOURCES when it fails.
 * - nic_id: NIC id of the remote board.
 * - endpoint_id: number of the endpoint there.
 * - key: the key that the remote endpoint was opened with.
 * - match_info: label of the request, any 64 bits, for mx_test_any.
 * - request: place for the handle of the request. NULL: the operation is forgotten at once, as
 *   by mx_forget.
 * Errors: MX_NIC_NOT_FOUND, MX_NO_RESOURCES, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_iconnect(mx_endpoint_t endpoint, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			uint64_t match_info, void *context, mx_request_t *request);

/*
 * Ends the connection with one peer. Its pending sends, connects and partly received messages
 * complete with MX_STATUS_ENDPOINT_UNREACHABLE; its unexpected messages are dropped. It is
 * harmless for the own address, for zeros and when done before. Does not block.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Spec 3.9.
 */
mx_return_t mx_disconnect(mx_endpoint_t endpoint, mx_endpoint_addr_t addr);

/*
 * Stores NIC id, endpoint number and session of an address. Two addresses of one peer have
 * equal sessions if and only if they are of the same life of its endpoint.
 * - endpoint_addr: any address, of zeros, too.
 * - nic_id: place for the NIC id, or NULL.
 * - endpoint_id: place for the number of the endpoint, or NULL.
 * - session_id: place for the session, or NULL.
 * Returns: MX_SUCCESS.
 * Errors: none.
 * Spec 3.9.
 */
mx_return_t mx_decompose_endpoint_addr2(mx_endpoint_addr_t endpoint_addr, uint64_t *nic_id,
					uint32_t *endpoint_id, uint32_t *session_id);

/*
 * Attaches a pointer of the user to a peer. There is one for each endpoint, peer and session,
 * NULL at first; the library does not look at it. With an address of zeros, or of a closed
 * endpoint, nothing is stored. Does not block; may be called in the unexpected handler.
 * - context: the pointer.
 * Returns: MX_SUCCESS.
 * Errors: none.
 * Spec 1.9, 3.9.
 */
mx_return_t mx_set_endpoint_addr_context(mx_endpoint_addr_t endpoint_addr, void *context);

/*
 * Like mx_set_endpoint_addr_context, but stores the pointer of the user in `context`; NULL with
 * an address of zeros.
 * - context: place for the pointer.
 * Returns: MX_SUCCESS, or what the error handler returned.
 * Errors: MX_BAD_BAD_BAD (`context` is NULL).
 */
mx_return_t mx_get_endpoint_addr_context(mx_endpoint_addr_t endpoint_addr, void **context);

/*
 * Installs the unexpected handler of an endpoint. It is called once for each message that no
 * posted receive matches, in order of arrival, without locks. Inside it one may post, test,
 * probe, cancel, forget and disconnect. Calls that would block behave like their non-blocking
 * twins there, and mx_close_endpoint is refused. Messages that were queued before are not
 * replayed.
 * - handler: the handler; NULL removes it.
 * - context: a pointer that the handler gets.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 * Threads: It may be called by any thread. The handler runs on a thread of the program, inside
 *   a call that makes progress.
 * Spec 3.10.
 */
mx_return_t mx_register_unexp_handler(mx_endpoint_t endpoint, mx_unexp_handler_t handler,
				      void *context);

/*
 * Sets how many messages of a peer the endpoint takes before an acknowledgement leaves at once, for
 * all peers and from the next message on; OMX_NOTACKED_MAX sets it when the library starts. More cost
 * fewer frames; fewer free the senders' memory earlier. What a message back, or a delay, acknowledges
 * before stays as it is. Does not block. Not of MX: EtherMX.
 * - messages: 1 to 255.
 * Errors: MX_BAD_PARAM_VAL (out of range), MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 */
#define MX_HAS_MESSAGES_PER_ACK 1 /* tells that there is this call */
mx_return_t mx_set_messages_per_ack(mx_endpoint_t endpoint, uint32_t messages);

/*
 * Groups: one frame reaches the members on all other hosts, by the Ethernet's own multicast. It may
 * be lost, doubled or overtaken, and members on the sender's host do not get it: repairs and order
 * are the program's. A group is a key other than 0 that its members agree on. Not of MX: EtherMX.
 */
#define MX_HAS_GROUPS 1 /* tells that there are these calls */
#define MX_GROUPS_MAX 4 /* of an endpoint */

/* Where a frame came from, and its content; the sender is named as by mx_decompose_endpoint_addr2. */
typedef struct {
	uint64_t nic_id; /* the sender's board */
	uint32_t endpoint_id; /* its endpoint's number there */
	uint32_t session_id; /* and session */
	uint32_t number; /* the sender's */
	uint32_t length; /* bytes */
} mx_group_status_t;

/*
 * Tells how many bytes a frame to a group carries at most. Does not block.
 * - bytes: place of the number; 0: there are no groups here, as with UDP boards.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 */
mx_return_t mx_group_limit(mx_endpoint_t endpoint, uint32_t *bytes);

/*
 * Joins a group, once; the endpoint leaves all when it closes. The first join asks the board agent
 * for a socket, for seconds at most. From here on each frame that comes to the group ends blocking
 * calls of the endpoint, as mx_wakeup does.
 * - key: of the group.
 * Errors: MX_BAD_CONNECTION_KEY (0, or no groups here), MX_NO_RESOURCES (more than MX_GROUPS_MAX),
 * MX_NO_DEV, MX_NO_DRIVER, MX_NO_PERM, MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 */
mx_return_t mx_group_join(mx_endpoint_t endpoint, uint32_t key);

/*
 * Leaves a group; its frames that are not taken yet are dropped. Harmless for a group that the
 * endpoint is not in.
 * - key: of the group.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 */
mx_return_t mx_group_leave(mx_endpoint_t endpoint, uint32_t key);

/*
 * Sends one frame to a group, whose member the endpoint need not be. The data may be reused at
 * once. Does not block. Success does not tell that it left.
 * - key: of the group.
 * - number: for the program's own use; receivers get it.
 * - data: the bytes.
 * - length: how many.
 * Errors: MX_BAD_SEG_MEM (key 0, longer than mx_group_limit, no groups here), MX_BAD_ENDPOINT,
 * MX_NOT_INITIALIZED.
 */
mx_return_t mx_group_send(mx_endpoint_t endpoint, uint32_t key, uint32_t number, const void *data,
			  uint32_t length);

/*
 * Takes the oldest frame of a group. It makes progress when there is none. Up to 1024 frames and
 * 8 MiB of all groups wait; more are dropped and counted. Does not block. Any thread; frames go to
 * whichever asks.
 * - key: of the group.
 * - buffer: place of the frame's bytes.
 * - room: bytes of it; what is beyond is lost.
 * - status: place of the frame's origin and length.
 * - result: set to 1 if a frame was taken, else to 0.
 * Errors: MX_BAD_ENDPOINT, MX_NOT_INITIALIZED.
 */
mx_return_t mx_group_receive(mx_endpoint_t endpoint, uint32_t key, void *buffer, uint32_t room,
			     mx_group_status_t *status, uint32_t *result);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX_EXTENSIONS_H */

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extensions of the MX interface: asynchronous connect, disconnect, forget, request timeouts,
 * contexts of addresses, unexpected handlers. The rules of myriexpress.h on errors, threads, time
 * and memory hold here too.
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

#define MX_HAS_ICONNECT_V2 1 /* mx_iconnect has the argument match_info */

/*
 * Gives a request back in any state; *request becomes NULL. The operation goes on, and its data
 * stays in use until it ends, but nobody is told: a later failure goes to the error handler only.
 * Does not block. Errors: MX_BAD_REQUEST. Spec 3.8.
 */
mx_return_t mx_forget(mx_endpoint_t endpoint, mx_request_t *request);

/* Makes progress once, without blocking. Spec 3.2. */
mx_return_t mx_progress(mx_endpoint_t endpoint);

/*
 * Time limit, in milliseconds, of one send, connect or transfer under way, or, with `request`
 * NULL, of all requests posted to the endpoint later. Never ends a request earlier than after
 * half a second, nor a receive that nothing matched; 0 restores the default (500 s). Expiry:
 * MX_STATUS_TIMEOUT. Does not block. Errors: MX_BAD_REQUEST. Spec 3.8, 7.3.
 */
mx_return_t mx_set_request_timeout(mx_endpoint_t endpoint, mx_request_t request,
				   uint32_t milli_seconds);

/*
 * mx_connect as a request: completes with the peer's address in status.source, `match_info` and
 * `context` in the status, or with MX_STATUS_BAD_KEY, _ENDPOINT_CLOSED, _BAD_ENDPOINT,
 * _ENDPOINT_UNREACHABLE, _TIMEOUT, _NO_RESOURCES. Does not block. Errors: MX_NIC_NOT_FOUND,
 * MX_NO_RESOURCES. Spec 3.9.
 */
mx_return_t mx_iconnect(mx_endpoint_t endpoint, uint64_t nic_id, uint32_t endpoint_id, uint32_t key,
			uint64_t match_info, void *context, mx_request_t *request);

/*
 * Ends the connection with one peer: its pending sends, connects and partly received messages
 * complete with MX_STATUS_ENDPOINT_UNREACHABLE, its unexpected messages are dropped. Harmless for
 * the own address, for zeros and when done before. Does not block. Spec 3.9.
 */
mx_return_t mx_disconnect(mx_endpoint_t endpoint, mx_endpoint_addr_t addr);

/*
 * Stores NIC id, endpoint number and session of an address; pointers may be NULL. Two addresses
 * of one peer have equal sessions if and only if they are of the same life of its endpoint.
 */
mx_return_t mx_decompose_endpoint_addr2(mx_endpoint_addr_t endpoint_addr, uint64_t *nic_id,
					uint32_t *endpoint_id, uint32_t *session_id);

/*
 * One pointer of the user for each (endpoint, peer, session), NULL at first; the library does not
 * look at it. With an address of zeros or a disconnected one: success, NULL. Does not block; may
 * be called in the unexpected handler. Spec 1.9, 3.9.
 */
mx_return_t mx_set_endpoint_addr_context(mx_endpoint_addr_t endpoint_addr, void *context);
mx_return_t mx_get_endpoint_addr_context(mx_endpoint_addr_t endpoint_addr, void **context);

/*
 * Calls `handler` once for each message that no posted receive matches, in order of arrival,
 * on a user's thread inside a call that makes progress, without locks. Inside it one may post,
 * test, probe, cancel, forget, disconnect; what would block behaves like its non-blocking twin,
 * and mx_close_endpoint is refused. NULL removes it; messages queued before are not replayed.
 * Spec 3.10.
 */
mx_return_t mx_register_unexp_handler(mx_endpoint_t endpoint, mx_unexp_handler_t handler,
				      void *context);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX_EXTENSIONS_H */

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The raw MX interface, of network mappers. EtherMX finds its peers by itself and needs no
 * mapper. The interface exists so that programs which name it build and load.
 *
 * - Returns. What the error handler returned.
 * - Errors. MX_NO_DEV (always: peers need no mapper). No argument is looked at.
 * - Threads. Any thread may call at any time; nothing blocks.
 * - Memory. No pointer is read or written.
 *
 * Arguments that have one meaning in all calls. Spec 3.12.
 *
 * - endpoint: a raw endpoint.
 * - board_num: number of a local board, from 0.
 * - params_array: parameters of the endpoint.
 * - params_count: number of parameters.
 * - physical_port: port of the board, from 0.
 * - port: port of the board, from 0.
 * - context: a pointer of the caller, for the event of this packet.
 * - destination_id: NIC id of the peer.
 * - nic_id: NIC id of the peer.
 * - route: the source route.
 * - route_length: its bytes.
 * - input_port: port of the peer where the route ends.
 * - output_port: port of the board where it begins.
 * - host_type: kind of the peer.
 * - hostname: name of the board or peer.
 */
#ifndef MX_RAW_H
#define MX_RAW_H

#include "mx_io.h"
#include "myriexpress.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Features of the raw interface that programs test for. */
#define MX_RAW_POLL_SUPPORTED 1 /* mx_raw_handle exists */
#define MX_SET_ROUTE_TAKES_MAGID 1 /* mx_raw_set_route_mag exists */
#define MX_HAS_RAW_LINE_SPEED 1 /* mx_raw_line_speed exists */
#define MX_HAS_RAW_SET_NIC_REPLY_INFO 1 /* mx_raw_set_nic_reply_info exists */

/* Status of mx_raw_next_event: an event, or why the board is dead. */
typedef int mx_raw_status_t;
#define MX_RAW_NO_EVENT 0 /* the time passed */
#define MX_RAW_SEND_COMPLETE 1 /* a packet was sent */
#define MX_RAW_RECV_COMPLETE 2 /* a packet came */
#define MX_DEAD_RECOVERABLE_SRAM_PARITY_ERROR 10 /* recoverable SRAM parity error */
#define MX_DEAD_SRAM_PARITY_ERROR 11 /* SRAM parity error */
#define MX_DEAD_WATCHDOG_TIMEOUT 12 /* watchdog timeout */
#define MX_DEAD_COMMAND_TIMEOUT 13 /* command timeout */
#define MX_DEAD_ENDPOINT_CLOSE_TIMEOUT 14 /* timeout at the close of an endpoint */
#define MX_DEAD_ROUTE_UPDATE_TIMEOUT 15 /* timeout of a route update */
#define MX_DEAD_PCI_PARITY_ERROR 16 /* PCI parity error */
#define MX_DEAD_PCI_MASTER_ABORT 17 /* PCI master abort */

/* An open raw endpoint; at most one for each board. */
typedef struct mx_raw_endpoint *mx_raw_endpoint_t;

/*
 * Opens the raw endpoint of a board, to be closed with mx_raw_close_endpoint.
 * - endpoint: place for the handle.
 */
mx_return_t mx_raw_open_endpoint(uint32_t board_num, mx_param_t *params_array,
				 uint32_t params_count, mx_raw_endpoint_t *endpoint);

/* Closes a raw endpoint. */
mx_return_t mx_raw_close_endpoint(mx_raw_endpoint_t endpoint);

/*
 * Gives a descriptor to poll for events.
 * Returns: MX__INVALID_HANDLE: there are no events.
 * Errors: none. The error handler is not called.
 */
mx_endpt_handle_t mx_raw_handle(mx_raw_endpoint_t endpoint);

/*
 * Sends a raw packet along a source route.
 * - route_pointer: the source route.
 * - send_buffer: the packet.
 * - send_bytes: its bytes.
 */
mx_return_t mx_raw_send(mx_raw_endpoint_t endpoint, uint32_t physical_port, void *route_pointer,
			uint32_t route_length, void *send_buffer, uint32_t send_bytes,
			void *context);

/*
 * Waits for an event.
 * - incoming_port: place for the port.
 * - context: place for the context of the packet that was sent.
 * - recv_buffer: place for the packet that came.
 * - recv_bytes: room in it, and then the bytes that came.
 * - timeout: milliseconds to wait.
 * - status: place for the event.
 */
mx_return_t mx_raw_next_event(mx_raw_endpoint_t endpoint, uint32_t *incoming_port, void **context,
			      void *recv_buffer, uint32_t *recv_bytes, uint32_t timeout,
			      mx_raw_status_t *status);

/* Begins a change of the route table. */
mx_return_t mx_raw_set_route_begin(mx_raw_endpoint_t endpoint);

/* Ends a change of the route table. */
mx_return_t mx_raw_set_route_end(mx_raw_endpoint_t endpoint);

/* Sets a route to a NIC id. */
mx_return_t mx_raw_set_route(mx_raw_endpoint_t endpoint, uint64_t destination_id, void *route,
			     uint32_t route_length, uint32_t input_port, uint32_t output_port,
			     mx_host_type_t host_type);

/*
 * Like mx_raw_set_route, but with the id of the mapping agent.
 * - mag_id: id of the mapping agent.
 */
mx_return_t mx_raw_set_route_mag(mx_raw_endpoint_t endpoint, uint64_t destination_id, void *route,
				 uint32_t route_length, uint32_t input_port, uint32_t output_port,
				 mx_host_type_t host_type, uint32_t mag_id);

/* Forgets the routes to a NIC id through one port. */
mx_return_t mx_raw_clear_routes(mx_raw_endpoint_t endpoint, uint64_t destination_id, uint32_t port);

/* Forgets a peer. */
mx_return_t mx_raw_remove_peer(mx_raw_endpoint_t endpoint, uint64_t destination_id);

/*
 * Tells which map is in force.
 * - mapper_id: NIC id of the mapper.
 * - map_version: version of its map.
 * - num_nodes: number of its hosts.
 * - mapping_complete: 1 if it is complete.
 */
mx_return_t mx_raw_set_map_version(mx_raw_endpoint_t endpoint, uint32_t physical_port,
				   uint64_t mapper_id, uint32_t map_version, uint32_t num_nodes,
				   uint32_t mapping_complete);

/*
 * Stores the number of ports of the board.
 * - num_ports: place for the number.
 */
mx_return_t mx_raw_num_ports(mx_raw_endpoint_t endpoint, uint32_t *num_ports);

/*
 * Stores the line speed of the board.
 * - speed: place for the speed.
 */
mx_return_t mx_raw_line_speed(mx_raw_endpoint_t endpoint, mx_line_speed_t *speed);

/* Sets the name of the board itself. */
mx_return_t mx_raw_set_hostname(mx_raw_endpoint_t endpoint, char *hostname);

/* Sets the name of a peer. */
mx_return_t mx_raw_set_peer_name(mx_raw_endpoint_t endpoint, uint64_t nic_id, char *hostname);

/*
 * Sets the board's answer to a query of its identity.
 * - blob: the answer.
 * - size: its bytes.
 */
mx_return_t mx_raw_set_nic_reply_info(mx_raw_endpoint_t endpoint, void *blob, uint32_t size);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX_RAW_H */

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The raw MX interface, of network mappers. EtherMX finds its peers by itself and needs no mapper:
 * every call here answers MX_NO_DEV through the error handler and touches none of its arguments.
 * The interface exists so that programs which name it build and load. Any thread, at any time;
 * nothing blocks. Spec 3.12.
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

#define MX_RAW_POLL_SUPPORTED 1
#define MX_SET_ROUTE_TAKES_MAGID 1
#define MX_HAS_RAW_LINE_SPEED 1
#define MX_HAS_RAW_SET_NIC_REPLY_INFO 1

/* Status of mx_raw_next_event. */
typedef int mx_raw_status_t;
#define MX_RAW_NO_EVENT 0
#define MX_RAW_SEND_COMPLETE 1
#define MX_RAW_RECV_COMPLETE 2
#define MX_DEAD_RECOVERABLE_SRAM_PARITY_ERROR 10
#define MX_DEAD_SRAM_PARITY_ERROR 11
#define MX_DEAD_WATCHDOG_TIMEOUT 12
#define MX_DEAD_COMMAND_TIMEOUT 13
#define MX_DEAD_ENDPOINT_CLOSE_TIMEOUT 14
#define MX_DEAD_ROUTE_UPDATE_TIMEOUT 15
#define MX_DEAD_PCI_PARITY_ERROR 16
#define MX_DEAD_PCI_MASTER_ABORT 17

/* An open raw endpoint; at most one for each board. */
typedef struct mx_raw_endpoint *mx_raw_endpoint_t;

/* Opens the raw endpoint of a board; to be closed with mx_raw_close_endpoint. */
mx_return_t mx_raw_open_endpoint(uint32_t board_num, mx_param_t *params_array,
				 uint32_t params_count, mx_raw_endpoint_t *endpoint);

/* Closes it. */
mx_return_t mx_raw_close_endpoint(mx_raw_endpoint_t endpoint);

/* Descriptor to poll for events, or MX__INVALID_HANDLE. Calls no error handler. */
mx_endpt_handle_t mx_raw_handle(mx_raw_endpoint_t endpoint);

/* Sends a raw packet of `send_bytes` along a source route of `route_length` bytes. */
mx_return_t mx_raw_send(mx_raw_endpoint_t endpoint, uint32_t physical_port, void *route_pointer,
			uint32_t route_length, void *send_buffer, uint32_t send_bytes,
			void *context);

/* Waits up to `timeout` ms for an event. *recv_bytes: room in, bytes received out. */
mx_return_t mx_raw_next_event(mx_raw_endpoint_t endpoint, uint32_t *incoming_port, void **context,
			      void *recv_buffer, uint32_t *recv_bytes, uint32_t timeout,
			      mx_raw_status_t *status);

/* Bracket a change of the route table. */
mx_return_t mx_raw_set_route_begin(mx_raw_endpoint_t endpoint);
mx_return_t mx_raw_set_route_end(mx_raw_endpoint_t endpoint);

/* Sets a route to a NIC id; the second form with the id of the mapping agent. */
mx_return_t mx_raw_set_route(mx_raw_endpoint_t endpoint, uint64_t destination_id, void *route,
			     uint32_t route_length, uint32_t input_port, uint32_t output_port,
			     mx_host_type_t host_type);
mx_return_t mx_raw_set_route_mag(mx_raw_endpoint_t endpoint, uint64_t destination_id, void *route,
				 uint32_t route_length, uint32_t input_port, uint32_t output_port,
				 mx_host_type_t host_type, uint32_t mag_id);

/* Forgets the routes to a NIC id through one port. */
mx_return_t mx_raw_clear_routes(mx_raw_endpoint_t endpoint, uint64_t destination_id, uint32_t port);

/* Forgets a peer. */
mx_return_t mx_raw_remove_peer(mx_raw_endpoint_t endpoint, uint64_t destination_id);

/* Tells which map is in force: of which mapper, its version, its number of hosts. */
mx_return_t mx_raw_set_map_version(mx_raw_endpoint_t endpoint, uint32_t physical_port,
				   uint64_t mapper_id, uint32_t map_version, uint32_t num_nodes,
				   uint32_t mapping_complete);

/* Stores the number of ports of the board. */
mx_return_t mx_raw_num_ports(mx_raw_endpoint_t endpoint, uint32_t *num_ports);

/* Stores the line speed of the board. */
mx_return_t mx_raw_line_speed(mx_raw_endpoint_t endpoint, mx_line_speed_t *speed);

/* Sets the name of the board itself. */
mx_return_t mx_raw_set_hostname(mx_raw_endpoint_t endpoint, char *hostname);

/* Sets the name of a peer. */
mx_return_t mx_raw_set_peer_name(mx_raw_endpoint_t endpoint, uint64_t nic_id, char *hostname);

/* Sets what the board answers to a query of its identity. */
mx_return_t mx_raw_set_nic_reply_info(mx_raw_endpoint_t endpoint, void *blob, uint32_t size);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX_RAW_H */

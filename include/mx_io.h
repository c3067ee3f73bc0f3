/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types of the internal MX interface: board handles, and what is known of the fabric's mapper.
 */
#ifndef MX_IO_H
#define MX_IO_H

#include <stddef.h> /* NULL: arguments of callers may be it */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An opened board, see mx_open_board. A plain number here: it needs no close. */
typedef int mx_endpt_handle_t;
#define MX__INVALID_HANDLE (-1) /* no handle */

/* Kinds of a host on the fabric; for the raw interface. */
typedef enum {
	MX_HOST_GM = 1, /* a GM host */
	MX_HOST_XM = 2, /* an XM host */
	MX_HOST_MX = 3, /* an MX host */
	MX_HOST_MXvM = 4 /* an MXvM host */
} mx_host_type_t;

/* State of the mapper as one board sees it. Spec 1.5, 3.12. */
typedef struct {
	uint32_t board_number; /* of the caller: whose peers are counted */
	uint8_t mapper_mac[6]; /* zero, equal on all hosts of one fabric */
	uint16_t iport; /* of the caller, left alone */
	uint32_t map_version; /* 1 */
	uint32_t num_hosts; /* peers in the board's table */
	uint32_t network_configured; /* 1: the peer table is ready */
	uint32_t routes_valid; /* 1: the peer table is ready */
	uint32_t level; /* 0 */
	uint32_t flags; /* 0 */
} mx_mapper_state_t;

#ifdef __cplusplus
}
#endif

#endif /* MX_IO_H */

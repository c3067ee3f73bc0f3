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
#define MX__INVALID_HANDLE (-1)

/* Kinds of a host on the fabric; for the raw interface. */
typedef enum {
	MX_HOST_GM = 1,
	MX_HOST_XM = 2,
	MX_HOST_MX = 3,
	MX_HOST_MXvM = 4
} mx_host_type_t;

/* State of the mapper as one board sees it. Spec 1.5, 3.12. */
typedef struct {
	uint32_t board_number;
	uint8_t mapper_mac[6]; /* equal on all hosts of one fabric */
	uint16_t iport;
	uint32_t map_version;
	uint32_t num_hosts;
	uint32_t network_configured; /* 1: the peer table is ready */
	uint32_t routes_valid;
	uint32_t level;
	uint32_t flags;
} mx_mapper_state_t;

#ifdef __cplusplus
}
#endif

#endif /* MX_IO_H */

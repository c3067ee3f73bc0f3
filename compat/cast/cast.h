/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Broadcast groups for programs in C: endpoint.hpp and group.hpp say what each call does. One
 * thread at a time for an endpoint and its groups. MX is initialised, and its error handler returns.
 */
#ifndef EMX_CAST_H
#define EMX_CAST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cast_endpoint;
struct cast_group;

/* Where a member is; frame is 0 when frames to the group do not reach it. */
struct cast_place {
	uint64_t nic_id;
	uint32_t endpoint;
	uint32_t session;
	uint32_t frame;
	uint32_t reserved;
};

enum cast_outcome {
	CAST_BUSY,
	CAST_DONE,
	CAST_DEAD, /* a member that is needed has died */
	CAST_DISAGREED, /* another member has another length or root in mind */
	CAST_NO_MEMORY,
};

/* Opens an endpoint on a board (MX_ANY_NIC: any) and joins the key; NULL when that cannot be. */
struct cast_endpoint *cast_open(uint32_t board, uint32_t key, struct cast_place *own);
/* Closes it, with all groups. */
void cast_shut(struct cast_endpoint *endpoint);
/* Takes what came, for all groups; 0: nothing. */
int cast_poll(struct cast_endpoint *endpoint);
/*
 * After a look in vain: sleeps where others want the processor, a millisecond at most. 0: it did not; 1: nothing
 * came; 2: something came, and was taken.
 */
int cast_rest(struct cast_endpoint *endpoint);
/* Connects to a member, waiting timeout_ms at most; nonzero: it answered. */
int cast_connect(struct cast_endpoint *endpoint, const struct cast_place *member,
		 uint32_t timeout_ms);
/* A group of connected members; NULL: the id is taken, or no memory. */
struct cast_group *cast_make(struct cast_endpoint *endpoint, uint32_t id, uint32_t self,
			     const struct cast_place *members, uint32_t count);
void cast_drop(struct cast_endpoint *endpoint, struct cast_group *group);

/* One operation at a time; then cast_advance until it is not CAST_BUSY. */
enum cast_outcome cast_begin_send(struct cast_group *group, const void *data, uint32_t length);
enum cast_outcome cast_begin_receive(struct cast_group *group, uint32_t root, void *data,
				     uint32_t length);
enum cast_outcome cast_begin_barrier(struct cast_group *group);
enum cast_outcome cast_begin_close(struct cast_group *group);
enum cast_outcome cast_advance(struct cast_group *group);

#ifdef __cplusplus
}
#endif
#endif

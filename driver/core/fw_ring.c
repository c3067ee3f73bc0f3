/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event ring: one producer, the firmware, and one consumer, the library, which may share no
 * more than the memory of the ring.
 */
#include "fw_internal.h"

int fw_ring_put(struct fw_ring *r, __u32 mask, __u32 *own_head, const struct emx_msg *msg)
{
	__u32 tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);

	/* A tail that a hostile consumer made up reads as a full ring, or costs it its own events.
	 */
	if (*own_head - tail > mask)
		return -1;
	r->entry[*own_head & mask] = *msg;
	++*own_head;
	__atomic_store_n(&r->head, *own_head, __ATOMIC_RELEASE);
	return 0;
}

const struct emx_msg *fw_ring_peek(const struct fw_ring *r, __u32 own_tail)
{
	if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == own_tail)
		return FW_NULL;
	return &r->entry[own_tail & r->mask];
}

void fw_ring_take(struct fw_ring *r, __u32 *own_tail)
{
	++*own_tail;
	__atomic_store_n(&r->tail, *own_tail, __ATOMIC_RELEASE);
}

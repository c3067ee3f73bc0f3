/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames out: building, checksums, sending.
 */
#ifndef EMX_LINUX_TX_H
#define EMX_LINUX_TX_H

#include "ethermx.h"

struct emx_region;

/* tx.c: none of these is called with a lock held, unless it says so */

/* A frame that is all header, padded to the minimum; NULL without memory. Any lock. */
struct sk_buff *emx_tx_header(const struct emx_board *board, const void *header, u32 length);
/* A frame with a payload copied from user memory, or an ERR_PTR: -ENOMEM, -EFAULT. Sleeps. */
struct sk_buff *emx_tx_user(const struct emx_board *board, const void *header, u32 length,
			    const void __user *payload, u32 bytes);
/*
 * A frame with a payload out of a region, which must hold it: its pages themselves, or a copy where
 * the interface cannot do that. NULL without memory. Caller: lock of the region's endpoint.
 */
struct sk_buff *emx_tx_region(const struct emx_board *board, const void *header, u32 length,
			      const struct emx_region *region, u64 position, u32 bytes);
/*
 * A frame with a payload copied from a loose region, whose address space the caller uses; or an
 * ERR_PTR: -ENOMEM, -EFAULT. Sleeps.
 */
struct sk_buff *emx_tx_loose(const struct emx_board *board, const void *header, u32 length,
			     const struct emx_region *region, u64 position, u32 bytes);
/*
 * Sends a frame, to the wire or to a board of this namespace; consumes it. 0 or -EIO, counted: also
 * of a frame that is longer than the interface takes by now. Any context.
 */
int emx_tx(struct emx_board *board, struct sk_buff *skb);
/* Sends all frames of a list, sums up those that emx_sum_later() has marked. */
void emx_tx_all(struct emx_board *board, struct sk_buff_head *frames);

/* sum.c: checksums of the EtherMX extension */

/*
 * True if the checksum of an X MEDIUM or X DATA fits, or there is none; of X MEDIUM, the core need
 * not look then. Other packets have none. Any context.
 */
bool emx_sum_fits(struct sk_buff *skb, struct fw_pkt *pkt);
/* Makes emx_tx_all() fill in the checksum of a frame of X DATA with so many bytes of data. */
void emx_sum_later(struct sk_buff *skb, u32 bytes);
/* Fills in the checksum of a frame with that header and so many bytes of data behind it. */
void emx_sum_put(struct sk_buff *skb, u32 header, u32 bytes);
/* Fills in the checksum of a frame so marked; others stay as they are. Any context. */
void emx_sum_now(struct sk_buff *skb);
/* True if a run of replies is to have checksums. */
static inline bool emx_sum_wanted(const struct fw_replies *run)
{
	return run->reply.msg.type == EMX_X_DATA && run->reply.x.sum;
}

#endif

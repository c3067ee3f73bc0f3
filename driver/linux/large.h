/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Large messages: windows and the replies from them, pulls and the copies into them.
 */
#ifndef EMX_LINUX_LARGE_H
#define EMX_LINUX_LARGE_H

#include <linux/atomic.h>

#include "ethermx.h"

struct emx_region;

/* window.c; caller: endpoint->lock, and the endpoint is open */

/*
 * Gives a window its region, or none. Takes over the reference. Returns the region that it had, if
 * the caller is to give it up.
 */
struct emx_region *emx_window_exchange(struct emx_endpoint *ep, u16 slot,
				       struct emx_region *region);
/* Builds the frames of a run of replies; false when the program has given up the memory. */
bool emx_window_reply(struct emx_endpoint *ep, struct fw_replies *run, struct sk_buff_head *out);
/*
 * Something changes about those addresses. unmaps: they are another memory's from now on, and
 * pulls from there are refused. Loose regions notice by themselves.
 */
void emx_windows_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps);

/* pull.c; caller: endpoint->lock, unless it says that it sleeps */

/* Begins a pull in that slot of the core, which knows it by ep->pull_serial. */
void emx_pull_add(struct emx_endpoint *ep, int slot, struct emx_region *region, u64 cookie);
/* Frees the slot; the region may have to wait until nothing is copied into it. */
void emx_pull_forget(struct emx_endpoint *ep, struct emx_pull *pull);
/* Waits until nothing is written to the memory of pulls that were forgotten. Sleeps. */
void emx_pull_wait_for_ends(struct emx_endpoint *ep);
/* Ends all pulls without telling, and waits until nothing writes any more. Sleeps. */
void emx_pull_end_all(struct emx_endpoint *ep);
/* The core says that a pull has ended: tells the program. */
void emx_pull_done(struct emx_endpoint *ep, const struct emx_msg *msg);
/* A frame less is being copied into the region, which may be gone now. */
void emx_pull_copied(struct emx_endpoint *ep, struct emx_region *region);
/* Carries a copy out: from a frame into the pinned region of its pull, by the processor. */
void emx_pull_copy_here(struct emx_endpoint *ep, const struct fw_fx *fx, const struct sk_buff *skb);
/* Copies bytes of a frame into a region, by the processor. Any context. */
void emx_pull_copy_now(const struct emx_region *region, u64 position, const struct sk_buff *skb,
		       u32 from, u32 bytes);
/*
 * Something changes about those addresses, as for windows. True if pulls have failed: their effects
 * wait.
 */
bool emx_pulls_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps);
/* Bytes of pulls copied by the processor. */
extern atomic64_t emx_copied_cpu;

/* offload.c: copies by a DMA engine, where there is one */

void emx_offload_init(void);
/* Without endpoints. Sleeps. */
void emx_offload_exit(void);
/*
 * Starts the copy that the effect tells of, from a frame into the pinned region of its pull;
 * emx_pull_copied() follows. false when the processor is to do it. Caller: endpoint->lock.
 */
bool emx_offload_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb);
/* Bytes of pulls copied by a DMA engine; frames that one failed to copy. */
extern atomic64_t emx_copied_dma;
extern atomic64_t emx_dma_failed;

/* loose.c: work that waits for the thread of regions that are not pinned */

/* In skb->cb: a frame to be copied to the region of a pull. */
struct emx_loose_frame {
	struct emx_region *region; /* which stays: it counts its copies */
	u32 slot; /* of the pull, which may be another one's by now */
	u32 handle; /* of the pull */
	u32 position;
	u32 source;
	u32 bytes;
};

static inline struct emx_loose_frame *emx_loose_frame(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct emx_loose_frame) > sizeof(skb->cb));
	return (struct emx_loose_frame *)skb->cb;
}

/* A request whose replies are to be built. */
struct emx_loose_run {
	struct list_head list;
	struct fw_replies replies;
};

/* Prepares an endpoint; the work is that of the thread. */
void emx_loose_init(struct emx_endpoint *ep, work_func_t work);
/*
 * A new region, or an ERR_PTR, ready to be used by that endpoint should it be loose; else takes
 * over the region, and gives an ERR_PTR. Sleeps.
 */
struct emx_region *emx_loose_ready(struct emx_endpoint *ep, struct emx_region *region);
/* With the endpoint closed: nothing waits any more. Sleeps. */
void emx_loose_free(struct emx_endpoint *ep);
/* True if data of pulls has to be dropped for now. Caller: endpoint->lock. */
bool emx_loose_full(const struct emx_endpoint *ep);
/* Takes a frame to be copied to a loose region of a pull. Caller: endpoint->lock. */
void emx_loose_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb);
/* Takes a run of replies from a loose window. Caller: endpoint->lock. */
void emx_loose_reply(struct emx_endpoint *ep, const struct fw_replies *run);
/* The oldest frame that waits, for the caller, or NULL. Takes endpoint->lock. */
struct sk_buff *emx_loose_next_frame(struct emx_endpoint *ep);
/*
 * The oldest run that waits, for the caller to kfree(), or NULL; with a reference on the region of
 * its window, if there is one. Takes endpoint->lock.
 */
struct emx_loose_run *emx_loose_next_run(struct emx_endpoint *ep, struct emx_region **region);
/* Waits until nothing is copied any more for cancelled pulls. Sleeps. */
void emx_loose_flush(struct emx_endpoint *ep);

/* borrow.c: the thread that borrows the address space of loose regions */

void emx_borrow_work(struct work_struct *work);
/* Frees all work that waits; the endpoint is closed. Sleeps. */
void emx_borrow_close(struct emx_endpoint *ep);

#endif

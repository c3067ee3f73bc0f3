// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The thread of loose regions, which borrows the address space of the process to copy frames from
 * and to them. This costs one extra copy and a context switch, but messages of any size travel
 * under any limit of locked memory.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "board.h"
#include "effects.h"
#include "large.h"
#include "region.h"
#include "tracing.h"
#include "tx.h"

/* ---- pulls ---- */

static int emx_borrow_copy_out(const struct emx_endpoint *ep, struct sk_buff *skb)
{
	const struct emx_loose_frame *copy = emx_loose_frame(skb);
	u64 position = copy->position;
	u32 left = copy->bytes;
	u32 from = copy->source;
	void __user *address;
	struct iov_iter to;
	u32 n;

	for (; left; left -= n, position += n, from += n) {
		n = min(left, emx_region_address(copy->region, position, &address));
		iov_iter_ubuf(&to, READ, address, n);
		if (skb_copy_datagram_iter(skb, from, &to, n))
			return -EFAULT;
	}
	emx_tell_copied(ep, copy->handle, copy->position, copy->bytes, EMX_BY_THREAD);
	return 0;
}

/* There is no such memory: the pull ends with an error. Between begin and end. */
static void emx_borrow_fail(struct emx_effects *now, const struct emx_loose_frame *copy)
{
	if (copy->region->over) {
		copy->region->event.u.pull.status = EMX_PULL_ABORTED;
	} else if (now->ep->open) {
		fw_pull_fail(now->ep->fw, copy->slot, EMX_PULL_ABORTED);
		emx_effects_run_waiting(now);
	}
}

/* After a copy. The region may be gone then. */
static void emx_borrow_copied(struct emx_endpoint *ep, const struct emx_loose_frame *copy, int err)
{
	struct emx_effects now;

	emx_effects_begin(&now, ep, EMX_IN_PROCESS);
	if (err)
		emx_borrow_fail(&now, copy);
	emx_pull_copied(ep, copy->region);
	emx_effects_end(&now, EMX_IN_PROCESS);
}

/* Drops the data of a cancelled pull: its memory is the program's again. */
static bool emx_borrow_cancelled(const struct emx_region *region)
{
	return READ_ONCE(region->over) && !READ_ONCE(region->owed);
}

static void emx_borrow_copy_frames(struct emx_endpoint *ep, bool usable)
{
	struct sk_buff *skb;
	int err;

	while ((skb = emx_loose_next_frame(ep))) {
		err = usable ? 0 : -EFAULT;
		if (!err && !emx_borrow_cancelled(emx_loose_frame(skb)->region))
			err = emx_borrow_copy_out(ep, skb);
		emx_borrow_copied(ep, emx_loose_frame(skb), err);
		consume_skb(skb);
		cond_resched();
	}
}

/* ---- windows ---- */

static void emx_borrow_count(struct emx_endpoint *ep, unsigned int counter)
{
	spin_lock_bh(&ep->lock);
	emx_count(&ep->counters, counter, 1);
	emx_counters_show(ep);
	spin_unlock_bh(&ep->lock);
}

/* There is no such memory: pulls from it fail, at both ends. */
static void emx_borrow_refuse(struct emx_endpoint *ep, const struct fw_replies *run)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };
	struct emx_effects now;

	if (emx_effects_begin(&now, ep, EMX_IN_PROCESS)) {
		fw_replies_refuse(ep->fw, run, &fx);
		emx_effects_run(&now, &fx, 0, NULL);
	}
	emx_effects_end(&now, EMX_IN_PROCESS);
}

/* As emx_window_reply(), one frame at a time, since each copy may sleep. */
static void emx_borrow_send_run(struct emx_endpoint *ep, struct fw_replies *run,
				const struct emx_region *region)
{
	struct emx_board *board = ep->board;
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	u32 position;
	u32 length;
	u64 from;

	fw_encode(&board->fw.sizes, &run->reply, header);
	while (run->count) {
		length = fw_replies_take(run, header, &position);
		from = (u64)run->window_offset + position;
		/* The window may be another one by now. */
		if (!region->loose || from + length > region->length)
			return;
		skb = emx_tx_loose(board, header, fw_replies_header(run), region, from, length);
		if (skb == ERR_PTR(-EFAULT)) {
			emx_borrow_refuse(ep, run);
			return;
		}
		emx_borrow_count(ep, IS_ERR(skb) ? EMX_CNT_TX_FAILED : emx_reply_counter(run));
		if (IS_ERR(skb))
			continue;
		if (emx_sum_wanted(run))
			emx_sum_later(skb, length);
		emx_sum_now(skb);
		emx_tx(board, skb);
	}
}

static void emx_borrow_send_runs(struct emx_endpoint *ep, bool usable)
{
	struct emx_region *region;
	struct emx_loose_run *run;

	while ((run = emx_loose_next_run(ep, &region))) {
		if (region && usable)
			emx_borrow_send_run(ep, &run->replies, region);
		emx_region_put(region);
		kfree(run);
		cond_resched();
	}
}

/* ---- the thread ---- */

void emx_borrow_work(struct work_struct *work)
{
	struct emx_endpoint *ep = container_of(work, struct emx_endpoint, loose_work);
	bool usable = mmget_not_zero(ep->mm); /* else the process has ended */

	if (usable)
		kthread_use_mm(ep->mm);
	emx_borrow_send_runs(ep, usable);
	emx_borrow_copy_frames(ep, usable);
	if (usable) {
		kthread_unuse_mm(ep->mm);
		/* If that was its last use, its endpoints are closed, which waits for this work. */
		mmput_async(ep->mm);
	}
}

void emx_borrow_close(struct emx_endpoint *ep)
{
	cancel_work_sync(&ep->loose_work);
	/* Nothing is added any more, and without an address space nothing is touched. */
	emx_borrow_send_runs(ep, false);
	emx_borrow_copy_frames(ep, false);
}

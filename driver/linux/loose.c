// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Loose regions: memory beyond the limit of locked memory, or that cannot be pinned. Frames from
 * and to it wait for a thread that borrows the address space of the process. That costs a copy more
 * and a change of threads, but messages of any size travel whatever the limit is.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "ethermx.h"

/* Frames of pulls that wait to be copied, at most: more are dropped, and asked for again. */
#define FRAMES_MAX 256
/* Requests whose replies wait to be built, at most. */
#define RUNS_MAX 64

atomic64_t emx_regions_loose;

/* In skb->cb: what is to be done with a frame. */
struct copy {
	struct emx_region *region; /* which stays: it counts its copies */
	u32 slot; /* of the pull, which may be another one's by now */
	u32 position;
	u32 source;
	u32 bytes;
};

struct run {
	struct list_head list;
	struct fw_replies replies;
};

static struct copy *copy_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct copy) > sizeof(skb->cb));
	return (struct copy *)skb->cb;
}

/* ---- what waits; caller: endpoint->lock ---- */

bool emx_loose_full(const struct emx_endpoint *ep)
{
	return skb_queue_len(&ep->loose_frames) >= FRAMES_MAX;
}

void emx_loose_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb)
{
	/* Nobody else has it: the receive path is done with it when this returns. */
	struct sk_buff *kept = skb_get(skb);
	struct copy *copy = copy_of(kept);

	copy->region = ep->pull[fx->u.copy.pull].region;
	copy->slot = fx->u.copy.pull;
	copy->position = fx->u.copy.position;
	copy->source = fx->u.copy.source;
	copy->bytes = fx->u.copy.length;
	copy->region->copying++;
	__skb_queue_tail(&ep->loose_frames, kept);
	queue_work(ep->loose_queue, &ep->loose_work);
}

void emx_loose_reply(struct emx_endpoint *ep, const struct fw_replies *replies)
{
	struct run *run = NULL;

	if (ep->loose_run_count < RUNS_MAX)
		run = kmalloc(sizeof(*run), GFP_ATOMIC);
	if (!run) {
		emx_count(&ep->counters, EMX_CNT_DROP_PULL_BUSY, 1);
		return;
	}
	run->replies = *replies;
	list_add_tail(&run->list, &ep->loose_runs);
	ep->loose_run_count++;
	queue_work(ep->loose_queue, &ep->loose_work);
}

/* ---- pulls ---- */

static int copy_out(struct sk_buff *skb)
{
	const struct copy *copy = copy_of(skb);
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
	return 0;
}

static struct sk_buff *next_frame(struct emx_endpoint *ep)
{
	struct sk_buff *skb;

	spin_lock_bh(&ep->lock);
	skb = __skb_dequeue(&ep->loose_frames);
	spin_unlock_bh(&ep->lock);
	return skb;
}

/* There is no such memory: the pull ends with an error. Caller: endpoint->lock. */
static void fail(struct emx_endpoint *ep, const struct copy *copy, struct sk_buff_head *out)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };

	if (copy->region->over) {
		copy->region->event.u.pull.status = EMX_PULL_ABORTED;
	} else if (ep->open) {
		fw_pull_fail(ep->fw, copy->slot, EMX_PULL_ABORTED);
		emx_effects(ep, &fx, 1, NULL, out);
	}
}

/* After a copy. The region may be gone then. */
static void copied(struct emx_endpoint *ep, const struct copy *copy, int err)
{
	struct sk_buff_head out;

	__skb_queue_head_init(&out);
	spin_lock_bh(&ep->lock);
	if (err)
		fail(ep, copy, &out);
	emx_pull_copied(ep, copy->region);
	spin_unlock_bh(&ep->lock);
	emx_tx_all(ep->board, &out);
}

/* Nobody waits for the data of a pull that was cancelled, and its memory is the program's again. */
static bool cancelled(const struct emx_region *region)
{
	return READ_ONCE(region->over) && !READ_ONCE(region->owed);
}

static void copy_frames(struct emx_endpoint *ep, bool usable)
{
	struct sk_buff *skb;
	int err;

	while ((skb = next_frame(ep))) {
		err = usable ? 0 : -EFAULT;
		if (!err && !cancelled(copy_of(skb)->region))
			err = copy_out(skb);
		copied(ep, copy_of(skb), err);
		consume_skb(skb);
		cond_resched();
	}
}

/* ---- windows ---- */

static struct run *next_run(struct emx_endpoint *ep, struct emx_region **region)
{
	struct run *run;

	*region = NULL;
	spin_lock_bh(&ep->lock);
	run = list_first_entry_or_null(&ep->loose_runs, struct run, list);
	if (run) {
		list_del(&run->list);
		ep->loose_run_count--;
		*region = ep->window[run->replies.window];
		if (*region)
			kref_get(&(*region)->ref);
	}
	spin_unlock_bh(&ep->lock);
	return run;
}

static void count(struct emx_endpoint *ep, unsigned int counter)
{
	spin_lock_bh(&ep->lock);
	emx_count(&ep->counters, counter, 1);
	emx_counters_show(ep);
	spin_unlock_bh(&ep->lock);
}

/* There is no such memory: what is pulled from it fails, at both ends. */
static void refuse(struct emx_endpoint *ep, const struct fw_replies *run)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };
	struct sk_buff_head out;

	__skb_queue_head_init(&out);
	spin_lock_bh(&ep->lock);
	if (ep->open) {
		fw_replies_refuse(ep->fw, run, &fx);
		emx_effects(ep, &fx, 0, NULL, &out);
	}
	spin_unlock_bh(&ep->lock);
	emx_tx_all(ep->board, &out);
}

/* As emx_window_reply(), one frame at a time, since each copy may sleep. */
static void send_run(struct emx_endpoint *ep, struct fw_replies *run,
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
			refuse(ep, run);
			return;
		}
		count(ep, IS_ERR(skb) ? EMX_CNT_TX_FAILED : emx_reply_counter(run));
		if (IS_ERR(skb))
			continue;
		if (emx_sum_wanted(run))
			emx_sum_later(skb, length);
		emx_sum_now(skb);
		emx_tx(board, skb);
	}
}

static void send_runs(struct emx_endpoint *ep, bool usable)
{
	struct emx_region *region;
	struct run *run;

	while ((run = next_run(ep, &region))) {
		if (region && usable)
			send_run(ep, &run->replies, region);
		emx_region_put(region);
		kfree(run);
		cond_resched();
	}
}

/* ---- the thread ---- */

static void loose_work(struct work_struct *work)
{
	struct emx_endpoint *ep = container_of(work, struct emx_endpoint, loose_work);
	bool usable = mmget_not_zero(ep->mm); /* else the process has ended */

	if (usable)
		kthread_use_mm(ep->mm);
	send_runs(ep, usable);
	copy_frames(ep, usable);
	if (usable) {
		kthread_unuse_mm(ep->mm);
		/* If that was its last use, its endpoints are closed, which waits for this work. */
		mmput_async(ep->mm);
	}
}

void emx_loose_init(struct emx_endpoint *ep)
{
	__skb_queue_head_init(&ep->loose_frames);
	INIT_LIST_HEAD(&ep->loose_runs);
	INIT_WORK(&ep->loose_work, loose_work);
}

/*
 * Each endpoint has a queue of its own: a page fault of its program may never end, where another
 * program serves it, and such works are not to keep those of others waiting.
 */
static int make_queue(struct emx_endpoint *ep)
{
	struct workqueue_struct *queue;

	if (READ_ONCE(ep->loose_queue))
		return 0;
	queue = alloc_workqueue("ethermx-loose", WQ_UNBOUND, 1);
	if (!queue)
		return -ENOMEM;
	if (cmpxchg(&ep->loose_queue, NULL, queue))
		destroy_workqueue(queue);
	return 0;
}

struct emx_region *emx_loose_ready(struct emx_endpoint *ep, struct emx_region *region)
{
	if (IS_ERR(region) || !region->loose || !make_queue(ep))
		return region;
	emx_region_put(region);
	return ERR_PTR(-ENOMEM);
}

void emx_loose_free(struct emx_endpoint *ep)
{
	if (ep->loose_queue)
		destroy_workqueue(ep->loose_queue);
}

void emx_loose_flush(struct emx_endpoint *ep)
{
	flush_work(&ep->loose_work);
}

void emx_loose_close(struct emx_endpoint *ep)
{
	cancel_work_sync(&ep->loose_work);
	/* Nothing is added any more, and without an address space nothing is touched. */
	send_runs(ep, false);
	copy_frames(ep, false);
}

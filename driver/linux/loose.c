// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Loose regions: memory beyond the limit of locked memory, or that cannot be pinned. Frames to it
 * and requests for it wait here for the thread of borrow.c.
 */
#include <linux/slab.h>

#include "large.h"
#include "region.h"
#include "tracing.h"

/* Frames of pulls that wait to be copied, at most: more are dropped, and asked for again. */
#define FRAMES_MAX 256
/* Requests whose replies wait to be built, at most. */
#define RUNS_MAX 64

/* ---- what waits; caller: endpoint->lock ---- */

bool emx_loose_full(const struct emx_endpoint *ep)
{
	return skb_queue_len(&ep->loose_frames) >= FRAMES_MAX;
}

void emx_loose_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb)
{
	/* Nobody else has it: the receive path is done with it when this returns. */
	struct sk_buff *kept = skb_get(skb);
	struct emx_loose_frame *copy = emx_loose_frame(kept);

	copy->region = ep->pull[fx->u.copy.pull].region;
	copy->slot = fx->u.copy.pull;
	copy->handle = ep->fw->pull[fx->u.copy.pull].handle;
	copy->position = fx->u.copy.position;
	copy->source = fx->u.copy.source;
	copy->bytes = fx->u.copy.length;
	copy->region->copying++;
	__skb_queue_tail(&ep->loose_frames, kept);
	queue_work(ep->loose_queue, &ep->loose_work);
}

void emx_loose_reply(struct emx_endpoint *ep, const struct fw_replies *replies)
{
	struct emx_loose_run *run = NULL;

	if (ep->loose_run_count < RUNS_MAX)
		run = kmalloc(sizeof(*run), GFP_ATOMIC);
	if (!run) {
		emx_drop(ep, NULL, EMX_CNT_DROP_PULL_BUSY);
		return;
	}
	run->replies = *replies;
	list_add_tail(&run->list, &ep->loose_runs);
	ep->loose_run_count++;
	queue_work(ep->loose_queue, &ep->loose_work);
}

/* ---- what the thread takes ---- */

struct sk_buff *emx_loose_next_frame(struct emx_endpoint *ep)
{
	struct sk_buff *skb;

	spin_lock_bh(&ep->lock);
	skb = __skb_dequeue(&ep->loose_frames);
	spin_unlock_bh(&ep->lock);
	return skb;
}

struct emx_loose_run *emx_loose_next_run(struct emx_endpoint *ep, struct emx_region **region)
{
	struct emx_loose_run *run;

	*region = NULL;
	spin_lock_bh(&ep->lock);
	run = list_first_entry_or_null(&ep->loose_runs, struct emx_loose_run, list);
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

/* ---- the queue of an endpoint ---- */

void emx_loose_init(struct emx_endpoint *ep, work_func_t work)
{
	__skb_queue_head_init(&ep->loose_frames);
	INIT_LIST_HEAD(&ep->loose_runs);
	INIT_WORK(&ep->loose_work, work);
}

/*
 * Each endpoint has a queue of its own: a page fault of its program may never end, where another
 * program serves it, and such works are not to keep those of others waiting.
 */
static int emx_loose_make_queue(struct emx_endpoint *ep)
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
	if (IS_ERR(region) || !region->loose || !emx_loose_make_queue(ep))
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

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Pulls: large messages that come in, copied once, from the frame to the pinned pages of the
 * program, whether it calls the library meanwhile or not.
 */
#include <linux/highmem.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "ethermx.h"

/* The timer may end so much later: what becomes due meanwhile costs no further interrupt. */
#define SLACK_NS (100 * NSEC_PER_USEC)

/* ---- ends; caller: endpoint->lock ---- */

/* Nothing writes to the region any more. */
static void end(struct emx_endpoint *ep, struct emx_region *region)
{
	emx_region_end(ep, region);
	ep->reserved--;
	if (region->owed)
		emx_event_pull(ep, &region->event);
}

/* Frees the slot; the region may have to wait for those who copy into it. */
static void forget(struct emx_endpoint *ep, struct emx_pull *pull)
{
	struct emx_region *region = pull->region;

	pull->region = NULL;
	region->over = true;
	if (region->copying) {
		region->stale = true; /* in no list it hears of no change */
		ep->ending++;
	} else {
		end(ep, region);
	}
}

void emx_pull_copied(struct emx_endpoint *ep, struct emx_region *region)
{
	if (--region->copying || !region->over)
		return;
	end(ep, region);
	if (!--ep->ending)
		wake_up_all(&ep->ended);
}

/* Until nothing is written to the memory of pulls that were forgotten. Sleeps. */
static void wait_for_ending(struct emx_endpoint *ep)
{
	wait_event(ep->ended, !READ_ONCE(ep->ending));
	flush_work(&ep->reap);
}

void emx_pull_end_all(struct emx_endpoint *ep)
{
	u32 i;

	spin_lock_bh(&ep->lock);
	for (i = 0; i < FW_PULLS; i++) {
		if (ep->pull[i].region)
			forget(ep, &ep->pull[i]);
	}
	spin_unlock_bh(&ep->lock);
	wait_for_ending(ep);
}

void emx_pull_done(struct emx_endpoint *ep, const struct emx_msg *msg)
{
	u32 i;

	for (i = 0; i < FW_PULLS; i++) {
		struct emx_pull *pull = &ep->pull[i];

		if (!pull->region || pull->serial != msg->u.pull.cookie)
			continue;
		pull->region->owed = true;
		pull->region->event = *msg;
		pull->region->event.u.pull.cookie = pull->cookie;
		forget(ep, pull);
		return;
	}
	WARN_ON_ONCE(1);
}

/* ---- data ---- */

static int copy_span(const struct sk_buff *skb, u32 from, struct page *page, u32 offset, u32 bytes)
{
	void *to = kmap_local_page(page);
	int err = skb_copy_bits(skb, from, to + offset, bytes);

	kunmap_local(to);
	return err;
}

void emx_pull_copy_now(const struct emx_region *region, u64 position, const struct sk_buff *skb,
		       u32 from, u32 bytes)
{
	struct page *page;
	u32 offset;
	u32 n;

	atomic64_add(bytes, &emx_copied_cpu);
	for (; bytes; bytes -= n, position += n, from += n) {
		n = min(bytes, emx_region_span(region, position, &page, &offset));
		if (WARN_ON_ONCE(copy_span(skb, from, page, offset, n)))
			return;
	}
}

void emx_pull_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb)
{
	struct emx_region *region = ep->pull[fx->u.copy.pull].region;
	u64 position = fx->u.copy.position;
	u32 bytes = fx->u.copy.length;
	u32 from = fx->u.copy.source;

	if (WARN_ON_ONCE(!region || position + bytes > region->length))
		return;
	if (region->loose)
		emx_loose_copy(ep, fx, skb);
	else if (!emx_offload_copy(ep, region, position, skb, from, bytes))
		emx_pull_copy_now(region, position, skb, from, bytes);
	emx_count(&ep->counters, EMX_CNT_PULL_PLACED, 1);
}

/* ---- memory that is gone ---- */

void emx_pulls_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps,
		       struct sk_buff_head *out)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };
	bool any = false;
	int i;

	/* A running pull has an entry reserved. */
	for (i = 0; i < FW_PULLS && ep->reserved; i++) {
		struct emx_region *region = ep->pull[i].region;

		if (!region || region->loose || !emx_ranges_meet(&region->span, range))
			continue;
		region->stale = true;
		if (!unmaps || !emx_region_touches(region, range))
			continue;
		fw_pull_fail(ep->fw, i, EMX_PULL_ABORTED);
		any = true;
	}
	if (any)
		emx_effects(ep, &fx, 1, NULL, out);
}

/* ---- time ---- */

void emx_pull_arm(struct emx_endpoint *ep)
{
	u64 deadline = fw_deadline(ep->fw);

	if (deadline == ~0ull || !ep->open)
		return;
	if (hrtimer_is_queued(&ep->timer) && ep->timer_ns <= deadline)
		return;
	ep->timer_ns = deadline;
	hrtimer_start_range_ns(&ep->timer, ns_to_ktime(deadline), SLACK_NS, HRTIMER_MODE_ABS_SOFT);
}

enum hrtimer_restart emx_pull_timer(struct hrtimer *timer)
{
	struct emx_endpoint *ep = container_of(timer, struct emx_endpoint, timer);
	struct fw_fx fx = { .kind = FW_FX_NONE };
	struct sk_buff_head out;

	__skb_queue_head_init(&out);
	spin_lock(&ep->lock);
	if (ep->open) {
		fw_tick(ep->fw, ktime_get_ns());
		emx_effects(ep, &fx, 1, NULL, &out);
	}
	spin_unlock(&ep->lock);
	emx_tx_all(ep->board, &out);
	return HRTIMER_NORESTART; /* emx_pull_arm() has started it, if it is needed */
}

/* ---- commands ---- */

static bool is_local(const struct emx_board *board, u32 index)
{
	const struct fw_peer *peer = fw_peer(board->fw.peers, index);

	return peer && emx_peer_is_local(board, READ_ONCE(peer->mac));
}

/*
 * With frames no longer than the interface takes now, which may be less than was agreed on; and
 * without checksums what never leaves the host.
 */
static struct emx_msg announced(const struct emx_endpoint *ep, const struct emx_msg *rndv)
{
	const u64 offer = rndv->data;
	u16 features = emx_offer_features(offer);
	struct emx_msg msg = *rndv;

	if (features & EMX_X_SUMS && is_local(ep->board, rndv->peer))
		features &= ~EMX_X_SUMS;
	msg.data = emx_offer(emx_offer_newest(offer), emx_offer_oldest(offer), features,
			     min_t(u32, emx_offer_frame(offer), emx_board_x_frame(ep->board)),
			     emx_offer_frames(offer));
	return msg;
}

/* Caller: endpoint->lock. */
static int start(struct emx_endpoint *ep, const struct emx_dev_command *command,
		 struct emx_region *region, struct sk_buff_head *out)
{
	const struct emx_msg rndv = announced(ep, &command->msg);
	struct fw_fx fx = { .kind = FW_FX_NONE };
	u64 serial = ++ep->pull_serial;
	int slot;

	if (!ep->open)
		return -EBADF;
	if (!emx_event_room(ep))
		return -EBUSY;
	slot = fw_pull_start(ep->fw, &rndv, command->length, serial, ktime_get_ns());
	if (slot < 0)
		return -EBUSY;
	emx_region_begin(ep, region);
	ep->pull[slot].region = region;
	ep->pull[slot].cookie = command->cookie;
	ep->pull[slot].serial = serial;
	ep->reserved++;
	emx_effects(ep, &fx, 1, NULL, out);
	return 0;
}

static struct emx_region *pin(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	return emx_region_pin(ep, u64_to_user_ptr(command->segments), command->segment_count,
			      command->length, true);
}

int emx_pull_start(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	struct emx_region *region;
	struct sk_buff_head out;
	int err;

	region = pin(ep, command);
	/* Regions whose pulls have ended are not to count against the limit: try again. */
	if (!IS_ERR(region) && region->loose && flush_work(&ep->reap)) {
		emx_region_put(region);
		region = pin(ep, command);
	}
	region = emx_loose_ready(ep, region);
	if (IS_ERR(region))
		return PTR_ERR(region);
	__skb_queue_head_init(&out);
	spin_lock_bh(&ep->lock);
	err = start(ep, command, region, &out);
	spin_unlock_bh(&ep->lock);
	if (err)
		emx_region_put(region);
	emx_tx_all(ep->board, &out);
	return err;
}

int emx_pull_cancel(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };
	struct sk_buff_head out;
	u32 i;

	__skb_queue_head_init(&out);
	spin_lock_bh(&ep->lock);
	for (i = 0; i < FW_PULLS && ep->open; i++) {
		struct emx_pull *pull = &ep->pull[i];

		if (!pull->region || pull->cookie != command->cookie)
			continue;
		fw_pull_cancel(ep->fw, pull->serial);
		forget(ep, pull);
	}
	/* Others may have what it had under way. */
	if (ep->open)
		emx_effects(ep, &fx, 1, NULL, &out);
	spin_unlock_bh(&ep->lock);
	emx_tx_all(ep->board, &out);
	emx_loose_flush(ep);
	wait_for_ending(ep);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Pulls: large messages that come in, copied once, from the frame to the pinned pages of the
 * program, whether it calls the library meanwhile or not. This file: the slots, which are by those
 * of the core, copying by the processor, and ends.
 */
#include <linux/highmem.h>

#include "endpoint.h"
#include "large.h"
#include "region.h"
#include "tracing.h"

atomic64_t emx_copied_cpu;

void emx_pull_add(struct emx_endpoint *ep, int slot, struct emx_region *region, u64 cookie)
{
	struct emx_pull *pull = &ep->pull[slot];

	emx_region_begin(ep, region);
	pull->region = region;
	pull->cookie = cookie;
	pull->serial = ep->pull_serial;
	ep->reserved++;
	emx_tell_pull_started(ep, slot);
}

/* ---- ends; caller: endpoint->lock ---- */

/* Nothing writes to the region any more. */
static void emx_pull_end(struct emx_endpoint *ep, struct emx_region *region)
{
	emx_region_end(ep, region);
	ep->reserved--;
	if (region->owed)
		emx_event_pull(ep, &region->event);
}

void emx_pull_forget(struct emx_endpoint *ep, struct emx_pull *pull)
{
	struct emx_region *region = pull->region;

	emx_tell_pull_ended(ep, pull - ep->pull,
			    region->owed ? region->event.u.pull.status : EMX_TRACE_CANCELLED);
	pull->region = NULL;
	region->over = true;
	if (region->copying) {
		region->stale = true; /* in no list it hears of no change */
		ep->ending++;
	} else {
		emx_pull_end(ep, region);
	}
}

void emx_pull_copied(struct emx_endpoint *ep, struct emx_region *region)
{
	if (--region->copying || !region->over)
		return;
	emx_pull_end(ep, region);
	if (!--ep->ending)
		wake_up_all(&ep->ended);
}

void emx_pull_wait_for_ends(struct emx_endpoint *ep)
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
			emx_pull_forget(ep, &ep->pull[i]);
	}
	spin_unlock_bh(&ep->lock);
	emx_pull_wait_for_ends(ep);
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
		emx_pull_forget(ep, pull);
		return;
	}
	WARN_ON_ONCE(1);
}

/* ---- data ---- */

static int emx_pull_copy_span(const struct sk_buff *skb, u32 from, struct page *page, u32 offset,
			      u32 bytes)
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
		if (WARN_ON_ONCE(emx_pull_copy_span(skb, from, page, offset, n)))
			return;
	}
}

void emx_pull_copy_here(struct emx_endpoint *ep, const struct fw_fx *fx, const struct sk_buff *skb)
{
	const u16 slot = fx->u.copy.pull;

	emx_pull_copy_now(ep->pull[slot].region, fx->u.copy.position, skb, fx->u.copy.source,
			  fx->u.copy.length);
	emx_tell_copied(ep, ep->fw->pull[slot].handle, fx->u.copy.position, fx->u.copy.length,
			EMX_BY_PROCESSOR);
}

/* ---- memory that is gone ---- */

bool emx_pulls_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps)
{
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
	return any;
}

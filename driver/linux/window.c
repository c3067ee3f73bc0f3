// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Windows: messages on offer, and the replies to pulls of them, sent from the program's own pages.
 *
 * Frames on their way hold references on the pages, not on the region: so a window can be closed at
 * any time, and what leaves after that is a frame that its receiver no longer waits for.
 */
#include "board.h"
#include "large.h"
#include "region.h"
#include "tx.h"

/* In the list are those that a window has. Caller: endpoint->lock, and the endpoint is open. */
static void emx_window_list(struct emx_endpoint *ep, struct emx_region *region,
			    struct emx_region *old)
{
	if (old)
		list_del_init(&old->offered);
	if (!region || region->loose)
		return;
	if (list_empty(&ep->offered))
		ep->offered_range = region->span;
	ep->offered_range.begin = min(ep->offered_range.begin, region->span.begin);
	ep->offered_range.end = max(ep->offered_range.end, region->span.end);
	list_add(&region->offered, &ep->offered);
}

struct emx_region *emx_window_exchange(struct emx_endpoint *ep, u16 slot, struct emx_region *region)
{
	struct emx_region *old = ep->window[slot];

	ep->window[slot] = region;
	emx_window_list(ep, region, old);
	return old && emx_idle_add(ep, old) ? NULL : old;
}

/* There may be thousands of windows, and most of what a program changes was in none. */
void emx_windows_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps)
{
	struct emx_region *region;

	if (list_empty(&ep->offered) || !emx_ranges_meet(&ep->offered_range, range))
		return;
	list_for_each_entry(region, &ep->offered, offered) {
		if (!emx_ranges_meet(&region->span, range))
			continue;
		region->stale = true;
		if (unmaps && emx_region_touches(region, range))
			region->unmapped = true;
	}
}

/* Takes the next frame off a run; NULL when it cannot be built. */
static struct sk_buff *emx_window_next_reply(const struct emx_board *board,
					     const struct emx_region *region,
					     struct fw_replies *run, u8 *header)
{
	u32 position;
	u32 length = fw_replies_take(run, header, &position);
	u64 from = (u64)run->window_offset + position;
	struct sk_buff *skb;

	if (WARN_ON_ONCE(from + length > region->length))
		return NULL;
	skb = emx_tx_region(board, header, fw_replies_header(run), region, from, length);
	if (skb && emx_sum_wanted(run))
		emx_sum_later(skb, length);
	return skb;
}

bool emx_window_reply(struct emx_endpoint *ep, struct fw_replies *run, struct sk_buff_head *out)
{
	const struct emx_board *board = ep->board;
	const struct emx_region *region = ep->window[run->window];
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;

	if (WARN_ON_ONCE(!region))
		return true;
	if (region->unmapped)
		return false;
	if (region->loose) {
		emx_loose_reply(ep, run);
		return true;
	}
	fw_encode(&board->fw.sizes, &run->reply, header);
	while (run->count) {
		skb = emx_window_next_reply(board, region, run, header);
		emx_count(&ep->counters, skb ? emx_reply_counter(run) : EMX_CNT_TX_FAILED, 1);
		if (skb)
			__skb_queue_tail(out, skb);
	}
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The replier of the EtherMX extension: X PULL requests served from the windows of fw_pull_rep.c
 * (docs/protocol.md). It keeps no state per request.
 */
#include "fw_xpull.h"

static int is_wanted(const __u8 *want, __u32 bit)
{
	return want[bit / 8] >> bit % 8 & 1;
}

/* Frames wanted; *last: the bit of the last. */
static __u32 count_wanted(const __u8 *want, __u32 *last)
{
	__u32 n = 0, bit;

	for (bit = 0; bit < 8 * EMX_X_WANT_LEN; bit++) {
		if (!is_wanted(want, bit))
			continue;
		*last = bit;
		n++;
	}
	return n;
}

/* fw_check passed the packet: all that is wanted begins within the pull. */
static int is_within(const struct fw_window *w, const struct fw_pkt *pkt, __u32 last)
{
	__u64 end = ((__u64)pkt->frame + last + 1) * pkt->x.unit;

	if (end > pkt->total)
		end = pkt->total;
	return pkt->msg.u.window.offset + end <= w->length;
}

static void describe(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u32 count,
		     struct fw_replies *r)
{
	fw_replies_begin(ep, pkt, EMX_X_DATA, r);
	r->count = (__u8)count;
	r->unit = pkt->x.unit;
	r->position = pkt->frame * pkt->x.unit;
	r->length = pkt->total - r->position;
	__builtin_memcpy(r->want, pkt->x.want, sizeof(r->want));
	r->reply.x.request = pkt->x.request;
	r->reply.x.sum = pkt->x.sum;
}

void fw_xpull_serve(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	const struct fw_window *w;
	__u32 count, last = 0;

	(void)now;
	if (!ep->x_frame) {
		fw_drop(fx, EMX_CNT_DROP_EXTENSION);
		return;
	}
	w = fw_window_of(ep, pkt);
	if (!w) {
		fw_nack_mcp(ep->board, pkt, EMX_NACK_BAD_WINDOW, fx);
		return;
	}
	count = count_wanted(pkt->x.want, &last);
	if (FW_X_DATA_HEADER + pkt->x.unit > ep->x_frame) {
		fw_drop(fx, EMX_CNT_DROP_PULL_SHAPE);
		return;
	}
	if (!is_within(w, pkt, last)) {
		fw_drop(fx, EMX_CNT_DROP_PULL_RANGE);
		return;
	}
	fx->kind = FW_FX_REPLIES;
	fx->counter = EMX_CNT_TX_X_DATA;
	describe(ep, pkt, count, &fx->u.replies);
}

__u32 fw_xpull_take(struct fw_replies *run, void *hdr, __u32 *position)
{
	const __u32 bytes = run->length < run->unit ? run->length : run->unit;

	if (hdr)
		fw_x_data_place(hdr, run->first + run->bit, bytes);
	*position = run->position;
	if (--run->count == 0)
		return bytes;
	do {
		run->bit++;
		run->position += run->unit;
		run->length -= run->unit;
	} while (!is_wanted(run->want, run->bit));
	return bytes;
}

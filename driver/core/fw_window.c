/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The replier of large messages: windows, and PULL and X PULL served from them (wire specification,
 * section 10.2; docs/protocol.md). It keeps no state per request.
 */
#include "fw_internal.h"

void fw_window_open(struct fw_endpoint *ep, __u8 id, __u8 tag, __u32 peer, __u8 remote_ep,
		    __u64 length)
{
	struct fw_window *w = &ep->window[fw_window_slot(id, tag)];

	w->length = length;
	w->peer = peer;
	w->remote_ep = remote_ep;
	w->tag = tag;
	w->used = 1;
}

void fw_window_close(struct fw_endpoint *ep, __u8 id, __u8 tag)
{
	ep->window[fw_window_slot(id, tag)].used = 0;
}

/* The window that a request names; it serves only the endpoint its message was announced to. */
static const struct fw_window *window_of(const struct fw_endpoint *ep, const struct fw_pkt *pkt)
{
	const struct fw_window *w;

	if (pkt->window > 0xff)
		return FW_NULL;
	w = &ep->window[fw_window_slot((__u8)pkt->window, pkt->msg.u.window.tag)];
	if (!w->used || w->tag != pkt->msg.u.window.tag || w->peer != pkt->msg.peer ||
	    w->remote_ep != pkt->msg.remote_ep)
		return FW_NULL;
	return w;
}

/* ---- runs of replies ---- */

/* Fills in what all replies to a request have in common. */
static void begin_replies(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u8 type,
			  struct fw_replies *r)
{
	const struct fw_board *b = ep->board;

	fw_zero(r, sizeof(*r));
	r->window = fw_window_slot((__u8)pkt->window, pkt->msg.u.window.tag);
	r->first = pkt->frame;
	r->window_offset = pkt->msg.u.window.offset;
	r->reply.msg.type = type;
	r->reply.msg.local_ep = pkt->msg.remote_ep;
	r->reply.msg.remote_ep = ep->number;
	r->reply.msg.peer = pkt->msg.peer;
	r->reply.dst_mac = pkt->src_mac;
	r->reply.src_mac = b->mac;
	r->reply.tag = fw_tag(b, pkt->msg.peer);
	r->reply.handle = pkt->handle;
	r->reply.magic = pkt->magic;
}

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

static __u32 take_x_data(struct fw_replies *run, void *hdr, __u32 *position)
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

__u32 fw_replies_take(struct fw_replies *run, void *hdr, __u32 *position)
{
	const __u32 full = run->len_first ? run->len_first : run->unit;
	const __u32 bytes = run->length < full ? run->length : full;

	if (run->reply.msg.type == EMX_X_DATA)
		return take_x_data(run, hdr, position);
	if (hdr)
		fw_reply_place(hdr, run->first, run->position, bytes);
	*position = run->position;
	run->first++;
	run->position += bytes;
	run->length -= bytes;
	run->len_first = 0; /* from now on full frames */
	run->count--;
	return bytes;
}

/* ---- requests: each returns 0, or the reason for the drop ---- */

static int serve_pull(const struct fw_endpoint *ep, const struct fw_window *w,
		      const struct fw_pkt *pkt, struct fw_replies *r)
{
	struct fw_sizes own;
	const __u32 unit =
		fw_sizes_to(ep->board->peers, &ep->board->sizes, pkt->msg.peer, &own)->reply;
	const __u32 offset = pkt->msg.u.window.offset, room = unit - pkt->skip;
	const __u64 at = (__u64)pkt->frame * unit + pkt->skip - offset % unit;

	if (at >> 63 || offset + at + pkt->length > w->length || at + pkt->length > 0xffffffffu)
		return EMX_CNT_DROP_PULL_RANGE;
	begin_replies(ep, pkt, EMX_PULL_REPLY, r);
	r->count = (__u8)((pkt->skip + pkt->length + unit - 1) / unit);
	r->position = (__u32)at;
	r->len_first = pkt->length < room ? pkt->length : room;
	r->length = pkt->length;
	r->unit = unit;
	return 0;
}

/* fw_check passed the packet: all that is wanted begins within the pull. */
static int serve_x_pull(const struct fw_endpoint *ep, const struct fw_window *w,
			const struct fw_pkt *pkt, struct fw_replies *r)
{
	__u32 last = 0;
	const __u32 count = count_wanted(pkt->x.want, &last);
	__u64 end = ((__u64)pkt->frame + last + 1) * pkt->x.unit;

	if (pkt->x.carrier == FW_BY_TCP ? !ep->x_tcp : FW_X_DATA_HEADER + pkt->x.unit > ep->x_frame)
		return EMX_CNT_DROP_PULL_SHAPE;
	if (end > pkt->total)
		end = pkt->total;
	if (pkt->msg.u.window.offset + end > w->length)
		return EMX_CNT_DROP_PULL_RANGE;
	begin_replies(ep, pkt, EMX_X_DATA, r);
	r->count = (__u8)count;
	r->unit = pkt->x.unit;
	r->position = pkt->frame * pkt->x.unit;
	r->length = pkt->total - r->position;
	__builtin_memcpy(r->want, pkt->x.want, sizeof(r->want));
	r->reply.x.request = pkt->x.request;
	r->reply.x.sum = pkt->x.sum;
	r->reply.x.carrier = pkt->x.carrier;
	return 0;
}

void fw_window_serve(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	const int is_x = pkt->msg.type == EMX_X_PULL;
	const struct fw_window *w = pkt->foreign ? FW_NULL : window_of(ep, pkt);
	int why;

	(void)now;
	if (is_x && !ep->x_frame) {
		fw_drop(fx, EMX_CNT_DROP_EXTENSION);
		return;
	}
	if (!w) {
		fw_nack(ep->board, pkt, EMX_NACK_MCP, EMX_NACK_BAD_WINDOW, fx);
		return;
	}
	fx->kind = FW_FX_REPLIES;
	fx->counter = is_x ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY;
	why = is_x ? serve_x_pull(ep, w, pkt, &fx->u.replies)
		   : serve_pull(ep, w, pkt, &fx->u.replies);
	if (why)
		fw_drop(fx, why);
}

void fw_replies_refuse(const struct fw_endpoint *ep, const struct fw_replies *run, struct fw_fx *fx)
{
	struct fw_pkt request;

	fw_clear(&request);
	request.msg.remote_ep = run->reply.msg.local_ep;
	request.msg.peer = run->reply.msg.peer;
	request.handle = run->reply.handle;
	request.magic = run->reply.magic;
	fw_nack(ep->board, &request, EMX_NACK_MCP, EMX_NACK_BAD_WINDOW, fx);
}

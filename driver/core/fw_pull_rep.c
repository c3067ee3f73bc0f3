/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The replier of large messages: windows, and pull requests served from them (wire specification,
 * section 10.2). It keeps no state per request.
 */
#include "fw_xpull.h"

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

/* A window serves only the endpoint that its message was announced to. */
const struct fw_window *fw_window_of(const struct fw_endpoint *ep, const struct fw_pkt *pkt)
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

/* Where the request begins in the message; 0 when a byte of it lies outside the window. */
static int find_range(const struct fw_sizes *s, const struct fw_window *w, const struct fw_pkt *pkt,
		      __u32 *position)
{
	__u32 offset = pkt->msg.u.window.offset;
	__u64 at = (__u64)pkt->frame * s->reply + pkt->skip;

	if (at < offset % s->reply)
		return 0;
	at -= offset % s->reply;
	*position = (__u32)at;
	return offset + at + pkt->length <= w->length && at + pkt->length <= 0xffffffffu;
}

void fw_replies_begin(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u8 type,
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

static void describe_replies(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u32 unit,
			     __u32 position, struct fw_replies *r)
{
	const __u32 room = unit - pkt->skip;

	fw_replies_begin(ep, pkt, EMX_PULL_REPLY, r);
	r->count = (__u8)((pkt->skip + pkt->length + unit - 1) / unit);
	r->position = position;
	r->len_first = pkt->length < room ? pkt->length : room;
	r->length = pkt->length;
	r->unit = unit;
}

__u32 fw_replies_take(struct fw_replies *run, void *hdr, __u32 *position)
{
	const __u32 full = run->len_first ? run->len_first : run->unit;
	const __u32 bytes = run->length < full ? run->length : full;

	if (run->reply.msg.type == EMX_X_DATA)
		return fw_xpull_take(run, hdr, position);
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

void fw_pull_serve(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	const struct fw_window *w = pkt->foreign ? FW_NULL : fw_window_of(ep, pkt);
	const struct fw_sizes *s;
	struct fw_sizes own;
	__u32 position;

	(void)now;
	if (!w) {
		fw_nack_mcp(ep->board, pkt, EMX_NACK_BAD_WINDOW, fx);
		return;
	}
	s = fw_sizes_to(ep->board, pkt->msg.peer, &own);
	if (!find_range(s, w, pkt, &position)) {
		fw_drop(fx, EMX_CNT_DROP_PULL_RANGE);
		return;
	}
	fx->kind = FW_FX_REPLIES;
	fx->counter = EMX_CNT_TX_PULL_REPLY;
	describe_replies(ep, pkt, s->reply, position, &fx->u.replies);
}

void fw_replies_refuse(const struct fw_endpoint *ep, const struct fw_replies *run, struct fw_fx *fx)
{
	struct fw_pkt request;

	fw_clear(&request);
	request.msg.remote_ep = run->reply.msg.local_ep;
	request.msg.peer = run->reply.msg.peer;
	request.handle = run->reply.handle;
	request.magic = run->reply.magic;
	fw_nack_mcp(ep->board, &request, EMX_NACK_BAD_WINDOW, fx);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames out: headers of packets that the library sends, and of the core's own, refusals among
 * them (wire specification, sections 7 and 11.1).
 */
#include "fw_internal.h"

/* ---- frames of the core ---- */

/* Outer header of a frame from b to that peer. */
static void address(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer)
{
	pkt->dst_mac = fw_peer(b->peers, peer)->mac;
	pkt->src_mac = b->mac;
	pkt->tag = fw_tag(b, peer);
	pkt->advert = (__u16)peer;
}

void fw_tx(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer, struct fw_fx *fx)
{
	struct fw_sizes own;

	address(b, pkt, peer);
	fx->kind = FW_FX_TX;
	fx->counter = fw_types[pkt->msg.type].sent;
	fx->u.tx.length =
		fw_encode(fw_sizes_to(b->peers, &b->sizes, peer, &own), pkt, fx->u.tx.header);
}

FW_COLD void fw_answer(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer, struct fw_fx *fx)
{
	fw_tx(b, pkt, peer, fx);
	fx->kind = FW_FX_ANSWER;
}

FW_COLD void fw_nack(const struct fw_board *b, const struct fw_pkt *pkt, __u8 type, __u8 reason,
		     struct fw_fx *fx)
{
	struct fw_pkt nack;

	if (pkt->foreign)
		fw_count(b->counters, EMX_CNT_DROP_DIALECT_PULL);
	fw_clear(&nack);
	nack.msg.type = type;
	nack.msg.local_ep = pkt->msg.remote_ep;
	nack.msg.remote_ep = pkt->msg.local_ep;
	nack.msg.seq = pkt->msg.seq;
	nack.msg.u.nack.reason = reason;
	nack.handle = pkt->handle;
	nack.magic = pkt->magic;
	fw_answer(b, &nack, pkt->msg.peer, fx);
}

/* ---- frames of the library ---- */

/* True for types that the library may send besides eager ones: no host packets, no pulls. */
static int is_command(const struct fw_endpoint *ep, const struct emx_msg *msg)
{
	switch (msg->type) {
	case EMX_CONNECT:
	case EMX_RNDV:
	case EMX_NOTIFY:
	case EMX_TRUC:
	case EMX_NACK_LIB:
		return msg->data_len == 0;
	case EMX_X_REPORT:
		return msg->data_len <= EMX_X_STATE_LEN;
	case EMX_X_MEDIUM:
		return ep->x_frag && msg->data_len <= ep->x_frag;
	case EMX_X_PACK:
		return msg->data_len <= ep->x_pack;
	default:
		return 0;
	}
}

/* emx_question(): as dialect N writes it, in such a way that dialect W reads a request as well. */
static FW_COLD __u32 send_question(const struct fw_endpoint *ep, const struct emx_msg *msg,
				   void *hdr)
{
	const __u32 handle = (__u32)(msg->match >> 48);
	struct fw_sizes n;
	struct fw_pkt pkt;

	if (handle == 0 || handle > 0xfff || !(__u8)(msg->match >> 32) || msg->data_len ||
	    (__u32)msg->match > 127)
		return 0;
	fw_sizes_n(&n, 9000); /* the header is the same for any size */
	fw_clear(&pkt);
	pkt.msg.type = EMX_PULL;
	pkt.msg.local_ep = EMX_QUESTION_ENDPOINT;
	pkt.msg.remote_ep = ep->number;
	pkt.msg.session = msg->session;
	pkt.msg.u.window.tag = (__u8)(msg->match >> 32);
	pkt.msg.u.window.offset = (__u32)msg->match;
	pkt.skip = pkt.msg.u.window.offset; /* the message begins where its window does */
	pkt.handle = handle;
	pkt.total = handle;
	pkt.length = handle;
	address(ep->board, &pkt, msg->peer);
	return fw_encode(&n, &pkt, hdr);
}

static int is_eager(__u8 type)
{
	return type == EMX_TINY || type == EMX_SMALL || type == EMX_MEDIUM;
}

/* fw_send for every type but TINY, SMALL and MEDIUM. */
static FW_NOINLINE __u32 send_command(const struct fw_endpoint *ep, const struct emx_msg *msg,
				      void *hdr)
{
	const struct fw_board *b = ep->board;
	struct fw_pkt pkt;
	__u32 len;

	if (msg->type == EMX_PULL)
		return send_question(ep, msg, hdr);
	if (!is_command(ep, msg))
		return 0;
	fw_clear(&pkt);
	fw_zero(&pkt.x, sizeof(pkt.x));
	pkt.msg = *msg;
	pkt.msg.local_ep = msg->remote_ep;
	pkt.msg.remote_ep = ep->number;
	if (fw_check_fields(&b->sizes, &pkt))
		return 0;
	address(b, &pkt, msg->peer);
	len = fw_encode(&b->sizes, &pkt, hdr);
	if (msg->type == EMX_X_MEDIUM && msg->u.medium.summed)
		fw_put_checksum(hdr, msg->u.medium.crc);
	if (msg->type == EMX_X_PACK && msg->u.pack.summed)
		fw_put_checksum(hdr, msg->u.pack.crc);
	return len;
}

FW_HOT __u32 fw_send(struct fw_endpoint *ep, const struct emx_msg *msg, void *hdr, int *counter)
{
	const struct fw_board *b = ep->board;
	const struct fw_peer *peer = fw_peer(b->peers, msg->peer);
	struct fw_sizes own;

	if (FW_UNLIKELY(!peer))
		return 0;
	*counter = msg->type < FW_COUNT_OF(fw_types) ? fw_types[msg->type].sent : 0;
	if (FW_LIKELY(is_eager(msg->type))) {
		int why =
			msg->type != EMX_MEDIUM
				? fw_check_small(msg)
				: fw_check_medium(fw_sizes_to(b->peers, &b->sizes, msg->peer, &own),
						  msg, EMX_MEDIUM_EXPONENT_W);

		if (FW_UNLIKELY(why))
			return 0;
		return fw_encode_eager(b, msg, ep->number, peer, hdr);
	}
	return send_command(ep, msg, hdr);
}

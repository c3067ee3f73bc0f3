/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a checked frame to the endpoint it is for: peer, host matters, closed endpoints (wire
 * specification, sections 6.3, 11.1, and rules 4 and 7 of section 13); and the header of every
 * frame that the core itself sends.
 */
#include "fw_internal.h"

/* The answer to a packet for an endpoint that is not open (section 11.1). */
enum refusal { SILENT, LIB, MCP };

/* clang-format off */
#define KIND(type, refusal) \
	[EMX_##type] = { EMX_CNT_RX_##type, EMX_CNT_TX_##type, refusal }

static const struct {
	__u16 received; /* counter */
	__u16 sent; /* counter */
	__u8 refusal;
} kinds[] = {
	KIND(RAW, SILENT),	KIND(HOST_QUERY, SILENT), KIND(HOST_REPLY, SILENT),
	KIND(TRUC, SILENT),	KIND(CONNECT, LIB),	  KIND(TINY, LIB),
	KIND(SMALL, LIB),	KIND(MEDIUM, LIB),	  KIND(RNDV, LIB),
	KIND(PULL, MCP),	KIND(PULL_REPLY, SILENT), KIND(NOTIFY, LIB),
	KIND(NACK_LIB, SILENT), KIND(NACK_MCP, SILENT),	  KIND(X_MEDIUM, LIB),
	KIND(X_REPORT, SILENT), KIND(X_PULL, MCP),	  KIND(X_DATA, SILENT),
};

#undef KIND
/* clang-format on */

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
	fx->counter = kinds[pkt->msg.type].sent;
	fx->u.tx.length = fw_encode(fw_sizes_to(b, peer, &own), pkt, fx->u.tx.header);
}

/* The same of what any frame may draw. */
static FW_COLD void answer(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer,
			   struct fw_fx *fx)
{
	fw_tx(b, pkt, peer, fx);
	fx->kind = FW_FX_ANSWER;
}

void fw_nack_lib(const struct fw_board *b, const struct fw_pkt *pkt, __u8 reason, struct fw_fx *fx)
{
	struct fw_pkt nack;

	fw_clear(&nack);
	nack.msg.type = EMX_NACK_LIB;
	nack.msg.local_ep = pkt->msg.remote_ep;
	nack.msg.remote_ep = pkt->msg.local_ep;
	nack.msg.seq = pkt->msg.seq;
	nack.msg.u.nack.reason = reason;
	answer(b, &nack, pkt->msg.peer, fx);
}

void fw_nack_mcp(const struct fw_board *b, const struct fw_pkt *pkt, __u8 reason, struct fw_fx *fx)
{
	struct fw_pkt nack;

	if (pkt->foreign)
		fw_count(b->counters, EMX_CNT_DROP_DIALECT_PULL);
	fw_clear(&nack);
	nack.msg.type = EMX_NACK_MCP;
	nack.msg.local_ep = pkt->msg.remote_ep;
	nack.msg.u.nack.reason = reason;
	nack.handle = pkt->handle;
	nack.magic = pkt->magic;
	answer(b, &nack, pkt->msg.peer, fx);
}

/* True for what the library may send besides eager messages: no host packets, no pulls. */
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

/* fw_send for what is no TINY, SMALL or MEDIUM. */
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
	return len;
}

FW_HOT __u32 fw_send(struct fw_endpoint *ep, const struct emx_msg *msg, void *hdr, int *counter)
{
	const struct fw_board *b = ep->board;
	const struct fw_peer *peer = fw_peer(b->peers, msg->peer);
	struct fw_sizes own;

	if (FW_UNLIKELY(!peer))
		return 0;
	*counter = msg->type < FW_COUNT_OF(kinds) ? kinds[msg->type].sent : 0;
	if (FW_LIKELY(is_eager(msg->type))) {
		int why = msg->type != EMX_MEDIUM ? fw_check_small(msg)
						  : fw_check_medium(fw_sizes_to(b, msg->peer, &own),
								    msg, EMX_MEDIUM_EXPONENT_W);

		if (FW_UNLIKELY(why))
			return 0;
		return fw_encode_eager(b, msg, ep->number, peer, hdr);
	}
	return send_command(ep, msg, hdr);
}

/* ---- host matters ---- */

static FW_COLD void describe_host(const struct fw_pkt *pkt, __u8 kind, struct fw_fx *fx)
{
	fx->kind = kind;
	fx->u.host.mac = pkt->msg.type == EMX_RAW ? pkt->board : pkt->src_mac;
	fx->u.host.peer = pkt->msg.peer;
	fx->u.host.serial = pkt->serial;
	fx->u.host.type = pkt->msg.type;
	__builtin_memcpy(fx->u.host.name, pkt->name, sizeof(pkt->name));
}

static FW_COLD void answer_query(const struct fw_board *b, const struct fw_pkt *pkt,
				 struct fw_fx *fx)
{
	struct fw_pkt reply;

	if (!b->answers_hosts)
		return;
	fw_clear(&reply);
	reply.msg.type = EMX_HOST_REPLY;
	reply.magic = pkt->magic;
	__builtin_memcpy(reply.name, b->name, sizeof(reply.name));
	answer(b, &reply, pkt->msg.peer, fx);
}

/* Nonzero when the packet is none of an endpoint's; then *fx is filled. */
static int is_host_matter(struct fw_board *b, const struct fw_pkt *pkt, struct fw_fx *fx)
{
	switch (pkt->msg.type) {
	case EMX_RAW:
		describe_host(pkt, FW_FX_BEACON, fx);
		break;
	case EMX_HOST_QUERY:
		fw_learn_tag(b->tags, pkt->msg.peer, pkt->advert);
		answer_query(b, pkt, fx);
		break;
	case EMX_HOST_REPLY:
		if (pkt->magic != b->query_magic) {
			fw_drop(fx, EMX_CNT_DROP_ECHO);
			break;
		}
		fw_learn_tag(b->tags, pkt->msg.peer, pkt->advert);
		describe_host(pkt, FW_FX_NAME, fx);
		break;
	default:
		return 0;
	}
	fw_count(b->counters, kinds[pkt->msg.type].received);
	return 1;
}

/* ---- demultiplexing ---- */

/* Strangers may introduce themselves while the table is open. */
static FW_COLD int stranger(const struct fw_board *b, struct fw_pkt *pkt, struct fw_fx *fx)
{
	__u8 type = pkt->msg.type;

	if (type == EMX_RAW && !b->peers->open) { /* said to all: nothing is wrong */
		fw_count(b->counters, EMX_CNT_RX_RAW);
		return 0;
	}
	if (!b->peers->open || (type != EMX_CONNECT && type != EMX_HOST_QUERY &&
				type != EMX_HOST_REPLY && type != EMX_RAW))
		return fw_drop(fx, EMX_CNT_DROP_UNKNOWN_PEER);
	pkt->msg.peer = ~0u;
	describe_host(pkt, FW_FX_PEER, fx);
	return 0;
}

/*
 * The peer is the source MAC, or the board that a beacon tells; the tag says only where to look
 * first. fx->kind is FW_FX_NONE before.
 */
static int find_peer(const struct fw_board *b, struct fw_pkt *pkt, struct fw_fx *fx)
{
	__u8 type = pkt->msg.type;
	__u64 mac = type == EMX_RAW ? pkt->board : pkt->src_mac;
	int peer = fw_peer_find(b->peers, mac, pkt->tag);

	if (FW_LIKELY(peer >= 0)) {
		pkt->msg.peer = (__u32)peer;
		return 1;
	}
	return stranger(b, pkt, fx);
}

static FW_COLD void refuse(const struct fw_board *b, const struct fw_pkt *pkt, struct fw_fx *fx)
{
	__u8 reason = EMX_NACK_CLOSED;
	__u8 refusal = kinds[pkt->msg.type].refusal;

	if (pkt->msg.local_ep >= b->endpoint_max)
		reason = EMX_NACK_BAD_ENDPOINT;
	if (pkt->msg.type == EMX_CONNECT && pkt->msg.u.connect.is_reply)
		refusal = SILENT; /* nobody waits for an answer to it */
	if (refusal == LIB)
		fw_nack_lib(b, pkt, reason, fx);
	else if (refusal == MCP)
		fw_nack_mcp(b, pkt, reason, fx);
	else
		fw_drop(fx, EMX_CNT_DROP_ENDPOINT);
}

FW_HOT struct fw_endpoint *fw_demux(struct fw_board *b, struct fw_pkt *pkt, struct fw_fx *fx)
{
	struct fw_endpoint *ep;

	fx->kind = FW_FX_NONE;
	if (FW_UNLIKELY(!find_peer(b, pkt, fx)))
		return FW_NULL;
	if (FW_UNLIKELY(pkt->msg.type <= EMX_HOST_REPLY) && is_host_matter(b, pkt, fx))
		return FW_NULL;
	if (FW_UNLIKELY(pkt->msg.type == EMX_CONNECT))
		fw_learn_tag(b->tags, pkt->msg.peer, pkt->advert);
	ep = b->ep[pkt->msg.local_ep];
	if (FW_LIKELY(b->ep_state[pkt->msg.local_ep] == FW_EP_OPEN && ep)) {
		fw_count(ep->counters, kinds[pkt->msg.type].received);
		return ep;
	}
	fw_count(b->counters, kinds[pkt->msg.type].received);
	if (b->ep_state[pkt->msg.local_ep] == FW_EP_CLOSED)
		refuse(b, pkt, fx);
	else
		fw_drop(fx, EMX_CNT_DROP_ENDPOINT_BUSY);
	return FW_NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of a board, and the way of a checked frame to the one it is for: peer, host matters,
 * closed endpoints (wire specification, sections 6.3, 11.1, and rules 4 and 7 of section 13).
 */
#include "fw_pull.h"

#define DEFAULT_BLOCKS 4 /* outstanding, as Open-MX does */
#define DEFAULT_REPEAT_MS 1000
#define DEFAULT_LIMIT_MS 500000

void fw_endpoint_init(struct fw_endpoint *ep, struct fw_board *board, __u8 number, __u32 session,
		      __u32 secret)
{
	ep->board = board;
	ep->session = session;
	ep->magic = (secret & ~0xffu) | number;
	ep->number = number;
	ep->pull_block = (__u16)board->sizes.block;
	ep->pull_window = (__u16)(board->sizes.block * DEFAULT_BLOCKS);
	ep->pull_repeat_ms = DEFAULT_REPEAT_MS;
	ep->pull_limit_ms = DEFAULT_LIMIT_MS;
	ep->pull_last = FW_PULLS - 1;
	/* Late replies to an earlier endpoint of this number then meet other handles. */
	ep->pull_use = session & 0xffffff;
	ep->deadline = ~0ull;
	ep->pace.budget = FW_BUDGET_FIRST;
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
	fw_answer(b, &reply, pkt->msg.peer, fx);
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
	fw_count(b->counters, fw_types[pkt->msg.type].received);
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
	__u8 refusal = fw_types[pkt->msg.type].refusal;

	if (pkt->msg.local_ep >= b->endpoint_max)
		reason = EMX_NACK_BAD_ENDPOINT;
	if (pkt->msg.type == EMX_CONNECT && pkt->msg.u.connect.is_reply)
		refusal = 0; /* nobody waits for an answer to it */
	if (refusal)
		fw_nack(b, pkt, refusal, reason, fx);
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
		fw_count(ep->counters, fw_types[pkt->msg.type].received);
		return ep;
	}
	fw_count(b->counters, fw_types[pkt->msg.type].received);
	if (b->ep_state[pkt->msg.local_ep] == FW_EP_CLOSED)
		refuse(b, pkt, fx);
	else
		fw_drop(fx, EMX_CNT_DROP_ENDPOINT_BUSY);
	return FW_NULL;
}

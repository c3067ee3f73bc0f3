// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The tracepoints themselves, and what is done for one that is on.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"

static u64 emx_trace_peer(const struct emx_endpoint *ep, const struct fw_pull *pull)
{
	const struct fw_peer *peer = fw_peer(ep->board->fw.peers, pull->peer);

	return peer ? READ_ONCE(peer->mac) : 0;
}

void emx_trace_received(const struct emx_board *board, const struct sk_buff *skb,
			const struct fw_pkt *pkt)
{
	trace_emx_frame_received(board, skb, pkt);
}

/* Tells only so much of the frame as lies in one piece, whether it is right or not. */
void emx_trace_dropped(const struct emx_board *board, int endpoint, const struct sk_buff *skb,
		       unsigned int reason)
{
	const u8 *frame = skb ? skb->data : NULL;
	const u32 there = skb ? skb_headlen(skb) : 0;
	const u64 peer = there >= ETH_HLEN ? ether_addr_to_u64(frame + ETH_ALEN) : 0;
	const u8 type = there > EMX_OUTER_LEN ? frame[EMX_OUTER_LEN] : 0;

	trace_emx_frame_dropped(board, endpoint, peer, type, skb ? skb->len : 0, reason);
}

void emx_trace_pull_started(const struct emx_endpoint *ep, int slot)
{
	const struct fw_pull *pull = &ep->fw->pull[slot];

	trace_emx_pull_started(ep, pull, emx_trace_peer(ep, pull));
}

void emx_trace_pull_ended(const struct emx_endpoint *ep, int slot, u8 status)
{
	const struct fw_pull *pull = &ep->fw->pull[slot];

	trace_emx_pull_ended(ep, pull, emx_trace_peer(ep, pull), status);
}

void emx_trace_copied(const struct emx_endpoint *ep, u32 handle, u64 position, u32 length,
		      enum emx_copier by)
{
	trace_emx_frame_copied(ep, handle, position, length, by);
}

void emx_trace_opened(const struct emx_endpoint *ep)
{
	trace_emx_endpoint_opened(ep);
}

void emx_trace_closed(const struct emx_endpoint *ep)
{
	trace_emx_endpoint_closed(ep);
}

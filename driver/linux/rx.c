// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Receive path: from the network stack into the firmware core, and the core's answer out again.
 */
#include <linux/etherdevice.h>
#include <linux/skbuff.h>

#include "ethermx.h"

/* The core reads headers and a board name, never payload: only so much must be contiguous. */
#define LOOK_MAX (EMX_HEADER_MAX + EMX_NAME_MAX)

/* Makes skb->data the first byte of the frame, with all that the core reads contiguous. */
static bool prepare(struct sk_buff *skb)
{
	if (!skb_mac_header_was_set(skb))
		return false;
	skb_push(skb, skb->data - skb_mac_header(skb));
	return pskb_may_pull(skb, min_t(u32, skb->len, LOOK_MAX));
}

/* One pass through the core; the effect stays empty for a frame that asks for nothing. */
static void decide(struct emx_board *board, const struct sk_buff *skb, struct fw_fx *fx)
{
	struct fw_board *fw = &board->fw;
	struct fw_pkt pkt;
	int drop;

	fx->kind = FW_FX_NONE;
	drop = fw_check(&fw->sizes, fw->mac, skb->data, skb->len, &pkt);
	if (drop) {
		fx->kind = FW_FX_DROP;
		fx->counter = drop;
		return;
	}
	/* No endpoint can be open yet, so the answer is always an effect. */
	WARN_ON_ONCE(fw_demux(fw, &pkt, fx));
}

/* Executes the effects that touch the board itself. Returns true to give the frame again. */
static bool apply(struct emx_board *board, const struct fw_fx *fx)
{
	switch (fx->kind) {
	case FW_FX_PEER:
		if (fw_peer_add(board->fw.peers, fx->u.host.mac) >= 0)
			return true;
		board->counters.v[EMX_CNT_DROP_TABLE_FULL]++;
		return false;
	case FW_FX_NAME:
		fw_peer_name(board->fw.peers, fx->u.host.peer, fx->u.host.name);
		return false;
	case FW_FX_DROP:
	case FW_FX_TX: /* counted before it leaves: whoever sees the answer sees the count */
		board->counters.v[fx->counter]++;
		return false;
	default:
		return false;
	}
}

static void handle(struct emx_board *board, const struct sk_buff *skb)
{
	struct fw_fx fx;

	spin_lock(&board->lock);
	decide(board, skb, &fx);
	/* A peer that was just added is found the second time. */
	if (apply(board, &fx)) {
		decide(board, skb, &fx);
		apply(board, &fx);
	}
	spin_unlock(&board->lock);
	if (fx.kind == FW_FX_TX)
		emx_tx(board, fx.u.tx.header, fx.u.tx.length);
}

int emx_rx(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
	   struct net_device *orig_dev)
{
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (prepare(skb))
		handle(pt->af_packet_priv, skb);
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

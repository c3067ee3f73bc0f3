// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Transmit path: frames that the core composed, onto the wire.
 */
#include <linux/etherdevice.h>
#include <linux/skbuff.h>

#include "ethermx.h"

static struct sk_buff *build(struct net_device *dev, const void *frame, u32 length)
{
	u32 padded = max_t(u32, length, EMX_FRAME_MIN);
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(dev) + padded + dev->needed_tailroom, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_reset_mac_header(skb);
	skb_put_data(skb, frame, length);
	skb_put_zero(skb, padded - length);
	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = htons(EMX_ETHERTYPE);
	skb->dev = dev;
	return skb;
}

void emx_tx(struct emx_board *board, const void *frame, u32 length)
{
	struct sk_buff *skb = build(board->dev, frame, length);
	int status = -ENOMEM;

	if (skb)
		status = dev_queue_xmit(skb);
	/* net_xmit_eval() evaluates its argument twice. */
	if (!net_xmit_eval(status))
		return;
	spin_lock_bh(&board->lock);
	board->counters.v[EMX_CNT_TX_FAILED]++;
	spin_unlock_bh(&board->lock);
}

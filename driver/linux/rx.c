// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Receive path: from the network stack into the firmware core.
 */
#include <linux/etherdevice.h>
#include <linux/timekeeping.h>

#include "board.h"
#include "compat.h"
#include "effects.h"
#include "endpoint.h"
#include "group.h"
#include "large.h"
#include "names.h"
#include "tracing.h"
#include "tx.h"

/* The core reads headers and a board name, never payload: only so much must be contiguous. */
#define LOOK_MAX (EMX_HEADER_MAX + EMX_NAME_MAX)
/* Frames between boards of this host taken in one go. */
#define LOOP_BATCH 64

/* A request of the other dialect, whose refusal waits in *fx, was counted by the core. */
static void emx_rx_tell_foreign(const struct emx_board *board, int endpoint,
				const struct sk_buff *skb, const struct fw_pkt *pkt,
				const struct fw_fx *fx)
{
	if (pkt->foreign && fx->kind == FW_FX_ANSWER)
		emx_tell_dropped(board, endpoint, skb, EMX_CNT_DROP_DIALECT_PULL);
}

/* ---- frames of endpoints ---- */

/* Gives a frame to the core. Between begin and end, and the endpoint is open. */
static void emx_rx_input(struct emx_effects *now, struct sk_buff *skb, struct fw_pkt *pkt)
{
	struct emx_endpoint *ep = now->ep;
	struct fw_board *fw = &ep->board->fw;
	struct fw_fx fx EMX_NO_INIT; /* read as far as the core fills it */
	struct fw_endpoint *to;
	int more = 0;

	to = fw_demux(fw, pkt, &fx);
	if (!to && fx.kind == FW_FX_PEER) {
		/* A peer that was just added is found the second time. */
		if (emx_peer_add(ep->board, fx.u.host.mac) >= 0)
			to = fw_demux(fw, pkt, &fx);
		else
			emx_drop(ep, skb, EMX_CNT_DROP_TABLE_FULL);
	}
	if (to)
		more = fw_rx(to, pkt, fw_needs_time(pkt) ? ktime_get_ns() : 0, &fx);
	emx_effects_run(now, &fx, more, skb);
	if (pkt->msg.type < EMX_PULL)
		return;
	emx_counters_show(ep);
	emx_rx_tell_foreign(ep->board, ep->fw->number, skb, pkt, &fx);
}

static bool emx_rx_is_pulled(const struct fw_pkt *pkt)
{
	return pkt->msg.type == EMX_PULL_REPLY || pkt->msg.type == EMX_X_DATA;
}

/* The core looks at the messages of an X PACK, for which the frame has to be in one piece. */
static int emx_rx_straighten(struct sk_buff *skb, struct fw_pkt *pkt)
{
	if (skb_linearize(skb))
		return EMX_CNT_DROP_MEMORY;
	pkt->msg.data = (u64)(uintptr_t)skb->data + FW_X_PACK_HEADER;
	return 0;
}

/*
 * Judges pulls and the extension: 0, or the counter of the reason to drop the frame before the core
 * sees it. Apart from the path of short messages. Caller: endpoint->lock.
 */
static noinline int emx_rx_judge(const struct emx_endpoint *ep, struct sk_buff *skb,
				 struct fw_pkt *pkt)
{
	if (emx_rx_is_pulled(pkt) && emx_loose_full(ep))
		return EMX_CNT_DROP_EVENT_FULL;
	if (pkt->msg.type == EMX_X_PACK)
		return emx_rx_straighten(skb, pkt);
	/* The core drops it for that. */
	if (pkt->msg.type == EMX_X_MEDIUM && !ep->fw->x_frag)
		return 0;
	return emx_sum_fits(skb, pkt) ? 0 : EMX_CNT_DROP_CHECKSUM;
}

/* False when the frame is none of an open endpoint's. */
static bool emx_rx_to_endpoint(struct emx_board *board, struct sk_buff *skb, struct fw_pkt *pkt)
{
	struct emx_effects now;
	struct emx_endpoint *ep;
	int drop = 0;
	bool open;

	if (pkt->msg.type <= EMX_HOST_REPLY)
		return false;
	ep = rcu_dereference(board->endpoint[pkt->msg.local_ep]);
	if (!ep)
		return false;
	open = emx_effects_begin(&now, ep, EMX_IN_SOFTIRQ);
	emx_poll_note(ep, skb);
	if (open && pkt->msg.type >= EMX_PULL)
		drop = emx_rx_judge(ep, skb, pkt);
	if (drop)
		emx_drop(ep, skb, drop);
	else if (open)
		emx_rx_input(&now, skb, pkt);
	emx_effects_end(&now, EMX_IN_SOFTIRQ);
	return open;
}

/* ---- frames of the board ---- */

/* Caller: board->lock. */
static void emx_rx_board_drop(struct emx_board *board, const struct sk_buff *skb,
			      unsigned int reason)
{
	emx_count(&board->counters, reason, 1);
	emx_tell_dropped(board, EMX_NO_ENDPOINT, skb, reason);
}

/*
 * Executes the effects that touch the board itself; true to give the frame again. Caller:
 * board->lock.
 */
static bool emx_rx_board_effect(struct emx_board *board, struct fw_fx *fx,
				const struct sk_buff *skb)
{
	switch (fx->kind) {
	case FW_FX_PEER:
		if (emx_peer_add_locked(board, fx->u.host.mac) >= 0)
			return true;
		emx_rx_board_drop(board, skb, EMX_CNT_DROP_TABLE_FULL);
		return false;
	case FW_FX_NAME:
		board->questions.answered++;
		fw_peer_learn(board->fw.peers, fx->u.host.peer, fx->u.host.name);
		return false;
	case FW_FX_BEACON:
		emx_beacons_heard(board, fx);
		return false;
	case FW_FX_ANSWER:
		if (fw_may_answer(&board->fw.answers, ktime_get_ns())) {
			emx_count(&board->counters, fx->counter, 1);
			return false;
		}
		fx->kind = FW_FX_DROP;
		fx->counter = EMX_CNT_DROP_ANSWER;
		fallthrough;
	case FW_FX_DROP:
		emx_rx_board_drop(board, skb, fx->counter);
		return false;
	default:
		return false;
	}
}

static void emx_rx_to_board(struct emx_board *board, const struct sk_buff *skb, struct fw_pkt *pkt)
{
	struct fw_endpoint *to = NULL;
	struct sk_buff *answer;
	struct fw_fx fx;

	spin_lock(&board->lock);
	to = fw_demux(&board->fw, pkt, &fx);
	emx_rx_tell_foreign(board, EMX_NO_ENDPOINT, skb, pkt, &fx);
	if (!to && emx_rx_board_effect(board, &fx, skb)) {
		to = fw_demux(&board->fw, pkt, &fx);
		if (!to)
			emx_rx_board_effect(board, &fx, skb);
	}
	spin_unlock(&board->lock);
	/* An endpoint that opened this moment: its peer repeats. */
	if (to || fx.kind != FW_FX_ANSWER)
		return;
	answer = emx_tx_header(board, fx.u.tx.header, fx.u.tx.length);
	if (answer)
		emx_tx(board, answer);
}

/* ---- frames ---- */

/* Before anybody knows whose it is. */
static void emx_rx_drop(struct emx_board *board, const struct sk_buff *skb, unsigned int reason)
{
	emx_board_count(board, reason);
	emx_tell_dropped(board, EMX_NO_ENDPOINT, skb, reason);
}

/* skb->data is the first byte of the frame. self: as in fw_check. Caller: RCU. */
static void emx_rx_handle(struct emx_board *board, struct sk_buff *skb, u64 self)
{
	struct fw_pkt pkt EMX_NO_INIT; /* the core clears it */
	int drop;

	if (!pskb_may_pull(skb, min_t(u32, skb->len, LOOK_MAX)))
		drop = EMX_CNT_DROP_SHORT;
	else
		drop = fw_check_for(&board->fw, self, skb->data, skb->len, &pkt);
	if (unlikely(drop)) {
		if (drop == EMX_CNT_DROP_NOT_OURS)
			drop = emx_group_rx(board, skb);
		if (!drop)
			return;
		emx_rx_drop(board, skb, drop);
		return;
	}
	emx_tell_received(board, skb, &pkt);
	if (!emx_rx_to_endpoint(board, skb, &pkt))
		emx_rx_to_board(board, skb, &pkt);
}

/*
 * The network stack marks frames so whose VLAN has no interface here. So it marks what only a
 * promiscuous interface has brought in, but the core tells that by the address.
 */
static bool emx_rx_for_another_host(const struct emx_board *board, struct sk_buff *skb)
{
	if (likely(skb->pkt_type != PACKET_OTHERHOST) || !pskb_may_pull(skb, ETH_HLEN))
		return false;
	return is_multicast_ether_addr(skb->data) ||
	       ether_addr_to_u64(skb->data) == READ_ONCE(board->fw.mac);
}

int emx_rx(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
	   struct net_device *orig_dev)
{
	struct emx_board *board = pt->af_packet_priv;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb_mac_header_was_set(skb)) {
		skb_push(skb, skb->data - skb_mac_header(skb));
		if (emx_rx_for_another_host(board, skb))
			emx_rx_drop(board, skb, EMX_CNT_DROP_OTHER_HOST);
		else
			emx_rx_handle(board, skb, READ_ONCE(board->fw.mac));
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

void emx_rx_loop(struct tasklet_struct *task)
{
	struct emx_board *board = from_tasklet(board, task, loop_task);
	struct sk_buff *skb;
	int n;

	rcu_read_lock();
	for (n = 0; n < LOOP_BATCH; n++) {
		skb = skb_dequeue(&board->loop);
		if (!skb)
			break;
		emx_rx_handle(board, skb, 0);
		consume_skb(skb);
	}
	rcu_read_unlock();
	if (!skb_queue_empty(&board->loop))
		tasklet_schedule(task);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inputs to the core of an endpoint, and its effects carried out.
 */
#ifndef EMX_LINUX_EFFECTS_H
#define EMX_LINUX_EFFECTS_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "ethermx.h"
#include "tx.h"

/* effects.c */

/* An input to the core of an endpoint: its lock is held, and frames to send are collected. */
struct emx_effects {
	struct emx_endpoint *ep;
	struct sk_buff_head out; /* leave when the lock has been released */
};

/*
 * Where it is called: in softirqs they need not be switched off. Every caller gives a constant, so
 * that one kind of locking is compiled.
 */
enum emx_context { EMX_IN_PROCESS, EMX_IN_SOFTIRQ };

/* Takes the lock. Returns true if the endpoint is open; emx_effects_end() follows either way. */
static __always_inline bool emx_effects_begin(struct emx_effects *now, struct emx_endpoint *ep,
					      enum emx_context context) __acquires(&ep->lock)
{
	now->ep = ep;
	__skb_queue_head_init(&now->out);
	if (context == EMX_IN_SOFTIRQ)
		spin_lock(&ep->lock);
	else
		spin_lock_bh(&ep->lock);
	return ep->open;
}

/* Releases the lock, and sends what was collected. */
static __always_inline void emx_effects_end(struct emx_effects *now, enum emx_context context)
	__releases(&now->ep->lock)
{
	if (context == EMX_IN_SOFTIRQ)
		spin_unlock(&now->ep->lock);
	else
		spin_unlock_bh(&now->ep->lock);
	if (!skb_queue_empty(&now->out))
		emx_tx_all(now->ep->board, &now->out);
}

/*
 * Carries out an effect of the core and, when more is nonzero, those that wait behind it; arms the
 * timer, and tells the link state that is owed. skb: the frame that caused them, or NULL. Between
 * begin and end, and the endpoint is open.
 */
void emx_effects_run(struct emx_effects *now, struct fw_fx *fx, int more, struct sk_buff *skb);
/* Carries out the effects that wait. Likewise. */
void emx_effects_run_waiting(struct emx_effects *now);
/* Timer of an endpoint's core. */
enum hrtimer_restart emx_effects_timer(struct hrtimer *timer);

/* rx.c */

/* packet_type handler of a board; consumes the skb. Softirq context. */
int emx_rx(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
	   struct net_device *orig_dev);
/* Takes frames of this namespace's boards off board->loop. */
void emx_rx_loop(struct tasklet_struct *task);

#endif

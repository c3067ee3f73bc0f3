// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Busy polling: a program that spins takes the frames out of its network card itself, rather than
 * wait for the interrupt. It does so at the NAPI that brought its endpoint's last frame.
 */
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "ethermx.h"

/* The kernel's own for sockets. */
#define FRAMES_AT_ONCE 8

static unsigned int busy_poll_max_us = 100;
module_param(busy_poll_max_us, uint, 0644);
MODULE_PARM_DESC(busy_poll_max_us, "longest busy poll of a network card, us, 0 for none (100)");

void emx_poll_note(struct emx_endpoint *ep, const struct sk_buff *skb)
{
	unsigned int napi = emx_skb_napi(skb);

	/* Frames of boards of this host, or of interfaces that are not polled, have none. */
	if (napi && napi != ep->napi)
		WRITE_ONCE(ep->napi, napi);
	/* Interrupts bring frames in softirqs, on top of whichever process runs. */
	if (ep->poller == current && !in_serving_softirq())
		ep->polled++;
}

static bool begin(struct emx_endpoint *ep, unsigned int *napi)
{
	bool free;

	spin_lock_bh(&ep->lock);
	free = ep->open && !ep->poller;
	if (free)
		ep->poller = current;
	ep->polled = 0;
	*napi = ep->napi;
	spin_unlock_bh(&ep->lock);
	return free;
}

static u32 end(struct emx_endpoint *ep)
{
	u32 polled;

	spin_lock_bh(&ep->lock);
	polled = ep->polled;
	ep->poller = NULL;
	emx_count(&ep->counters, EMX_CNT_BUSY_POLL, 1);
	if (polled)
		emx_count(&ep->counters, EMX_CNT_BUSY_POLL_FOUND, 1);
	spin_unlock_bh(&ep->lock);
	return polled;
}

struct limits {
	const struct emx_endpoint *ep;
	u64 end_ns;
};

static bool is_over(void *data, unsigned long start_time)
{
	const struct limits *limits = data;
	const struct emx_endpoint *ep = limits->ep;

	return READ_ONCE(ep->head) != READ_ONCE(ep->ring->tail) || !READ_ONCE(ep->open) ||
	       signal_pending(current) || ktime_get_ns() >= limits->end_ns;
}

int emx_poll(struct emx_endpoint *ep, struct emx_dev_poll *poll)
{
	u32 us = min(poll->microseconds, READ_ONCE(busy_poll_max_us));
	struct limits limits = { .ep = ep };
	unsigned int napi;

	if (!emx_can_busy_poll || !READ_ONCE(busy_poll_max_us))
		return -EOPNOTSUPP;
	if (!READ_ONCE(ep->napi))
		return -ENODATA;
	if (!begin(ep, &napi))
		return -EBUSY;
	limits.end_ns = ktime_get_ns() + (u64)us * NSEC_PER_USEC;
	emx_busy_poll(napi, is_over, &limits, FRAMES_AT_ONCE);
	poll->frames = end(ep);
	return 0;
}

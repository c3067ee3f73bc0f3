// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Busy polling: a program that spins takes the frames out of its network card itself, rather than
 * wait for the interrupt. It does so at the NAPI that brought its endpoint's last frame.
 */
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "endpoint.h"

/* The kernel's own for sockets. */
#define FRAMES_AT_ONCE 8

static unsigned int emx_poll_max_us = 100;
module_param_named(busy_poll_max_us, emx_poll_max_us, uint, 0644);
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

static bool emx_poll_begin(struct emx_endpoint *ep, unsigned int *napi)
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

static u32 emx_poll_end(struct emx_endpoint *ep)
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

struct emx_poll_limits {
	const struct emx_endpoint *ep;
	u64 end_ns;
};

static bool emx_poll_is_over(void *data, unsigned long start_time)
{
	const struct emx_poll_limits *limits = data;
	const struct emx_endpoint *ep = limits->ep;

	return READ_ONCE(ep->head) != READ_ONCE(ep->ring->tail) || !READ_ONCE(ep->open) ||
	       signal_pending(current) || ktime_get_ns() >= limits->end_ns;
}

int emx_poll(struct emx_endpoint *ep, struct emx_dev_poll *poll)
{
	u32 us = min(poll->microseconds, READ_ONCE(emx_poll_max_us));
	struct emx_poll_limits limits = { .ep = ep };
	unsigned int napi;

	if (!emx_can_busy_poll || !READ_ONCE(emx_poll_max_us))
		return -EOPNOTSUPP;
	if (!READ_ONCE(ep->napi))
		return -ENODATA;
	if (!emx_poll_begin(ep, &napi))
		return -EBUSY;
	limits.end_ns = ktime_get_ns() + (u64)us * NSEC_PER_USEC;
	emx_busy_poll(napi, emx_poll_is_over, &limits, FRAMES_AT_ONCE);
	poll->frames = emx_poll_end(ep);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The effects of the core carried out: events, frames, answers, replies, copies, and its timer.
 */
#include <linux/hrtimer.h>
#include <linux/timekeeping.h>

#include "effects.h"
#include "endpoint.h"
#include "large.h"
#include "region.h"
#include "tracing.h"

/* The timer may end so much later: work due meanwhile costs no further interrupt. */
#define SLACK_NS (100 * NSEC_PER_USEC)

static void emx_effects_event(struct emx_endpoint *ep, const struct emx_msg *msg,
			      const struct sk_buff *skb)
{
	u32 source;

	if (msg->type == EMX_EV_PULL_DONE) {
		emx_pull_done(ep, msg);
		return;
	}
	/* The core takes the frame for one piece of memory; only its header is. */
	source = msg->data ? msg->data - (u64)(uintptr_t)skb->data : 0;
	emx_event_frame(ep, msg, skb, source);
}

/* Counts it before it leaves: a peer that has the answer sees the count. */
static void emx_effects_transmit(struct emx_effects *now, const struct fw_fx *fx)
{
	struct emx_endpoint *ep = now->ep;
	struct sk_buff *skb = emx_tx_header(ep->board, fx->u.tx.header, fx->u.tx.length);

	emx_count(&ep->counters, skb ? fx->counter : EMX_CNT_TX_FAILED, 1);
	if (skb)
		__skb_queue_tail(&now->out, skb);
}

static void emx_effects_answer(struct emx_effects *now, const struct fw_fx *fx,
			       const struct sk_buff *skb)
{
	if (fw_may_answer(&now->ep->fw->answers, ktime_get_ns()))
		emx_effects_transmit(now, fx);
	else
		emx_drop(now->ep, skb, EMX_CNT_DROP_ANSWER);
}

/* Builds the replies, or tells the puller that there is no such memory. */
static void emx_effects_reply(struct emx_effects *now, struct fw_fx *fx, const struct sk_buff *skb)
{
	struct fw_fx refusal = { .kind = FW_FX_NONE };

	if (emx_window_reply(now->ep, &fx->u.replies, &now->out))
		return;
	fw_replies_refuse(now->ep->fw, &fx->u.replies, &refusal);
	if (refusal.kind == FW_FX_ANSWER)
		emx_effects_answer(now, &refusal, skb);
}

/* Places the payload of a reply, by the processor, a DMA engine or the thread of loose regions. */
static noinline void emx_effects_copy(struct emx_endpoint *ep, const struct fw_fx *fx,
				      struct sk_buff *skb)
{
	struct emx_region *region = ep->pull[fx->u.copy.pull].region;
	u64 end = (u64)fx->u.copy.position + fx->u.copy.length;

	if (WARN_ON_ONCE(!region || end > region->length))
		return;
	if (region->loose)
		emx_loose_copy(ep, fx, skb);
	else if (!emx_offload_copy(ep, fx, skb))
		emx_pull_copy_here(ep, fx, skb);
	emx_count(&ep->counters, EMX_CNT_PULL_PLACED, 1);
}

/* Apart, so that a short message needs no stack for it. */
static noinline void emx_effects_drop(struct emx_endpoint *ep, const struct sk_buff *skb,
				      unsigned int reason)
{
	emx_drop(ep, skb, reason);
}

static void emx_effects_execute(struct emx_effects *now, struct fw_fx *fx, struct sk_buff *skb)
{
	switch (fx->kind) {
	case FW_FX_DROP:
		emx_effects_drop(now->ep, skb, fx->counter);
		break;
	case FW_FX_EVENT:
		emx_effects_event(now->ep, &fx->u.msg, skb);
		break;
	case FW_FX_TX:
		emx_effects_transmit(now, fx);
		break;
	case FW_FX_ANSWER:
		emx_effects_answer(now, fx, skb);
		break;
	case FW_FX_REPLIES:
		emx_effects_reply(now, fx, skb);
		break;
	case FW_FX_COPY:
		emx_effects_copy(now->ep, fx, skb);
		break;
	default: /* what concerns the board never comes from an endpoint */
		break;
	}
}

/* ---- time ---- */

/* Sets the timer to the core's deadline. */
static void emx_effects_arm(struct emx_endpoint *ep)
{
	u64 deadline = fw_deadline(ep->fw);

	if (deadline == ~0ull || !ep->open)
		return;
	if (hrtimer_is_queued(&ep->timer) && ep->timer_ns <= deadline)
		return;
	ep->timer_ns = deadline;
	hrtimer_start_range_ns(&ep->timer, ns_to_ktime(deadline), SLACK_NS, HRTIMER_MODE_ABS_SOFT);
}

enum hrtimer_restart emx_effects_timer(struct hrtimer *timer)
{
	struct emx_endpoint *ep = container_of(timer, struct emx_endpoint, timer);
	struct emx_effects now;

	if (emx_effects_begin(&now, ep, EMX_IN_SOFTIRQ)) {
		fw_tick(ep->fw, ktime_get_ns());
		emx_effects_run_waiting(&now);
	}
	emx_effects_end(&now, EMX_IN_SOFTIRQ);
	return HRTIMER_NORESTART; /* emx_effects_arm() has started it, if it is needed */
}

/* ---- effects of an input ---- */

void emx_effects_run(struct emx_effects *now, struct fw_fx *fx, int more, struct sk_buff *skb)
{
	emx_effects_execute(now, fx, skb);
	while (more) {
		more = fw_next(now->ep->fw, ktime_get_ns(), fx);
		emx_effects_execute(now, fx, skb);
	}
	emx_effects_arm(now->ep);
	emx_event_link(now->ep);
}

void emx_effects_run_waiting(struct emx_effects *now)
{
	struct fw_fx fx = { .kind = FW_FX_NONE };

	emx_effects_run(now, &fx, 1, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The puller of the EtherMX extension: pulls that fw_pull_req.c starts and ends, and that ask by
 * X PULL. Frames and loss: fw_xpull_ask.c; how many at a time: fw_xpull_pace.c.
 */
#include "fw_xpull.h"

/* A time slice of Linux: a host that waits for its CPU lost nothing. */
#define REPEAT_MIN_NS 3000000u
#define REPEAT_UNKNOWN_MS                                                      \
	10 /* while no round trip was measured; never more than the host's own \
	    */
#define REPEAT_MAX_MS 1000
/*
 * Frames that the timer asks for again, halved each time: their answers tell what else is lost, and
 * a sender that was only away answers all requests when it comes back.
 */
#define PROBE 8

static __u64 first_interval(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	const __u64 twice = 2ull * fw_pace_trip_to(ep, p->peer);
	const __u32 unknown =
		ep->pull_repeat_ms < REPEAT_UNKNOWN_MS ? ep->pull_repeat_ms : REPEAT_UNKNOWN_MS;

	if (twice == 0)
		return fw_ns(unknown ? unknown : 1);
	return twice > REPEAT_MIN_NS ? twice : REPEAT_MIN_NS;
}

/* An accepted frame, or the start, moves the timer on. */
static void x_restart_timer(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	struct fw_xpull *x = fw_x_of(ep, p);

	x->tries = 0;
	x->interval_ns = first_interval(ep, p);
	p->give_up = now + fw_ns(ep->pull_limit_ms);
	fw_pull_time(ep, p, now, x->interval_ns);
}

/* Bytes in a full frame towards us, 0 when the sender or we have no X PULL. */
static __u32 choose_unit(const struct fw_endpoint *ep, __u64 offer)
{
	__u32 frame = emx_offer_frame(offer);

	if (!(emx_offer_features(offer) & EMX_X_PULLS))
		return 0;
	if (frame > ep->x_frame)
		frame = ep->x_frame;
	return frame >= FW_X_DATA_HEADER + EMX_X_UNIT_MIN ? frame - FW_X_DATA_HEADER : 0;
}

void fw_xpull_start(struct fw_endpoint *ep, struct fw_pull *p, __u64 offer, __u64 now)
{
	const __u32 unit = choose_unit(ep, offer);
	struct fw_xpull *x = fw_x_of(ep, p);
	const __u8 queued = x->queued, next = x->next;

	if (!unit)
		return;
	fw_zero(x, sizeof(*x));
	x->queued = queued; /* since its last use, perhaps */
	x->next = next;
	x->unit = unit;
	x->sum = ep->x_frag && emx_offer_features(offer) & EMX_X_SUMS;
	p->is_x = 1;
	p->frames = p->total / unit + (p->total % unit != 0);
	fw_pace_start(ep);
	x_restart_timer(ep, p, now);
	fw_pace_want(ep, p);
}

void fw_xpull_stop(struct fw_endpoint *ep, struct fw_pull *p)
{
	fw_pace_stop(ep, p);
}

void fw_xpull_late(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	struct fw_xpull *x = fw_x_of(ep, p);

	x->probe = PROBE >> (x->tries < 3 ? x->tries : 3);
	x->tries += x->tries < 0xff;
	x->interval_ns *= 2;
	if (x->interval_ns > fw_ns(REPEAT_MAX_MS))
		x->interval_ns = fw_ns(REPEAT_MAX_MS);
	fw_pull_time(ep, p, now, x->interval_ns);
	fw_pull_list(ep, p);
}

int fw_xpull_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx)
{
	struct fw_xpull *x = fw_x_of(ep, p);
	const __u32 probe = x->probe;
	int asked;

	x->probe = 0;
	if (probe && fw_xask_again(ep, p, probe, now, fx))
		return 1;
	do {
		asked = fw_xask_more(ep, p, fw_pace_take(ep, x), now, fx);
		fw_pace_want(ep, p);
		fw_pace_turn(ep);
	} while (!asked && x->grant); /* this pull leaves the list, then */
	return asked;
}

void fw_xpull_data(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	struct fw_pull *p = fw_pull_of(ep, pkt);
	int why = p && p->is_x ? fw_xask_answered(ep, p, pkt, now) : EMX_CNT_DROP_REPLY_UNKNOWN;

	if (why) {
		fw_drop(fx, why);
		return;
	}
	fw_pull_copy(ep, p, pkt->frame * fw_x_of(ep, p)->unit, pkt->msg.data_len, FW_X_DATA_HEADER,
		     fx);
	x_restart_timer(ep, p, now);
	if (p->base == p->frames) {
		fw_pull_complete(ep, p);
		return;
	}
	fw_pace_want(ep, p);
	fw_pace_turn(ep);
}

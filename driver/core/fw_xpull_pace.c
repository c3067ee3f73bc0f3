/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds the frames that the X PULLs of an endpoint have under way, and gives each its turn
 * (docs/protocol.md, the EtherMX extension).
 *
 * One budget for all of them: senders that do not know of each other share the receiver's link and
 * the queue before it, and only the receiver sees them all. It grows by a frame per answer until
 * the first loss, then by one per round, which is as many answers as the budget has frames; a round
 * with a loss takes an eighth away. What is under way answers for at most one cut: the round after
 * a cut lasts until as many frames have come as were under way then.
 *
 * Pulls wait for their turn in a queue. One alone asks for as much as it may at a time, of many
 * each for a part of its share, so that the senders' frames mix. A pull with nothing under way may
 * always ask: nothing else would remind it.
 */
#include "fw_xpull.h"

#define BUDGET_FIRST 16
#define QUANTUM_MAX 16

void fw_pace_init(struct fw_pace *pace)
{
	pace->budget = BUDGET_FIRST;
}

/* ---- the budget ---- */

static __u32 budget(const struct fw_endpoint *ep)
{
	__u32 frames = ep->pace.budget < ep->x_window ? ep->pace.budget : ep->x_window;

	return frames > ep->pace.pulls ? frames : ep->pace.pulls;
}

static void grow(struct fw_endpoint *ep)
{
	if (ep->pace.budget < ep->x_window)
		ep->pace.budget++;
}

void fw_pace_arrived(struct fw_endpoint *ep)
{
	struct fw_pace *pace = &ep->pace;

	if (!pace->lossy) {
		grow(ep);
		return;
	}
	if (pace->round > 1) {
		pace->round--;
		return;
	}
	if (!pace->cut)
		grow(ep);
	pace->cut = 0;
	pace->round = budget(ep);
}

void fw_pace_lost(struct fw_endpoint *ep)
{
	struct fw_pace *pace = &ep->pace;

	pace->lossy = 1;
	if (pace->cut)
		return;
	pace->cut = 1;
	pace->budget = budget(ep);
	pace->budget -= (pace->budget + 7) / 8;
	pace->round = ep->outstanding;
}

/* ---- turns ---- */

static __u32 quantum(const struct fw_endpoint *ep)
{
	const __u32 pulls = ep->pace.pulls > 1 ? ep->pace.pulls : 2;
	const __u32 part = budget(ep) / (2 * pulls);

	return part > QUANTUM_MAX ? QUANTUM_MAX : part ? part : 1;
}

static __u32 left_over(const struct fw_endpoint *ep)
{
	const __u32 used = ep->outstanding + ep->pace.granted;

	return used < budget(ep) ? budget(ep) - used : 0;
}

/* Frames that the pull may have now, if any: a quantum or all it wants. */
static __u32 allowed(const struct fw_endpoint *ep, const struct fw_pull *p,
		     const struct fw_xpull *x)
{
	const __u32 wants = fw_xask_wants(p, x), most = left_over(ep);
	__u32 n = quantum(ep);

	if (n > wants)
		n = wants;
	if (n > most)
		return p->missing == 0 && !x->grant ? 1 : 0;
	if (ep->pace.pulls == 1)
		return most < wants ? most : wants;
	return n;
}

static void grant(struct fw_endpoint *ep, struct fw_pull *p, struct fw_xpull *x, __u32 n)
{
	if (n > 8 * EMX_X_WANT_LEN)
		n = 8 * EMX_X_WANT_LEN;
	x->grant += (__u16)n;
	ep->pace.granted += n;
	fw_pull_list(ep, p);
}

__u32 fw_pace_take(struct fw_endpoint *ep, struct fw_xpull *x)
{
	const __u32 n = x->grant;

	ep->pace.granted -= n;
	x->grant = 0;
	return n;
}

static void enqueue(struct fw_endpoint *ep, struct fw_pull *p, struct fw_xpull *x)
{
	const __u8 slot = (__u8)(p - ep->pull);

	x->queued = 1;
	if (ep->pace.turns++ == 0)
		ep->pace.turn_first = slot;
	else
		ep->xpull[ep->pace.turn_last].next = slot;
	ep->pace.turn_last = slot;
}

static void dequeue(struct fw_endpoint *ep)
{
	struct fw_xpull *x = &ep->xpull[ep->pace.turn_first];

	x->queued = 0;
	ep->pace.turn_first = x->next;
	ep->pace.turns--;
}

void fw_pace_want(struct fw_endpoint *ep, struct fw_pull *p)
{
	struct fw_xpull *x = fw_x_of(ep, p);

	if (fw_xask_wants(p, x) == 0 || x->grant)
		return;
	if (p->missing == 0)
		grant(ep, p, x, allowed(ep, p, x));
	else if (!x->queued)
		enqueue(ep, p, x);
}

void fw_pace_turn(struct fw_endpoint *ep)
{
	while (ep->pace.turns) {
		struct fw_pull *p = &ep->pull[ep->pace.turn_first];
		struct fw_xpull *x = &ep->xpull[ep->pace.turn_first];
		const int idle = p->state != FW_PULL_RUNNING || !p->is_x || x->grant ||
				 fw_xask_wants(p, x) == 0;
		const __u32 n = idle ? 0 : allowed(ep, p, x);

		if (!idle && n == 0)
			return;
		dequeue(ep);
		if (n)
			grant(ep, p, x, n);
	}
}

void fw_pace_start(struct fw_endpoint *ep)
{
	ep->pace.pulls++;
}

void fw_pace_stop(struct fw_endpoint *ep, struct fw_pull *p)
{
	fw_pace_take(ep, fw_x_of(ep, p));
	ep->pace.pulls--;
	fw_pace_turn(ep);
}

/* ---- round trips ---- */

void fw_pace_trip(struct fw_endpoint *ep, __u32 peer, __u64 ns)
{
	const __u32 i = peer % FW_COUNT_OF(ep->pace.trip);
	const __u32 known = fw_pace_trip_to(ep, peer);
	const __u32 sample = ns > 0x3fffffff ? 0x3fffffff : ns ? (__u32)ns : 1;

	ep->pace.trip[i].peer = peer;
	ep->pace.trip[i].ns = known ? known - known / 8 + sample / 8 : sample;
}

__u32 fw_pace_trip_to(const struct fw_endpoint *ep, __u32 peer)
{
	const __u32 i = peer % FW_COUNT_OF(ep->pace.trip);

	return ep->pace.trip[i].peer == peer ? ep->pace.trip[i].ns : 0;
}

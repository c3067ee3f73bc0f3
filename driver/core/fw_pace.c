/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds the frames that the pulls of an endpoint have under way, and gives each its turn
 * (docs/protocol.md, the EtherMX extension; wire specification, section 10.3).
 *
 * A pull with nothing under way may always ask: nothing else would remind it. Beyond that, pulls by
 * PULL share a fixed window evenly, and ask for whole blocks as answers make room.
 *
 * X PULLs have one budget for all: senders that do not know of each other share the receiver's link
 * and the queue before it, and only the receiver sees them all. It grows by a frame per answer
 * until the first loss, then by one per round, which is as many answers as the budget has frames; a
 * round with a loss takes an eighth away. What is under way answers for at most one cut: the round
 * after a cut lasts until as many frames have come as were under way then. They wait for their turn
 * in a queue. One alone asks for as much as it may at a time, of many each for a part of its share,
 * so that the senders' frames mix.
 */
#include "fw_pull.h"

#define QUANTUM_MAX 16
/* The same of datagrams: as many as one system call sends, for the kernel or the card to cut. */
#define QUANTUM_DATAGRAMS 44

/* ---- new frames, and blocks of PULL ---- */

__u32 fw_pace_new(const struct fw_pull *p)
{
	const __u32 left = p->frames - p->frame.asked;
	const __u32 room = p->frame.base + p->span - p->frame.asked;

	return left < room ? left : room;
}

__u32 fw_pace_block(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	const __u32 left = p->frames - p->frame.asked;
	const __u32 n = left < p->block ? left : p->block;

	if (n > fw_pace_new(p)) /* whole blocks, also where these fill the span */
		return 0;
	if (p->missing == 0)
		return n;
	if (ep->outstanding + n > ep->pull_window)
		return 0;
	return (p->missing + n) * ep->pulls_active > ep->pull_window ? 0 : n;
}

/* ---- the budget of X PULLs ---- */

/* Frames that the receive queues hold of those carriers by which some come. */
static __u32 window(const struct fw_endpoint *ep)
{
	const __u16 *by = ep->pace.by;
	__u32 most = ~0u;

	if (FW_LIKELY(by[FW_BY_FRAMES] == ep->pace.pulls))
		return ep->x_window;
	if (by[FW_BY_FRAMES])
		most = ep->x_window;
	if (by[FW_BY_DATAGRAMS] && most > ep->x_datagrams)
		most = ep->x_datagrams;
	if (by[FW_BY_TCP] && most > ep->x_tcp)
		most = ep->x_tcp;
	return most;
}

static __u32 budget(const struct fw_endpoint *ep)
{
	const __u32 most = window(ep);
	__u32 frames = ep->pace.budget < most ? ep->pace.budget : most;

	return frames > ep->pace.pulls ? frames : ep->pace.pulls;
}

/* Sets the budget; its quantum takes a division, which not every frame is to pay for. */
static void set_budget(struct fw_endpoint *ep, __u32 frames)
{
	const __u32 pulls = ep->pace.pulls > 1 ? ep->pace.pulls : 2;
	const __u32 most = ep->pace.by[FW_BY_DATAGRAMS] ? QUANTUM_DATAGRAMS : QUANTUM_MAX;
	__u32 part;

	ep->pace.budget = frames;
	part = budget(ep) / (2 * pulls);
	ep->pace.quantum = part > most ? most : part ? part : 1;
}

static void grow(struct fw_endpoint *ep)
{
	if (ep->pace.budget < window(ep))
		set_budget(ep, ep->pace.budget + 1);
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
	const __u32 frames = budget(ep);

	ep->pace.lossy = 1;
	if (ep->pace.cut)
		return;
	ep->pace.cut = 1;
	set_budget(ep, frames - (frames + 7) / 8);
	ep->pace.round = ep->outstanding;
}

/* ---- turns of X PULLs ---- */

static __u32 left_over(const struct fw_endpoint *ep)
{
	const __u32 used = ep->outstanding + ep->pace.granted;

	return used < budget(ep) ? budget(ep) - used : 0;
}

__u32 fw_pace_wanted(const struct fw_pull *p)
{
	return p->frame.marked + fw_pace_new(p);
}

/* Frames that the pull may have now, if any: a quantum or all it wants. */
static __u32 allowed(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	const __u32 wants = fw_pace_wanted(p), most = left_over(ep);
	const __u32 n = ep->pace.quantum < wants ? ep->pace.quantum : wants;

	if (n > most)
		return p->missing == 0 && !p->grant ? 1 : 0;
	if (ep->pace.pulls == 1)
		return most < wants ? most : wants;
	return n;
}

static void grant(struct fw_endpoint *ep, struct fw_pull *p, __u32 n)
{
	if (n > 8 * EMX_X_WANT_LEN)
		n = 8 * EMX_X_WANT_LEN;
	p->grant += (__u16)n;
	ep->pace.granted += n;
	fw_enqueue(ep, p, FW_READY);
}

__u32 fw_pace_take(struct fw_endpoint *ep, struct fw_pull *p)
{
	const __u32 n = p->grant;

	ep->pace.granted -= n;
	p->grant = 0;
	return n;
}

void fw_pace_want(struct fw_endpoint *ep, struct fw_pull *p)
{
	if (!p->is_x) {
		if (p->frame.marked || fw_pace_block(ep, p))
			fw_enqueue(ep, p, FW_READY);
	} else if (fw_pace_wanted(p) && !p->grant) {
		if (p->missing == 0)
			grant(ep, p, allowed(ep, p));
		else
			fw_enqueue(ep, p, FW_TURNS);
	}
}

void fw_pace_turn(struct fw_endpoint *ep)
{
	while (ep->queue[FW_TURNS].length) {
		struct fw_pull *p = fw_first(ep, FW_TURNS);
		const int idle = p->state != FW_PULL_RUNNING || !p->is_x || p->grant ||
				 fw_pace_wanted(p) == 0;
		const __u32 n = idle ? 0 : allowed(ep, p);

		if (!idle && n == 0)
			return;
		fw_dequeue(ep, FW_TURNS);
		if (n)
			grant(ep, p, n);
	}
}

void fw_pace_start(struct fw_endpoint *ep, struct fw_pull *p)
{
	ep->pace.pulls++;
	ep->pace.by[p->carrier]++;
	set_budget(ep, ep->pace.budget);
	fw_pace_want(ep, p);
}

void fw_pace_stop(struct fw_endpoint *ep, struct fw_pull *p)
{
	fw_pace_take(ep, p);
	ep->pace.by[p->carrier]--;
	ep->pace.pulls--;
	set_budget(ep, ep->pace.budget);
	fw_pace_turn(ep);
}

void fw_pace_leave_datagrams(struct fw_endpoint *ep, struct fw_pull *p)
{
	ep->pace.by[p->carrier]--;
	p->carrier = FW_BY_FRAMES;
	ep->pace.by[p->carrier]++;
	set_budget(ep, ep->pace.budget);
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

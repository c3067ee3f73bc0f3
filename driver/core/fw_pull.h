/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the parts of the puller, each of which calls those below it only: pulls and their time
 * (fw_pull.c), the frames to ask for (fw_ask.c), how many and whose turn it is (fw_pace.c), what
 * was asked for and is lost (fw_frames.c).
 */
#ifndef EMX_FW_PULL_H
#define EMX_FW_PULL_H

#include "fw_frames.h"

static inline __u8 fw_slot_of(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	return (__u8)(p - ep->pull);
}

/* Puts a pull at the end of that queue, unless it stands there already. */
static inline void fw_enqueue(struct fw_endpoint *ep, struct fw_pull *p, enum fw_queues which)
{
	struct fw_queue *q = &ep->queue[which];
	const __u8 slot = fw_slot_of(ep, p);

	if (p->link[which].queued)
		return;
	p->link[which].queued = 1;
	if (q->length++ == 0)
		q->first = slot;
	else
		ep->pull[q->last].link[which].next = slot;
	q->last = slot;
}

static inline struct fw_pull *fw_first(struct fw_endpoint *ep, enum fw_queues which)
{
	return &ep->pull[ep->queue[which].first];
}

static inline void fw_dequeue(struct fw_endpoint *ep, enum fw_queues which)
{
	struct fw_pull *p = fw_first(ep, which);

	p->link[which].queued = 0;
	ep->queue[which].first = p->link[which].next;
	ep->queue[which].length--;
}

/* ---- fw_pace.c ---- */

#define FW_BUDGET_FIRST 16 /* frames of X PULLs under way, at first */

/* An X PULL begins, or ended; goes on by frames. */
void fw_pace_start(struct fw_endpoint *ep, struct fw_pull *p);
void fw_pace_stop(struct fw_endpoint *ep, struct fw_pull *p);
void fw_pace_leave_datagrams(struct fw_endpoint *ep, struct fw_pull *p);
/* A frame of an X PULL came; one was lost. */
void fw_pace_arrived(struct fw_endpoint *ep);
void fw_pace_lost(struct fw_endpoint *ep);
/* Frames not asked for yet that the pull's span has room for. */
__u32 fw_pace_new(const struct fw_pull *p);
/* New frames that a pull by PULL may ask for now: the next block or 0. */
__u32 fw_pace_block(const struct fw_endpoint *ep, const struct fw_pull *p);
/* Frames that an X PULL could ask for, but for the budget. */
__u32 fw_pace_wanted(const struct fw_pull *p);
/* Lets the pull ask, or queues it for its turn, if it wants frames. */
void fw_pace_want(struct fw_endpoint *ep, struct fw_pull *p);
/* Lets X PULLs have what the budget allows, in turn. */
void fw_pace_turn(struct fw_endpoint *ep);
/* Takes what an X PULL was granted. */
__u32 fw_pace_take(struct fw_endpoint *ep, struct fw_pull *p);
/* Takes note of a round trip to a peer, and tells the smoothed one, 0: unknown. */
void fw_pace_trip(struct fw_endpoint *ep, __u32 peer, __u64 ns);
__u32 fw_pace_trip_to(const struct fw_endpoint *ep, __u32 peer);

/* ---- fw_ask.c ---- */

/*
 * Chooses X PULL or PULL for p, just started, and its geometry; of X PULL, packets of at most that
 * many bytes by that carrier, if not by frames.
 */
void fw_ask_begin(struct fw_endpoint *ep, struct fw_pull *p, __u8 carrier, __u16 packet);
/*
 * Takes the answer pkt: 0 when it is one that p waits for, and in *position where its data belongs;
 * else the reason to drop it.
 */
int fw_ask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt, __u64 now,
		    __u32 *position);
/* The timer ran out. */
void fw_ask_late(struct fw_pull *p);
/* The next request, as a TX effect; 0 when there is none for now. */
int fw_ask_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx);

#endif

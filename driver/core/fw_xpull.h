/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the parts of pulls by the EtherMX extension: the replier (fw_xpull_rep.c), which frames
 * to ask for (fw_xpull_ask.c), how many (fw_xpull_pace.c), and what joins them (fw_xpull_req.c).
 */
#ifndef EMX_FW_XPULL_H
#define EMX_FW_XPULL_H

#include "fw_pull.h"

static inline struct fw_xpull *fw_x_of(struct fw_endpoint *ep, const struct fw_pull *p)
{
	return &ep->xpull[p - ep->pull];
}

/* ---- fw_xpull_rep.c ---- */

/* fw_replies_take for X DATA. */
__u32 fw_xpull_take(struct fw_replies *run, void *hdr, __u32 *position);

/* ---- fw_xpull_ask.c ---- */

/* Takes a frame: 0 when it is one that we wait for, else the reason to drop it. */
int fw_xask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt,
		     __u64 now);
/* Frames that could be asked for now, but for the budget; may be less than there are. */
__u32 fw_xask_wants(const struct fw_pull *p, const struct fw_xpull *x);
/* A request for n > 0 of them, as a TX effect; 0 when there is none. */
int fw_xask_more(struct fw_endpoint *ep, struct fw_pull *p, __u32 n, __u64 now, struct fw_fx *fx);
/* A request for the first n > 0 frames that are missing, again, as a TX effect; 0: none is. */
int fw_xask_again(struct fw_endpoint *ep, struct fw_pull *p, __u32 n, __u64 now, struct fw_fx *fx);
/* fw_expect for an X PULL. */
__u32 fw_xask_expect(const struct fw_pull *p, const struct fw_xpull *x, __u32 max,
		     struct fw_place *place);

/* ---- fw_xpull_pace.c ---- */

void fw_pace_init(struct fw_pace *pace);
void fw_pace_start(struct fw_endpoint *ep);
void fw_pace_stop(struct fw_endpoint *ep, struct fw_pull *p);
/* A frame that we waited for came; one was lost. */
void fw_pace_arrived(struct fw_endpoint *ep);
void fw_pace_lost(struct fw_endpoint *ep);
/* Queues the pull for its turn, if it wants frames. */
void fw_pace_want(struct fw_endpoint *ep, struct fw_pull *p);
/* Lets pulls have what the budget allows, in turn. */
void fw_pace_turn(struct fw_endpoint *ep);
/* Takes what a pull was granted. */
__u32 fw_pace_take(struct fw_endpoint *ep, struct fw_xpull *x);
/* Takes note of a round trip to a peer, and tells the smoothed one, 0: unknown. */
void fw_pace_trip(struct fw_endpoint *ep, __u32 peer, __u64 ns);
__u32 fw_pace_trip_to(const struct fw_endpoint *ep, __u32 peer);

/* ---- fw_xpull_req.c ---- */

/* Makes p, just started, a pull by X PULL, if that offer and the host allow it. */
void fw_xpull_start(struct fw_endpoint *ep, struct fw_pull *p, __u64 offer, __u64 now);
/* No more frames are expected. */
void fw_xpull_stop(struct fw_endpoint *ep, struct fw_pull *p);
/* The timer ran out, but not for good. */
void fw_xpull_late(struct fw_endpoint *ep, struct fw_pull *p, __u64 now);
/* The next request, as a TX effect; 0 when there is none for now. */
int fw_xpull_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx);

#endif

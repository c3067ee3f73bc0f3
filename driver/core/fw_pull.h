/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the halves of the puller: pulls and their time (fw_pull_req.c), the queue of frames asked
 * for (fw_pull_ask.c), and pulls by the extension (fw_xpull.h).
 */
#ifndef EMX_FW_PULL_H
#define EMX_FW_PULL_H

#include "fw_internal.h"

/* fw_pull_req.c: */
/* The running pull of a reply or a refusal, or NULL. */
struct fw_pull *fw_pull_of(struct fw_endpoint *ep, const struct fw_pkt *pkt);
/* Effects of that pull may wait. */
void fw_pull_list(struct fw_endpoint *ep, struct fw_pull *p);
/* Everything is here. */
void fw_pull_complete(struct fw_endpoint *ep, struct fw_pull *p);
/* Sets the timer, from now on. */
void fw_pull_time(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, __u64 ns);
/* The effect of a frame whose payload begins at source. */
void fw_pull_copy(const struct fw_endpoint *ep, const struct fw_pull *p, __u32 position,
		  __u32 length, __u32 source, struct fw_fx *fx);

/* fw_pull_ask.c: */
/* A request of that type, from that frame on: what PULL and X PULL have in common. */
struct fw_pkt fw_ask_packet(const struct fw_endpoint *ep, const struct fw_pull *p, __u8 type,
			    __u32 first);
/* Takes a reply: 0 when it is one that we wait for, else the reason to drop it. */
int fw_ask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt);
/* Everything missing counts as lost: the timer ran out. */
void fw_ask_all_lost(struct fw_pull *p);
/* True if fw_ask_next would have a request; may say yes without need. */
int fw_ask_wants(const struct fw_endpoint *ep, const struct fw_pull *p);
/* The next request, as a TX effect; 0 when there is none for now. */
int fw_ask_next(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the two halves of the puller: pulls and their time (fw_pull_req.c), and the queue of
 * frames asked for (fw_pull_ask.c).
 */
#ifndef EMX_FW_PULL_H
#define EMX_FW_PULL_H

#include "fw_internal.h"

/* Takes a reply: 0 when it is one that we wait for, else the reason to drop it. */
int fw_ask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt);
/* Everything missing counts as lost: the timer ran out. */
void fw_ask_all_lost(struct fw_pull *p);
/* Whether fw_ask_next would have a request; may say yes without need. */
int fw_ask_wants(const struct fw_endpoint *ep, const struct fw_pull *p);
/* The next request, as a TX effect; 0 when there is none for now. */
int fw_ask_next(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx);

#endif

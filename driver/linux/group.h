/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Groups: one frame for all members on other hosts (docs/protocol.md, Groups).
 */
#ifndef EMX_LINUX_GROUP_H
#define EMX_LINUX_GROUP_H

#include "ethermx.h"

/* group.c */

void emx_group_init(struct emx_endpoint *ep);
/* Executes EMX_DEV_GROUP_JOIN, and a repeated one does nothing. 0 or a negative errno. Sleeps. */
int emx_group_join(struct emx_endpoint *ep, u64 key);
/* Executes EMX_DEV_GROUP_LEAVE. 0, or -EINVAL for what is no key. Sleeps. */
int emx_group_leave(struct emx_endpoint *ep, u64 key);
/* Leaves all groups of an endpoint that is closed. Sleeps. */
void emx_group_leave_all(struct emx_endpoint *ep);
/* Executes EMX_DEV_GROUP_SEND. 0 or a negative errno. Sleeps. */
int emx_group_send(struct emx_endpoint *ep, const struct emx_dev_command *command);
/*
 * Gives a frame whose address is not the board's to the members of its group. 0, or the counter of
 * the reason to drop it: EMX_CNT_DROP_NOT_OURS without a member here. Caller: RCU, softirq.
 */
int emx_group_rx(struct emx_board *board, struct sk_buff *skb);

#endif

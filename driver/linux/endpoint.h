/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints, their event rings, and how their programs wait for events.
 */
#ifndef EMX_LINUX_ENDPOINT_H
#define EMX_LINUX_ENDPOINT_H

#include "ethermx.h"

/* endpoint.c */

/*
 * Makes an endpoint for the current process and fills what claim tells; an ERR_PTR as
 * EMX_IOC_CLAIM says. Sleeps.
 */
struct emx_endpoint *emx_endpoint_claim(struct net *net, struct emx_dev_claim *claim);
/*
 * Nothing comes in or goes out any more, pages are unpinned. Repeated calls do nothing. Sleeps.
 * The last use of the process's address space ends with a call of it, too.
 */
void emx_endpoint_close(struct emx_endpoint *ep);
/* Frees a closed endpoint, later. */
void emx_endpoint_free(struct emx_endpoint *ep);
/* The board's link state changed: each endpoint gets an event. Takes endpoint->lock. */
void emx_endpoints_link(struct emx_board *board, u8 state);
/* Maps a part of the endpoint (EMX_DEV_MAP_*). 0, -EINVAL, -ENOMEM. */
int emx_endpoint_map(struct emx_endpoint *ep, struct vm_area_struct *vma);

/* event.c; caller: endpoint->lock */

/*
 * Appends the event of a frame with its payload, data_len bytes at offset `source` of the skb;
 * drops the frame when there is no room.
 */
void emx_event_frame(struct emx_endpoint *ep, const struct emx_msg *msg, const struct sk_buff *skb,
		     u32 source);
/* Appends the event that a running pull has kept room for. */
void emx_event_pull(struct emx_endpoint *ep, const struct emx_msg *msg);
/* Tells the link state that is owed, as soon as there is room. */
void emx_event_link(struct emx_endpoint *ep);
/* True if another pull can keep room for its event. */
bool emx_event_room(const struct emx_endpoint *ep);

/* poll.c */

/* A frame has come for the endpoint. Caller: endpoint->lock. */
void emx_poll_note(struct emx_endpoint *ep, const struct sk_buff *skb);
/* EMX_IOC_POLL. Sleeps. */
int emx_poll(struct emx_endpoint *ep, struct emx_dev_poll *poll);

/* wait.c */

void emx_wait_init(struct emx_endpoint *ep);
/* Wakes all sleepers, and lets none sleep again. Sleeps. */
void emx_wait_exit(struct emx_endpoint *ep);
/* EMX_IOC_WAIT, with its result. Sleeps. */
long emx_wait(struct emx_endpoint *ep, const struct emx_dev_wait *wait);
/* EMX_IOC_WAKE. */
void emx_wake(struct emx_endpoint *ep);

#endif

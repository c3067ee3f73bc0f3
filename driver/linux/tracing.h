/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the tracepoints (trace.h). Each costs a static branch while its tracepoint is off: one
 * instruction that does nothing. What is behind the branch is a function apart, in trace.c, so that
 * it takes no room on the path of a message. Any context.
 */
#ifndef EMX_LINUX_TRACING_H
#define EMX_LINUX_TRACING_H

#include <linux/skbuff.h>
#include <linux/tracepoint-defs.h>

#include "ethermx.h"

DECLARE_TRACEPOINT(emx_frame_received);
DECLARE_TRACEPOINT(emx_frame_dropped);
DECLARE_TRACEPOINT(emx_pull_started);
DECLARE_TRACEPOINT(emx_pull_ended);
DECLARE_TRACEPOINT(emx_frame_copied);
DECLARE_TRACEPOINT(emx_endpoint_opened);
DECLARE_TRACEPOINT(emx_endpoint_closed);

/* Instead of an emx_pull_status: the program wants no more of it, or its endpoint has ended. */
enum { EMX_TRACE_CANCELLED = 255 };

/* Those that copy frames to their place. */
enum emx_copier { EMX_BY_PROCESSOR = 0, EMX_BY_DMA = 1, EMX_BY_THREAD = 2 };

#define EMX_NO_ENDPOINT (-1) /* the frame was the board's, or nobody knows whose */

/* trace.c */
void emx_trace_received(const struct emx_board *board, const struct sk_buff *skb,
			const struct fw_pkt *pkt);
void emx_trace_dropped(const struct emx_board *board, int endpoint, const struct sk_buff *skb,
		       unsigned int reason);
void emx_trace_pull_started(const struct emx_endpoint *ep, int slot);
void emx_trace_pull_ended(const struct emx_endpoint *ep, int slot, u8 status);
void emx_trace_copied(const struct emx_endpoint *ep, u32 handle, u64 position, u32 length,
		      enum emx_copier by);
void emx_trace_opened(const struct emx_endpoint *ep);
void emx_trace_closed(const struct emx_endpoint *ep);

/* A frame that the core found right. */
static inline void emx_tell_received(const struct emx_board *board, const struct sk_buff *skb,
				     const struct fw_pkt *pkt)
{
	if (tracepoint_enabled(emx_frame_received))
		emx_trace_received(board, skb, pkt);
}

/*
 * A frame was dropped for the reason of that counter. skb: the frame, from its first byte on, or
 * NULL. endpoint: number, or EMX_NO_ENDPOINT.
 */
static inline void emx_tell_dropped(const struct emx_board *board, int endpoint,
				    const struct sk_buff *skb, unsigned int reason)
{
	if (tracepoint_enabled(emx_frame_dropped))
		emx_trace_dropped(board, endpoint, skb, reason);
}

/* Drops a frame of an endpoint: counts it, and tells. Caller: endpoint->lock. */
static inline void emx_drop(struct emx_endpoint *ep, const struct sk_buff *skb, unsigned int reason)
{
	emx_count(&ep->counters, reason, 1);
	emx_tell_dropped(ep->board, ep->fw->number, skb, reason);
}

/* The pull in that slot of the core has begun. Caller: endpoint->lock. */
static inline void emx_tell_pull_started(const struct emx_endpoint *ep, int slot)
{
	if (tracepoint_enabled(emx_pull_started))
		emx_trace_pull_started(ep, slot);
}

/*
 * It has ended, with that enum emx_pull_status or EMX_TRACE_CANCELLED; the core has not given its
 * slot to another yet. Caller: endpoint->lock.
 */
static inline void emx_tell_pull_ended(const struct emx_endpoint *ep, int slot, u8 status)
{
	if (tracepoint_enabled(emx_pull_ended))
		emx_trace_pull_ended(ep, slot, status);
}

/* Data of a frame has been copied for the pull with that handle. */
static inline void emx_tell_copied(const struct emx_endpoint *ep, u32 handle, u64 position,
				   u32 length, enum emx_copier by)
{
	if (tracepoint_enabled(emx_frame_copied))
		emx_trace_copied(ep, handle, position, length, by);
}

/* An endpoint has been opened, has been closed. Caller: endpoint->lock. */
static inline void emx_tell_opened(const struct emx_endpoint *ep)
{
	if (tracepoint_enabled(emx_endpoint_opened))
		emx_trace_opened(ep);
}

static inline void emx_tell_closed(const struct emx_endpoint *ep)
{
	if (tracepoint_enabled(emx_endpoint_closed))
		emx_trace_closed(ep);
}

#endif

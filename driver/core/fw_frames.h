/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The frames of one message: asked for, here, lost, and their order (fw_frames.c). Nothing of
 * endpoints, packets or time.
 */
#ifndef EMX_FW_FRAMES_H
#define EMX_FW_FRAMES_H

#include "fw_internal.h"

static inline int fw_bit(const __u32 *map, __u32 frame)
{
	return map[frame % FW_X_SPAN / 32] >> frame % 32 & 1;
}

/* Place of a frame in the order of answers to what was asked for under that number. */
static inline __u64 fw_place(__u32 number, __u32 frame)
{
	return (__u64)number << 32 | frame;
}

/* A number of which 16 bits are known: the newest that has them. */
static inline __u32 fw_frames_number(const struct fw_frames *f, __u16 bits)
{
	return f->number - (__u16)(f->number - bits);
}

/* The newest number under which frame k, base <= k < asked, was asked for. */
static inline __u32 fw_frames_number_of(const struct fw_frames *f, __u32 k)
{
	return fw_frames_number(f, f->by[k % FW_X_SPAN]);
}

/*
 * Frame k <= asked is asked for under the newest number. again: its answer may be that to an
 * earlier request, if answers do not tell.
 */
void fw_frames_ask(struct fw_frames *f, __u32 k, int again);
/* Frame k, asked for and not here, is here. Returns nonzero if it was marked as lost. */
int fw_frames_take(struct fw_frames *f, __u32 k);
/* True if an answer to frame k from that place is the next in turn: it has overtaken nothing. */
int fw_frames_in_turn(const struct fw_frames *f, __u32 k, __u64 place);
/*
 * An answer came from that place. Returns the place before which a missing frame is lost: by
 * answers, where that was seen FW_REORDER answers ago; else FW_REORDER numbers before this one.
 */
__u64 fw_frames_learn(struct fw_frames *f, __u64 place, int by_answers);
/* Marks the frames missing from before that place. Returns how many. */
__u32 fw_frames_lose(struct fw_frames *f, __u64 limit);
/* The first frame from k on that is marked, or missing and not marked; asked when none is. */
__u32 fw_frames_next(const struct fw_frames *f, __u32 k, int marked);
/* The marked frame that was asked for first, if any is. */
__u32 fw_frames_oldest(const struct fw_frames *f);
/*
 * Frames from k on that were asked for one after the other, each under its own number, are not
 * here, and are lost or were overtaken; at most max of them.
 */
__u32 fw_frames_run(const struct fw_frames *f, __u32 k, __u32 max);
/* The first max frames expected next, into frame[]; 0 < max <= FW_PLACES_MAX. Returns how many. */
__u32 fw_frames_expect(const struct fw_frames *f, __u32 max, __u32 *frame);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records which frames of a message were asked for, in which order, which came, and which are lost.
 *
 * The place of a frame in the order of answers is the newest number under which it was asked for,
 * and within that the number of the frame. A replier answers in that order, so an answer tells
 * about its predecessors: a missing frame that later ones have passed is lost, once they have
 * passed it by more than a link reorders. It is then marked until it is asked for again. A link
 * that reorders more causes needless repeats, which cost a frame each and nothing else.
 *
 * An X PULL has one number for all its frames, which their answers bear. The frames of a PULL have
 * a number each, and no answer bears it (fw_ask.c). What answers claim decides only what is asked
 * for when: a forged one costs needless repeats, or leaves a repeat to the timer.
 */
#include "fw_frames.h"

#define OVERTAKEN 0x8000000000000000ull

static void set_bit(__u32 *map, __u32 frame, int value)
{
	const __u32 bit = 1u << frame % 32;
	__u32 *word = &map[frame % FW_X_SPAN / 32];

	*word = value ? *word | bit : *word & ~bit;
}

static __u64 place_of(const struct fw_frames *f, __u32 k)
{
	return fw_place(fw_frames_number_of(f, k), k);
}

/* True if the frames that are missing were asked for in the order of their numbers. */
static int is_ordered(const struct fw_frames *f)
{
	return f->base >= f->mixed;
}

static void unmark(struct fw_frames *f, __u32 k)
{
	set_bit(f->mark, k, 0);
	f->marked--;
}

void fw_frames_ask(struct fw_frames *f, __u32 k, int again)
{
	f->by[k % FW_X_SPAN] = (__u16)f->number;
	set_bit(f->again, k, again);
	if (k == f->asked) {
		f->asked++;
		return;
	}
	if (fw_bit(f->mark, k))
		unmark(f, k);
	if (f->mixed <= k)
		f->mixed = k + 1;
}

int fw_frames_take(struct fw_frames *f, __u32 k)
{
	const int marked = fw_bit(f->mark, k);

	if (marked) /* late, but not lost */
		unmark(f, k);
	set_bit(f->got, k, 1);
	while (f->base < f->asked && fw_bit(f->got, f->base))
		set_bit(f->got, f->base++, 0);
	return marked;
}

int fw_frames_in_turn(const struct fw_frames *f, __u32 k, __u64 place)
{
	return k == f->base && is_ordered(f) && place > f->seen;
}

__u64 fw_frames_learn(struct fw_frames *f, __u64 place, int by_answers)
{
	const __u32 number = (__u32)(place >> 32);
	const __u64 limit = f->history[f->history_at];

	if (f->seen < place)
		f->seen = place;
	if (!by_answers)
		return number < FW_REORDER ? 0 : fw_place(number + 1 - FW_REORDER, 0);
	f->history[f->history_at] = f->seen;
	f->history_at = (f->history_at + 1) % FW_REORDER;
	return limit;
}

__u32 fw_frames_next(const struct fw_frames *f, __u32 k, int marked)
{
	while (k < f->asked) {
		const __u32 i = k % FW_X_SPAN / 32;
		const __u32 word = marked ? f->mark[i] : ~(f->got[i] | f->mark[i]);

		if (word >> k % 32) {
			k += (__u32)__builtin_ctz(word >> k % 32);
			break;
		}
		k += 32 - k % 32;
	}
	return k < f->asked ? k : f->asked;
}

__u32 fw_frames_lose(struct fw_frames *f, __u64 limit)
{
	const __u32 before = f->marked;
	__u32 k;

	for (k = fw_frames_next(f, f->base, 0); k < f->asked; k = fw_frames_next(f, k + 1, 0)) {
		if (place_of(f, k) < limit) {
			set_bit(f->mark, k, 1);
			f->marked++;
		} else if (k >= f->mixed) {
			break; /* the others come later */
		}
	}
	return f->marked - before;
}

__u32 fw_frames_oldest(const struct fw_frames *f)
{
	__u32 k = fw_frames_next(f, f->base, 1), oldest = k;

	for (; k < f->asked; k = fw_frames_next(f, k + 1, 1))
		if (place_of(f, k) < place_of(f, oldest))
			oldest = k;
	return oldest;
}

__u32 fw_frames_run(const struct fw_frames *f, __u32 k, __u32 max)
{
	const __u32 number = fw_frames_number_of(f, k);
	__u32 n = 0;

	while (n < max && k + n < f->asked && !fw_bit(f->got, k + n) &&
	       fw_frames_number_of(f, k + n) == number + n &&
	       (fw_bit(f->mark, k + n) || place_of(f, k + n) < f->seen))
		n++;
	return n;
}

/* Inserts a key into the n smallest, ascending and at most max; returns the new n. */
static __u32 insert(__u64 *keys, __u32 n, __u32 max, __u64 key)
{
	__u32 i = n;

	if (n == max && keys[max - 1] < key)
		return n;
	if (n == max)
		i--;
	else
		n++;
	for (; i > 0 && keys[i - 1] > key; i--)
		keys[i] = keys[i - 1];
	keys[i] = key;
	return n;
}

__u32 fw_frames_expect(const struct fw_frames *f, __u32 max, __u32 *frame)
{
	__u64 keys[FW_PLACES_MAX] = { 0 };
	__u32 n = 0, i, k;

	for (k = fw_frames_next(f, f->base, 0); k < f->asked; k = fw_frames_next(f, k + 1, 0)) {
		const __u64 at = place_of(f, k);

		n = insert(keys, n, max, at > f->seen ? at : at | OVERTAKEN);
		if (n == max && is_ordered(f) && keys[n - 1] < OVERTAKEN)
			break; /* the others come later */
	}
	for (i = 0; i < n; i++)
		frame[i] = (__u32)keys[i];
	return n;
}

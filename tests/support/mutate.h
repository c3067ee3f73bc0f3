/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Spoils frames: fields, bytes and length, by chance or by the choices of a fuzzer. For C and C++. */
#ifndef EMX_TESTS_MUTATE_H
#define EMX_TESTS_MUTATE_H

#include "chance.h"
#include "wire_fields.h"

#define MUTATE_LEAST 14 /* bytes of an Ethernet header: it is shortened to that, and changed by fields alone */

/* The source of all choices. */
struct dice {
	uint32_t (*below)(struct dice *dice, uint32_t n); /* a number below n, which is not 0 */
	uint64_t state;
};

/* below() of seeded dice. */
static inline uint32_t dice_seeded(struct dice *dice, uint32_t n)
{
	return (uint32_t)(chance_of(&dice->state) >> 32) % n;
}

static inline uint32_t dice_below(struct dice *dice, uint32_t n) { return dice->below(dice, n); }

static inline uint64_t dice_bits(struct dice *dice, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | dice_below(dice, 256);
	return v;
}

/* Another value than v, mostly. */
static inline uint64_t mutate_value(uint64_t v, unsigned int size, struct dice *dice)
{
	static const uint64_t edges[] = { 0,	  1,	  0x1f,	      0x20,	  0x21,	      0x7f,	 0x80,
					  0x81,	  0xff,	  0x1000,     0x3fff,	  0x4000,     0x7fff,	 0x8000,
					  0xfffe, 0xffff, 0x10000,    0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	const unsigned int bytes = size < 8 ? size : 8;

	switch (dice_below(dice, 6)) {
	case 0:
		return dice_below(dice, 256);
	case 1:
		return dice_bits(dice, bytes);
	case 2:
		return v + dice_below(dice, 16);
	case 3:
		return v - dice_below(dice, 16);
	case 4:
		return v ^ 1ull << dice_below(dice, 8 * bytes);
	default:
		return edges[dice_below(dice, sizeof(edges) / sizeof(edges[0]))];
	}
}

static inline void mutate_field(uint8_t *frame, size_t length, char dialect, struct dice *dice)
{
	const struct wire_field *has[WIRE_FIELD_COUNT];
	uint32_t own = 0, all, at;
	size_t i;

	if (length <= EMX_OUTER_LEN)
		return;
	/* Fields of the packet come first: addresses and type are every frame's, and would be hit too often. */
	for (i = 0; i < WIRE_FIELD_COUNT; i++)
		if (wire_fields[i].type && wire_has(&wire_fields[i], frame, length, dialect))
			has[own++] = &wire_fields[i];
	all = own;
	for (i = 0; i < WIRE_FIELD_COUNT && !wire_fields[i].type; i++)
		if (wire_has(&wire_fields[i], frame, length, dialect))
			has[all++] = &wire_fields[i];
	at = dice_below(dice, own && dice_below(dice, 8) ? own : all);
	wire_put(has[at], frame, mutate_value(wire_get(has[at], frame), has[at]->size, dice));
}

static inline void mutate_byte(uint8_t *frame, size_t length, struct dice *dice)
{
	uint32_t end = length > 80 && dice_below(dice, 4) ? 80 : (uint32_t)length;
	uint8_t *b;

	if (end <= MUTATE_LEAST)
		return;
	b = &frame[MUTATE_LEAST + dice_below(dice, end - MUTATE_LEAST)];
	*b = dice_below(dice, 2) ? (uint8_t)dice_below(dice, 256) : *b ^ 1u << dice_below(dice, 8);
}

/* Shorter, or longer by what chance puts there. */
static inline size_t mutate_length(uint8_t *frame, size_t length, size_t room, struct dice *dice)
{
	size_t was = length;

	if (length > MUTATE_LEAST && dice_below(dice, 2))
		return MUTATE_LEAST + dice_below(dice, (uint32_t)length - MUTATE_LEAST + 1);
	length += dice_below(dice, dice_below(dice, 4) ? 64 : (uint32_t)room);
	if (length > room)
		length = room;
	for (; was < length; was++)
		frame[was] = (uint8_t)dice_below(dice, 256);
	return length;
}

/*
 * Changes a frame of dialect 'W' or 'N', in a buffer of `room` bytes, in none to four ways. Returns whether there was
 * one; *length may be another then.
 */
static inline bool mutate(uint8_t *frame, size_t *length, size_t room, char dialect, struct dice *dice)
{
	const uint32_t ways = dice_below(dice, 5);
	uint32_t i;

	for (i = 0; i < ways; i++) {
		if (!dice_below(dice, 16))
			*length = mutate_length(frame, *length, room, dice);
		else if (dice_below(dice, 2))
			mutate_field(frame, *length, dialect, dice);
		else
			mutate_byte(frame, *length, dice);
	}
	return ways > 0;
}

#endif

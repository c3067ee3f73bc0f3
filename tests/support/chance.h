/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Seeded chance, for C and C++: splitmix64, the same numbers from the same seed on every machine. */
#ifndef EMX_TESTS_CHANCE_H
#define EMX_TESTS_CHANCE_H

#include <stdint.h>

static inline uint64_t chance_of(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

#endif

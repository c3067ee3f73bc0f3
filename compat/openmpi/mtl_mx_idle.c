/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks that outnumber processors: when a rank does nothing but wait, it sleeps.
 *
 * Open MPI yields the processor while it waits, but that only lets others go first: with more than
 * two that do so, each of them spins for its turn, and the one that has work waits for all of them.
 * Who looks in vain without using the processor in between has nothing else to do, and may as well
 * be woken by what he waits for. Two kinds of callers must not be put to sleep: a program that
 * computes between its tests, hence the look at the processor time; and one that has the processor
 * for itself, whose tests may belong to a loop that does a little work each time, hence the look at
 * the clock.
 */
#include "mtl_mx.h"

#include <stdlib.h>
#include <time.h>

/* A look in vain that takes more processor time than this has been more than a look. */
#define LOOK_NS 3000
/* Looks in vain until the next sleep, when one ended without a result. */
#define LOOKS_BETWEEN_SLEEPS 4

static __thread struct {
	unsigned looks, limit; /* in vain, and how many of them are enough; limit 0: not set yet */
	uint64_t cpu_ns, wall_ns; /* at the first of them */
} idle;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void mtl_mx_prepare_idle(void)
{
	/* Who sleeps after many looks need not spin again before. */
	if (opal_progress_yield_when_idle && ompi_mtl_mx.sleep_after > 0)
		setenv("EMX_SPIN_US", "0", 0);
}

void mtl_mx_was_busy(void)
{
	idle.looks = 0;
	idle.limit = 0;
}

/* Only looked, while others had the processor half of the time at least. */
static bool in_the_way(void)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - idle.cpu_ns;
	uint64_t wall = clock_ns(CLOCK_MONOTONIC) - idle.wall_ns;

	return cpu < (uint64_t)idle.limit * LOOK_NS && wall > 2 * cpu;
}

bool mtl_mx_may_sleep(void)
{
	unsigned patience = (unsigned)ompi_mtl_mx.sleep_after;
	bool sleep;

	if (!opal_progress_yield_when_idle || ompi_mtl_mx.sleep_after <= 0)
		return false;
	if (idle.looks++ == 0) {
		idle.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		idle.wall_ns = clock_ns(CLOCK_MONOTONIC);
		if (idle.limit == 0)
			idle.limit = patience;
	}
	if (idle.looks < idle.limit)
		return false;
	sleep = in_the_way();
	idle.looks = 0;
	idle.limit = sleep && patience > LOOKS_BETWEEN_SLEEPS ? LOOKS_BETWEEN_SLEEPS : patience;
	return sleep;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks that outnumber processors: when a rank does nothing but wait, it sleeps.
 *
 * Open MPI yields the processor while it waits, but that only lets others go first: with more than
 * two that do so, each of them spins for its turn, and the one that has work waits for all of them.
 * A process that looks in vain without using the processor in between has nothing else to do, and
 * may as well be woken by what it waits for. Two kinds of callers must not be put to sleep: a
 * program that computes between its tests, hence the look at the processor time; and one that has
 * the processor for itself, whose tests may belong to a loop that does a little work each time,
 * hence the look at the clock.
 *
 * Linux may give a processor to one rank that yields and to nobody else, for seconds, when ranks
 * belong to several sessions (so to several groups of its scheduler) and have threads elsewhere;
 * seen with 6.18. That rank finds itself alone on a processor that all others wait for. So whoever
 * has waited for long sleeps, too, if it does nothing between its looks.
 */
#include "mtl_mx.h"

#include <stdlib.h>
#include <time.h>

/* A look in vain that takes more processor time than this has been more than a look. */
#define LOOK_NS 3000
/* A process that has waited for so long may sleep though nobody seems to want the processor... */
#define LONG_NS 2000000
/* ... unless it takes more processor time than this from one look to the next. */
#define PAUSE_NS 5000
/* Looks in vain until the next sleep, when one ended without a result. */
#define LOOKS_BETWEEN_SLEEPS 4
/* A wait that ends within so many looks reads no clock, one of which is a system call. */
#define LOOKS_BEFORE_CLOCKS 8

static __thread struct {
	unsigned early; /* looks in vain before the clocks are read */
	unsigned looks, limit; /* in vain, and how many of them are enough; limit 0: not set yet */
	uint64_t cpu_ns, wall_ns; /* at the first of them */
	uint64_t left_ns; /* processor time after the last look but one; 0: not there yet */
	uint64_t pause_ns; /* processor time from there to the next look */
	uint64_t since_ns; /* clock: when waiting began; 0: it did not */
} idle;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void mtl_mx_prepare_idle(void)
{
	/* A process that sleeps after many looks need not spin again before. */
	if (opal_progress_yield_when_idle && ompi_mtl_mx.sleep_after > 0)
		setenv("EMX_SPIN_US", "0", 0);
}

void mtl_mx_was_busy(void)
{
	idle.early = 0;
	idle.looks = 0;
	idle.limit = 0;
	idle.since_ns = 0;
}

void mtl_mx_looks_again(void)
{
	if (idle.left_ns == 0)
		return;
	idle.pause_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - idle.left_ns;
	idle.left_ns = 0;
}

/* Only looked, while others had the processor half of the time at least. */
static bool in_the_way(uint64_t wall_now)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - idle.cpu_ns;

	return cpu < (uint64_t)idle.limit * LOOK_NS && wall_now - idle.wall_ns > 2 * cpu;
}

static bool waits_for_long(uint64_t wall_now)
{
	return wall_now - idle.since_ns > LONG_NS && idle.pause_ns < PAUSE_NS;
}

static void begin_looks(void)
{
	idle.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	idle.wall_ns = clock_ns(CLOCK_MONOTONIC);
	idle.pause_ns = UINT64_MAX;
	if (idle.limit == 0)
		idle.limit = (unsigned)ompi_mtl_mx.sleep_after;
	if (idle.since_ns == 0)
		idle.since_ns = idle.wall_ns;
}

static bool end_looks(void)
{
	unsigned patience = (unsigned)ompi_mtl_mx.sleep_after;
	uint64_t wall = clock_ns(CLOCK_MONOTONIC);
	bool yields = in_the_way(wall);
	bool sleep = yields || waits_for_long(wall);

	idle.looks = 0;
	idle.limit = yields && patience > LOOKS_BETWEEN_SLEEPS ? LOOKS_BETWEEN_SLEEPS : patience;
	return sleep;
}

bool mtl_mx_may_sleep(void)
{
	if (!opal_progress_yield_when_idle || ompi_mtl_mx.sleep_after <= 0)
		return false;
	if (idle.limit == 0 && ++idle.early < LOOKS_BEFORE_CLOCKS)
		return false;
	if (idle.looks++ == 0)
		begin_looks();
	if (idle.looks >= idle.limit)
		return end_looks();
	if (idle.looks + 1 == idle.limit)
		idle.left_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return false;
}

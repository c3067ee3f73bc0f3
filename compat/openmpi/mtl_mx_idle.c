/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks that outnumber processors: when a rank does nothing but wait, it sleeps.
 *
 * Open MPI yields the processor while it waits, but that only lets others go first: with more than
 * two that do so, each of them spins for its turn, and the one that has work waits for all of them.
 * Who calls progress in vain without using the processor in between has nothing else to do, and may
 * as well be woken by what he waits for. A program that computes between its tests must not be put
 * to sleep, hence the look at the processor time.
 */
#include "mtl_mx.h"

#include <stdlib.h>
#include <time.h>

#include "opal/runtime/opal_progress.h"

/* A call in vain that costs more than this has been more than a look. */
#define LOOK_NS 3000
/* Calls in vain until the next sleep, when one ended without a result. */
#define CALLS_BETWEEN_SLEEPS 4

static __thread struct {
	unsigned calls, limit; /* in vain, and how many of them are enough; 0: not yet known */
	uint64_t began_ns; /* processor time at the first of them */
} idle;

static uint64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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
	idle.calls = 0;
	idle.limit = 0;
}

bool mtl_mx_may_sleep(void)
{
	unsigned patience = (unsigned)ompi_mtl_mx.sleep_after;

	if (!opal_progress_yield_when_idle || ompi_mtl_mx.sleep_after <= 0)
		return false;
	if (idle.calls++ == 0)
		idle.began_ns = processor_time();
	if (idle.limit == 0)
		idle.limit = patience;
	if (idle.calls < idle.limit)
		return false;
	bool only_looked = processor_time() - idle.began_ns < (uint64_t)idle.limit * LOOK_NS;

	idle.calls = 0;
	idle.limit =
		only_looked && patience > CALLS_BETWEEN_SLEEPS ? CALLS_BETWEEN_SLEEPS : patience;
	return only_looked;
}

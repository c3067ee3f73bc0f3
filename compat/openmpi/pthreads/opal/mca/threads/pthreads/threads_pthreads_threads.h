/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stand-in for a header that is not shipped, as threads_pthreads_mutex.h. */
#ifndef EMX_OPENMPI_PTHREADS_THREADS_H
#define EMX_OPENMPI_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif

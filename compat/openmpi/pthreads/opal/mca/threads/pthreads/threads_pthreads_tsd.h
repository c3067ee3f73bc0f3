/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stand-in for a header that is not shipped, as threads_pthreads_mutex.h. */
#ifndef EMX_OPENMPI_PTHREADS_TSD_H
#define EMX_OPENMPI_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_get(opal_tsd_key_t key, void **value)
{
	*value = pthread_getspecific(key);
	return OPAL_SUCCESS;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stand-in for a header of Open MPI 5 that its other headers include and that libopenmpi-dev of
 * Debian 13 lacks. It is found only where that one is not. It declares what those headers call; the
 * component calls none of it but lock and unlock. mtl_mx_component.c compares the sizes of the
 * objects that hold these types with the library's.
 */
#ifndef EMX_OPENMPI_PTHREADS_MUTEX_H
#define EMX_OPENMPI_PTHREADS_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

#include "opal/class/opal_object.h"

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *mutex,
						  bool recursive)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes,
				  recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_DEFAULT);
	int status = pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return status;
}

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex) != 0;
}

static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_destroy(mutex);
}

static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t *condition)
{
	return pthread_cond_init(condition, NULL);
}

static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t *condition)
{
	pthread_cond_signal(condition);
}

static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t *condition)
{
	pthread_cond_destroy(condition);
}

#endif

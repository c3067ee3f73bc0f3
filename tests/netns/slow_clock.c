/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Preloaded: gettimeofday() goes SLOW_CLOCK times slower than time. NetPIPE ends its row of lengths where a
 * message takes a second, which on an emulated processor is before the longest.
 */
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

/* tidy-allow(time): the program under test is to see another time */
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    const char *text = getenv("SLOW_CLOCK");
    long factor = text ? atol(text) : 1;
    struct timespec real;
    (void)zone;
    /* tidy-allow(time): the same */
    if (clock_gettime(CLOCK_MONOTONIC, &real) != 0)
        return -1;
    long long us = (real.tv_sec * 1000000LL + real.tv_nsec / 1000) / (factor > 0 ? factor : 1);
    now->tv_sec = us / 1000000;
    now->tv_usec = us % 1000000;
    return 0;
}

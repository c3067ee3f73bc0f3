/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chooses which fault of tests/mutations/faults shows: the one whose number EMX_FAULT names, in the
 * module its parameter emx_fault. Included before everything else in the mutated tree, and in no other.
 */
#ifndef EMX_TESTS_MUTATIONS_FAULT_H
#define EMX_TESTS_MUTATIONS_FAULT_H

#ifdef __KERNEL__
extern int emx_fault_number;
#else
#include <stdlib.h>

static inline int emx_fault_of_environment(void)
{
    const char *text = getenv("EMX_FAULT");
    return text ? atoi(text) : 0;
}
static int emx_fault_number = -1;
#endif

static inline int emx_fault(int number)
{
#ifndef __KERNEL__
    if (emx_fault_number < 0)
        emx_fault_number = emx_fault_of_environment();
#endif
    return emx_fault_number == number;
}

#endif

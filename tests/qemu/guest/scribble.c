// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A hostile user (requests.h) of boards of others. Nothing it does may harm the kernel, or another
 * process: the test reads the kernel log.
 *
 *   scribble SEED COUNT BOARDS    COUNT requests; exits 0 when it is still alive after them
 */
#define _GNU_SOURCE /* setresuid, unshare */

#include "requests.h"

int main(int argc, char **argv)
{
	unsigned long count;

	if (argc != 4 || atoi(argv[3]) <= 0)
		return 2;
	count = strtoul(argv[2], NULL, 0);
	prepare_requests((unsigned int)atoi(argv[3]), false);
	scribble(files[0], strtoull(argv[1], NULL, 0), count);
	printf("%lu operations, %lu answers by io_uring, %lu of success\n", count,
	       tallies->uring.tried, tallies->uring.good);
	return tallies->uring.good == 0;
}

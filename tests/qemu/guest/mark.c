// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* mark begin|end: tells the plugin count.c that what is counted begins or ends. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin"))
		__asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'E', 'M', 'X', 1");
	else if (argc == 2 && !strcmp(argv[1], "end"))
		__asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'E', 'M', 'X', 2");
	else
		return fprintf(stderr, "usage: mark begin|end\n"), 2;
	return 0;
}

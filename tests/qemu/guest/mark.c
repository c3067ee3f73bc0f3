// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* mark begin|end: tells the plugin count.c that what is counted begins or ends. */
#include <stdio.h>
#include <string.h>

#include "mark.h"

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin"))
		__asm__ volatile(".byte " TEXT(MARK_BYTES, MARK_BEGIN));
	else if (argc == 2 && !strcmp(argv[1], "end"))
		__asm__ volatile(".byte " TEXT(MARK_BYTES, MARK_END));
	else
		return fprintf(stderr, "usage: mark begin|end\n"), 2;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loads the library by name and finds functions with dlsym, as HP-MPI and Intel MPI do. Then, where
 * no board is: mx_init must fail with a code, twice. Prints nothing, like the library.
 * Arguments: the library, and "init" when mx_init is to be tried.
 */
#include "myriexpress.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

static void *find(const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		fprintf(stderr, "dlsym: %s\n", dlerror());
	return symbol;
}

static int try_init(int (*init)(int), const mx_error_handler_t *errors_return,
		    mx_error_handler_t (*set)(mx_error_handler_t))
{
	int first, second;

	set(*errors_return);
	first = init(MX_API);
	second = init(MX_API);
	if (first != MX_SUCCESS && first == second)
		return 0;
	fprintf(stderr, "mx_init without a board: %d, then %d; expected the same error twice\n", first,
		second);
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"mx_open_endpoint", "mx_decompose_endpoint_addr", "mx_get_info",
					    "mx_test", "mx_wait", "mx_iprobe", "mx_isend", "mx_forget",
					    "mx__regcache_clean", "omx_isend"};
	unsigned int i;
	void *init, *set, *errors_return;

	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "dlopen: %s\n", dlerror());
		return 1;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!find(names[i]))
			return 1;
	init = find("mx__init_api");
	set = find("mx_set_error_handler");
	errors_return = find("MX_ERRORS_RETURN");
	if (!init || !set || !errors_return)
		return 1;
	if (dlsym(library, "mx_init")) {
		fprintf(stderr, "mx_init is a macro and must be no symbol\n");
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "init"))
		return try_init((int (*)(int))init, errors_return,
				(mx_error_handler_t(*)(mx_error_handler_t))set);
	return 0;
}

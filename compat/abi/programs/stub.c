/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stands in for the library on somebody else's system at link time only: the symbols that codes.c
 * needs, nothing behind them.
 */
#include <stddef.h>

#define STUB(name) void name(void) { }
STUB(mx__init_api)
STUB(mx_close_endpoint)
STUB(mx_decompose_endpoint_addr)
STUB(mx_finalize)
STUB(mx_get_info)
STUB(mx_iprobe)
STUB(mx_isend)
STUB(mx_open_endpoint)
STUB(mx_set_error_handler)
STUB(mx_strerror)
STUB(mx_strstatus)
STUB(mx_test)
STUB(mx_wait)
void *const MX_ERRORS_ARE_FATAL = NULL;
void *const MX_ERRORS_RETURN = NULL;

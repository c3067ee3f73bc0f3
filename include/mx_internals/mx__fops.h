/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internal MX interface: opening a board. Found as <mx_internals/mx__fops.h> and, with this
 * directory on the search path, as "mx__fops.h".
 */
#ifndef MX__FOPS_H
#define MX__FOPS_H

#include "../mx_io.h"
#include "../myriexpress.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Stores a handle of a local board (its number; nothing is held, there is no close). `handle` may
 * be NULL. Does not block; any thread. Errors: MX_BOARD_UNKNOWN, MX_NOT_INITIALIZED. Spec 3.12.
 */
mx_return_t mx_open_board(int board, mx_endpt_handle_t *handle);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX__FOPS_H */

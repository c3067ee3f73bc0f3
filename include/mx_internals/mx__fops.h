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
 * Stores a handle of a local board. The handle is its number: nothing is held, and there is no
 * close. Does not block.
 * - board: number of the board, from 0.
 * - handle: place for the handle, or NULL.
 * Errors: MX_BOARD_UNKNOWN, MX_NOT_INITIALIZED.
 * Spec 3.12.
 */
mx_return_t mx_open_board(int board, mx_endpt_handle_t *handle);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX__FOPS_H */

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internal MX interface: state of the mapper. Found as <mx_internals/mx__driver_interface.h> and,
 * with this directory on the search path, as "mx__driver_interface.h".
 */
#ifndef MX__DRIVER_INTERFACE_H
#define MX__DRIVER_INTERFACE_H

#include "../mx_io.h"
#include "mx__fops.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fills *state for the board that mx_open_board gave. Does not block; any thread.
 * Errors: MX_BOARD_UNKNOWN, MX_NOT_INITIALIZED. Spec 3.12.
 */
mx_return_t mx__get_mapper_state(mx_endpt_handle_t handle, mx_mapper_state_t *state);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX__DRIVER_INTERFACE_H */

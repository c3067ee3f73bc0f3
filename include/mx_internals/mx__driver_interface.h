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
 * Fills in the state of the mapper. There is no mapper: all hosts of a fabric name the same
 * one, as clients expect. Does not block.
 * - handle: a handle of mx_open_board; it is not looked at.
 * - state: place for the state. The caller sets board_number, whose peers are counted, and
 *   iport; both stay.
 * Errors: MX_BAD_BAD_BAD (`state` is NULL), MX_NOT_INITIALIZED.
 * Spec 3.12.
 */
mx_return_t mx__get_mapper_state(mx_endpt_handle_t handle, mx_mapper_state_t *state);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MX__DRIVER_INTERFACE_H */

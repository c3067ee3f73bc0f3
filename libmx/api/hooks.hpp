// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Entries of the library for the omx_* layer and the raw interface, beside the public mx_* calls.
#pragma once

#include "driver/device.hpp"
#include "libmx/error_handler.hpp"
#include "libmx/match/unexp_handler.hpp"

#include "myriexpress.h"

/// The predefined error handlers, by value: MX_ERRORS_ARE_FATAL and MX_ERRORS_RETURN point to them.
/// The first prints the text and ends the process with status 255.
extern "C" [[noreturn]] mx_return_t emx_errors_are_fatal(char *text, mx_return_t code);
extern "C" mx_return_t emx_errors_return(char *text, mx_return_t code);

namespace emx::api {

/// Sleeps as OMX_ABORT_SLEEPS says, before a fatal error ends the process.
void wait_for_debugger();

/// Calls the global error handler with (text, code); returns what it returns. Works before mx_init.
mx_return_t fail(mx_return_t code, const char *text);

/// Installs the handler of one endpoint (none: the global one again) and returns its previous own
/// one, none when it had none or `endpoint` is not open.
ErrorHandler set_endpoint_error_handler(mx_endpoint_t endpoint, ErrorHandler handler);

/// Installs the global handler (none: the default again) and returns the previous one.
ErrorHandler set_global_error_handler(ErrorHandler handler);

/// Installs the endpoint's handler of unexpected messages (empty: none); `function` names the call in errors.
mx_return_t set_unexp_handler(const char *function, mx_endpoint_t endpoint, UnexpHandler handler);

/// mx_cancel, except that on result 1 the request stays and completes with MX_STATUS_CANCELLED.
mx_return_t cancel_notest(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result);

/// The board that (endpoint, in, in_len) of mx_get_info select; a failure (MX_NOT_INITIALIZED,
/// MX_BAD_INFO_VAL, MX_BOARD_UNKNOWN) has gone through the error handler.
mx_return_t select_board(mx_endpoint_t endpoint, const void *in, uint32_t in_len, BoardInfo &board);

} // namespace emx::api

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Keeps the library's reason for a call that fails, for the record of the case.
#ifndef EMX_TESTS_CONFORM_REASON_H
#define EMX_TESTS_CONFORM_REASON_H

#include <myriexpress.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An error handler as MX_ERRORS_RETURN is one, but that it keeps the text.
mx_return_t client_errors_return(char *text, mx_return_t code);
/// The text of the calling thread's last error, until its next.
const char *client_reason(void);

#ifdef __cplusplus
}
#endif

#endif

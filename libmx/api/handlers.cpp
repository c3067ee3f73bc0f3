// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The predefined error handlers and the four data objects that hold them.
//
// Programs copy the objects into their own image (copy relocations), so the library compares
// handlers by value and never looks at the objects' addresses.
#include "driver/base/printable.hpp"
#include "driver/base/system_calls.hpp"
#include "libmx/api/hooks.hpp"
#include "libmx/api/omx_convert.hpp"
#include "libmx/error_handler.hpp"

#include <cstdio>
#include <cstdlib>

mx_return_t emx_errors_are_fatal(char *text, mx_return_t code)
{
    const emx::sys::Uncancelled here;
    std::fprintf(stderr, "%s: %s\n", emx::printable(text).c_str(), omx_strerror(emx::omx::code(code)));
    emx::api::wait_for_debugger();
    std::exit(255);
}

mx_return_t emx_errors_return(char *, mx_return_t code) { return code; }

const mx_error_handler_t MX_ERRORS_ARE_FATAL = emx_errors_are_fatal;
const mx_error_handler_t MX_ERRORS_RETURN = emx_errors_return;

// The same functions under the other layer's types. Not a cast: in C++ that is no constant expression,
// and an initialiser that runs would put the objects into writable memory.
extern "C" {
[[gnu::visibility("hidden")]] omx_return_t omx_fatal(const char *,
                                                     omx_return_t) __asm__("emx_errors_are_fatal");
[[gnu::visibility("hidden")]] omx_return_t omx_return(const char *,
                                                      omx_return_t) __asm__("emx_errors_return");
}

const omx_error_handler_t OMX_ERRORS_ARE_FATAL = omx_fatal;
const omx_error_handler_t OMX_ERRORS_RETURN = omx_return;

emx::ErrorHandler::ErrorHandler(omx_error_handler_t handler) : word_(address(handler))
{
    const bool predefined = word_ == address(emx_errors_are_fatal) || word_ == address(emx_errors_return);
    if (handler && !predefined)
        word_ |= second_layer;
}

mx_return_t emx::ErrorHandler::operator()(char *text, mx_return_t code) const
{
    if (word_ & second_layer)
        return static_cast<mx_return_t>(omx()(text, omx::code(code)));
    return mx()(text, code);
}

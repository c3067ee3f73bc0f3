// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The application's error handler, whichever layer it was given by.
#pragma once

#include "myriexpress.h"
#include "open-mx.h"

#include <cstdint>

namespace emx {

/// A handler of one of the two layers, called by the type that it has. One word, so that it can be changed
/// while other threads use it: the layer is the highest bit, which no function's address has.
class ErrorHandler {
public:
    ErrorHandler() = default; ///< none
    ErrorHandler(mx_error_handler_t handler) : word_(address(handler)) {}
    /// The predefined handlers are the same functions in both layers, and taken as the first one's.
    ErrorHandler(omx_error_handler_t handler);

    explicit operator bool() const { return word_ != 0; }
    /// Calls it with a code of the first layer, which a handler of the second one sees as its own; returns
    /// what the handler returns. Not with none.
    mx_return_t operator()(char *text, mx_return_t code) const;

    /// The function, for the application, as either layer spells it; null when none.
    mx_error_handler_t mx() const { return function<mx_error_handler_t>(); }
    omx_error_handler_t omx() const { return function<omx_error_handler_t>(); }

private:
    static constexpr uint64_t second_layer = uint64_t{1} << 63;

    template <class Function>
    static uint64_t address(Function *function)
    {
        return reinterpret_cast<uintptr_t>(function);
    }
    template <class Pointer>
    Pointer function() const
    {
        return reinterpret_cast<Pointer>(static_cast<uintptr_t>(word_ & ~second_layer));
    }

    uint64_t word_ = 0;
};

} // namespace emx

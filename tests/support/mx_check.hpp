// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// For test programs that end with the first call of the library that fails.
#pragma once

#include <myriexpress.h>

#include <stdexcept>
#include <string>

namespace emx::test {

/// Throws what the library says of a call that failed.
inline void check(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        throw std::runtime_error(std::string(what) + ": " + mx_strerror(code));
}

} // namespace emx::test

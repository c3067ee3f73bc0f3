// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The handler of unexpected messages as the library keeps it, whatever C signature it was given with.
#pragma once

#include "mx_extensions.h"

#include <cstdint>
#include <functional>

namespace emx {

/// (source, match, length, data) of a message that found no receive; mx-api.md section 5. Empty: none.
/// Returns a mx_unexp_handler_action_t, or whatever number the program's handler returned.
using UnexpHandler =
    std::function<int(mx_endpoint_addr_t source, uint64_t match, uint32_t length, void *data)>;

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packet sockets close slowly: the kernel waits at each until all processors have let go of it (an RCU grace
// period, some 25 ms).
#pragma once

#include "driver/base/fd.hpp"

#include <span>

namespace emx {

/// Closes them all in the time that one takes. Returns when that is done.
void close_together(std::span<Fd> sockets);

} // namespace emx

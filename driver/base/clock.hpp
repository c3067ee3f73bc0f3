// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The monotonic clock, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace emx {

inline uint64_t monotonic_ns()
{
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace emx

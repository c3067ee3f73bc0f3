// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See patience.hpp.
#include "patience.hpp"

#include <ctime>

namespace emx::cast {

namespace {

constexpr uint32_t looks_alone = 16, looks_crowded = 4;
constexpr uint64_t long_ns = 2000000; ///< a wait so long has time for the sleep's end
constexpr uint64_t crowd_ns = 100000000; ///< until others are looked for again

uint64_t clock_ns(clockid_t clock)
{
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

} // namespace

/// True if others had the processor half of the time at least.
bool Patience::measure(uint64_t wall_ns) const
{
    return wall_ns - wall_ns_ > 2 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns_);
}

bool Patience::may_sleep()
{
    if (looks_++ == 0 && !crowded_) {
        wall_ns_ = clock_ns(CLOCK_MONOTONIC);
        cpu_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        since_ns_ = since_ns_ ? since_ns_ : wall_ns_;
    }
    if (looks_ < (crowded_ ? looks_crowded : looks_alone))
        return false;
    const bool was_crowded = crowded_;
    const uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    looks_ = 0;
    if (was_crowded) {
        crowded_ = wall_ns < crowded_until_ns_;
        return true;
    }
    crowded_ = measure(wall_ns);
    crowded_until_ns_ = wall_ns + crowd_ns;
    return crowded_ || wall_ns - since_ns_ > long_ns;
}

} // namespace emx::cast

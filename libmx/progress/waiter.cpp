// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Threads that sleep: see waiter.hpp.
#include "libmx/progress/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace emx {

void Waiter::sleep_beside(std::unique_lock<Lock> &lock, uint64_t left_ns)
{
    constexpr uint64_t slice_ns = 100000000;
    slot_.changed.wait_for(lock, std::chrono::nanoseconds(std::min(left_ns, slice_ns)));
}

bool Waiter::must_wake(uint64_t events)
{
    if (std::exchange(told_, events) != events)
        slot_.changed.notify_all();
    if (told_sleeper_ || !(*wants_)())
        return false;
    return told_sleeper_ = true;
}

} // namespace emx

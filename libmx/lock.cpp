// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint when another thread has it: see lock.hpp.
#include "libmx/lock.hpp"

namespace emx {

void Lock::wait_for_it()
{
    // Most holds are shorter than a system call.
    constexpr int looks = 100;
    for (int i = 0; i < looks; ++i) {
        if (state_.load(std::memory_order_relaxed) == open && try_lock())
            return;
    }
    // From now on held as contended: its release wakes the next, whether there is one or not.
    while (state_.exchange(contended, std::memory_order_acquire) != open)
        state_.wait(contended, std::memory_order_relaxed);
}

} // namespace emx

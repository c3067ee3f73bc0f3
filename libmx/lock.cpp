// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint when another thread has it: see lock.hpp.
#include "libmx/lock.hpp"

namespace emx {

void Lock::wait_for_it()
{
    // A thread that polls opens the lock for a moment in each round, a fraction of a microsecond long: who
    // looks as long as a few rounds take meets such a moment, who goes to sleep at once never may.
    constexpr int looks = 1000;
    uint32_t taken = held;
    for (;;) {
        for (int i = 0; i < looks; ++i) {
            uint32_t state = open;
            if (state_.load(std::memory_order_relaxed) == open &&
                state_.compare_exchange_weak(state, taken, std::memory_order_acquire))
                return;
        }
        taken = contended; // from now on its release wakes the next, whether there is one or not
        if (state_.exchange(contended, std::memory_order_acquire) == open)
            return;
        state_.wait(contended, std::memory_order_relaxed);
    }
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint: taken and released by every call, by one thread at a time nearly always.
//
// A word and a futex instead of std::mutex, whose calls into the C library cost more than all else that a
// test of a request does. Three states, so that nobody enters the kernel unless somebody waits.
#pragma once

#include <atomic>
#include <cstdint>

namespace emx {

/// A Lockable in the sense of the standard: std::unique_lock, std::lock_guard and
/// std::condition_variable_any take it. Not recursive, not fair.
class Lock {
public:
    void lock()
    {
        uint32_t state = open;
        if (!state_.compare_exchange_strong(state, held, std::memory_order_acquire)) [[unlikely]]
            wait_for_it();
    }
    bool try_lock()
    {
        uint32_t state = open;
        return state_.compare_exchange_strong(state, held, std::memory_order_acquire);
    }
    void unlock()
    {
        if (state_.exchange(open, std::memory_order_release) == contended) [[unlikely]]
            state_.notify_one();
    }

private:
    static constexpr uint32_t open = 0, held = 1, contended = 2;
    void wait_for_it();

    std::atomic<uint32_t> state_{open};
};

} // namespace emx

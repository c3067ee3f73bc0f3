// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

#include <driver/base/lock.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <sched.h>

namespace emx_gamma {

/// The lock of a node. Its holder may sleep inside MX; another thread that wants to do something wakes it.
class Turn {
public:
    Turn() { const std::lock_guard owner(mutex_); } // its thread is to be the lock's owner: a try makes none

    /// A thread comes with something to do.
    void lock()
    {
        if (!mutex_.try_lock()) [[unlikely]]
            lock_from_sleeper();
        if (!mutex_.is_held_by_owner()) [[unlikely]]
            count_stranger();
    }
    void unlock() { mutex_.unlock(); }

    /// Lets others in, for a holder that has nothing to do.
    void pass()
    {
        mutex_.unlock();
        for (int i = 0; i < patience && wanting_.load(std::memory_order_relaxed) > 0; i++)
            sched_yield();
        if (!mutex_.try_lock()) {
            ++wanting_;
            mutex_.lock(); // a sleeper sleeps on: it waits as we do
            --wanting_;
        }
        if (!mutex_.is_held_by_owner()) [[unlikely]]
            count_stranger();
    }

    /// Called by the holder. False if another thread wants the lock: then it must not sleep.
    bool begin_sleep(void (*wake)(void *), void *argument)
    {
        wake_ = wake;
        argument_ = argument;
        sleeping_ = true;
        return wanting_ == 0;
    }
    void end_sleep() { sleeping_ = false; }

private:
    void lock_from_sleeper()
    {
        ++wanting_;
        // A wake-up is not remembered, so one comes again until the sleeper has heard it.
        for (bool got = false; !got;) {
            if (sleeping_)
                wake_.load()(argument_);
            for (int i = 0; i < patience && !got; i++)
                if (!(got = mutex_.try_lock()))
                    sched_yield();
        }
        --wanting_;
    }

    /// In a program of several threads the lock has no owner: visits of others cost more than it saves.
    void count_stranger()
    {
        if (strangers_ < emx::Lock::strangers_max && !mutex_.is_owner() &&
            ++strangers_ == emx::Lock::strangers_max)
            mutex_.disown();
    }

    static constexpr int patience = 100;
    emx::Lock mutex_;
    std::atomic<int> wanting_{0};
    uint32_t strangers_ = 0;
    std::atomic<bool> sleeping_{false};
    std::atomic<void (*)(void *)> wake_{nullptr};
    std::atomic<void *> argument_{nullptr};
};

} // namespace emx_gamma

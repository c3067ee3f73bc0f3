// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

#include <atomic>
#include <mutex>
#include <sched.h>

namespace emx_gamma {

/// The lock of a node. Its holder may sleep inside MX; another thread that wants to do something wakes it.
class Turn {
public:
    /// A thread comes with something to do.
    void lock()
    {
        if (!mutex_.try_lock()) [[unlikely]]
            lock_from_sleeper();
    }
    void unlock() { mutex_.unlock(); }

    /// Lets others in, for a holder that has nothing to do.
    void pass()
    {
        mutex_.unlock();
        for (int i = 0; i < patience && wanting_.load(std::memory_order_relaxed) > 0; i++)
            sched_yield();
        if (mutex_.try_lock())
            return;
        ++wanting_;
        mutex_.lock(); // a sleeper sleeps on: it waits as we do
        --wanting_;
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

    static constexpr int patience = 100;
    std::mutex mutex_;
    std::atomic<int> wanting_{0};
    std::atomic<bool> sleeping_{false};
    std::atomic<void (*)(void *)> wake_{nullptr};
    std::atomic<void *> argument_{nullptr};
};

} // namespace emx_gamma

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conditions of blocking calls, on which threads sleep beside the device.
#pragma once

#include "driver/base/lock.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace emx {

/// Names a callable that outlives it: a std::function would allocate memory in each blocking call.
class Condition {
public:
    template <class Callable>
    // NOLINTNEXTLINE(google-explicit-constructor): callers pass lambdas
    Condition(const Callable &callable)
        : callable_(&callable), call_([](const void *c) { return (*static_cast<const Callable *>(c))(); })
    {
    }
    bool operator()() const { return call_(callable_); }

private:
    const void *callable_;
    bool (*call_)(const void *);
};

/// A condition variable that costs nothing while nobody sleeps on it. All with the lock held.
class Changed {
public:
    void notify_all()
    {
        if (sleepers_ > 0)
            variable_.notify_all();
    }
    void wait(std::unique_lock<Lock> &lock)
    {
        const Sleeper here(*this);
        variable_.wait(lock);
    }
    template <class Duration>
    void wait_for(std::unique_lock<Lock> &lock, Duration longest)
    {
        const Sleeper here(*this);
        variable_.wait_for(lock, longest);
    }

private:
    struct Sleeper { // its thread may be cancelled
        Changed &changed;
        explicit Sleeper(Changed &c) : changed(c) { ++changed.sleepers_; }
        ~Sleeper() { --changed.sleepers_; }
        Sleeper(const Sleeper &) = delete;
        Sleeper &operator=(const Sleeper &) = delete;
    };
    std::condition_variable_any variable_;
    uint32_t sleepers_ = 0;
};

} // namespace emx

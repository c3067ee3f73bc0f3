// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The threads that sleep in an endpoint's blocking calls: one on the device, which drives progress, the
// others on the slot's condition variable.
#pragma once

#include "libmx/slot.hpp"

#include <cstdint>
#include <mutex>

namespace emx {

/// All calls need the slot's lock.
class Waiter {
public:
    explicit Waiter(EndpointSlot &slot) : slot_(slot) {}

    /// A thread sleeps on the device: the others sleep elsewhere.
    bool is_taken() const { return wants_ != nullptr; }
    /// Sleeps until something changes about the endpoint, `left_ns` at most.
    void sleep_beside(std::unique_lock<Lock> &lock, uint64_t left_ns);

    /// The calling thread sleeps on the device from here to its end.
    class Turn {
    public:
        Turn(Waiter &waiter, const Condition &done) : waiter_(waiter)
        {
            waiter_.wants_ = &done;
            waiter_.told_sleeper_ = false;
        }
        ~Turn()
        {
            waiter_.wants_ = nullptr;
            waiter_.slot_.changed.notify_all(); // someone else may have to take over
        }
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;

    private:
        Waiter &waiter_;
    };

    /// A thread leaves the endpoint to others, after so many `events` in all. It may have taken the event
    /// that another thread sleeps for, and the device does not wake that one. True: wake the device.
    [[gnu::cold, gnu::noinline]] bool must_wake(uint64_t events);

    /// Grows with each wakeup().
    uint32_t epoch() const { return epoch_; }
    /// Blocking calls end; the caller wakes the device, too.
    void wakeup()
    {
        ++epoch_;
        slot_.changed.notify_all();
    }

private:
    const Condition *wants_ = nullptr; ///< of the thread that waits on the device
    bool told_sleeper_ = false; ///< it was woken, and is not back yet
    uint32_t epoch_ = 0;
    uint64_t told_ = 0; ///< events when the other waiting threads were woken last
    EndpointSlot &slot_;
};

} // namespace emx

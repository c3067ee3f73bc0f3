// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A wake-up that two waiting threads see each: the application's and the helper's.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/base/system_calls.hpp"

#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace emx {

/// Two event counters, one per waiter; waking sets both. A waiter clears only its own, so neither can
/// take the other's wake-up. A wake-up that nobody waits for ends the next wait.
class Wake {
public:
    bool open()
    {
        for (Fd &fd : fds_)
            fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        return fds_[0] && fds_[1];
    }

    /// Any thread, also from a signal handler.
    void wake()
    {
        for (Fd &fd : fds_) {
            const uint64_t one = 1;
            [[maybe_unused]] const ssize_t n = sys::write(fd.get(), &one, sizeof(one));
        }
    }

    /// A waiter's seat for one wait; a third simultaneous waiter shares the second seat.
    class Seat {
    public:
        explicit Seat(Wake &wake)
            : wake_(wake), second_(wake.first_taken_.exchange(true, std::memory_order_acquire))
        {
        }
        ~Seat()
        {
            if (!second_)
                wake_.first_taken_.store(false, std::memory_order_release);
        }
        Seat(const Seat &) = delete;
        Seat &operator=(const Seat &) = delete;

        unsigned number() const { return second_ ? 1 : 0; }
        int fd() const { return wake_.fds_[second_ ? 1 : 0].get(); }
        void clear() const
        {
            uint64_t count;
            [[maybe_unused]] const ssize_t n = sys::read(fd(), &count, sizeof(count));
        }

    private:
        Wake &wake_;
        const bool second_;
    };

private:
    std::array<Fd, 2> fds_;
    std::atomic<bool> first_taken_{false};
};

} // namespace emx

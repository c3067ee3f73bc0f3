// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Decides when a progress pass reads the clock, and keeps the time of the earliest timer.
#pragma once

#include <algorithm>
#include <cstdint>

namespace emx {

/// The caller of a progress pass: a call that waits for something, one that sleeps rather than look again, a
/// request just posted (which leaves the clock alone), or the helper thread.
enum class Driver : uint8_t { application, sleeper, posting, helper };

/// Programs poll far more often than timers need: passes read the clock when nothing came, or now and then in
/// a stream that never pauses. The helper reads it each time. Times are the device's. Not thread-safe.
class PassClock {
public:
    static constexpr uint64_t never = ~uint64_t{0};
    static constexpr unsigned passes_without_clock = 16;
    static constexpr unsigned empty_passes_per_clock = 4;
    static constexpr unsigned passes_per_clock = empty_passes_per_clock * passes_without_clock;
    /// Passes that find something for which timers wait, at most: more events than a ring holds.
    static constexpr unsigned passes_behind_max = 512;
    /// A pass each time that something is posted would be late for what comes behind.
    static constexpr unsigned weight_per_pass = 16;
    static constexpr unsigned weight_of_send = 2;

    /// A pass of that caller ended, with or without an event.
    void count(Driver driver, bool found)
    {
        passes_ += driver == Driver::helper ? passes_per_clock
                   : found                  ? empty_passes_per_clock
                                            : passes_without_clock;
    }
    /// The clock is to be read in this pass.
    bool is_due() const { return passes_ >= passes_per_clock; }
    /// The clock is being read.
    void restart() { passes_ = 0; }
    /// The next pass reads the clock.
    void hurry() { passes_ = passes_per_clock; }

    /// Time of the earliest timer, or before.
    uint64_t timer_ns() const { return timer_ns_; }
    void arm(uint64_t time_ns) { timer_ns_ = std::min(timer_ns_, time_ns); }
    /// Forgets all timers: they are served, and arm it again.
    void disarm() { timer_ns_ = never; }
    void not_before(uint64_t time_ns) { timer_ns_ = std::max(timer_ns_, time_ns); }
    /// Frames come before timers: after a pause the answers are usually queued already. True: the timers that
    /// ran out wait for another pass. A flood stops none for good.
    [[gnu::cold, gnu::noinline]] bool is_behind(bool found);

    /// Notes that something of that weight was posted. True: it is time for a pass, see restart_posts().
    bool post(unsigned weight) { return (posts_ += weight) >= weight_per_pass; }
    void restart_posts() { posts_ = 0; }
    /// The send that is being posted waits for others, and weighs nothing.
    void excuse_send() { posts_ -= weight_of_send; } // wraps: post() adds it again
    /// Those that waited so leave, and weigh a pass together.
    void charge_sends() { posts_ += weight_per_pass; }

private:
    uint64_t timer_ns_ = never;
    uint32_t passes_ = 0; ///< weighted, since the clock was read
    uint32_t posts_ = 0; ///< weighted, since the last pass for them
    uint32_t behind_ = 0; ///< passes for which a timer that ran out has waited
};

} // namespace emx

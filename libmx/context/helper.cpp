// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The helper thread: when the application has been away for a while, accepts what arrived and serves
// timers, so that peers of a computing process are acknowledged, connected and served with data. It never
// matches and never calls user code.
#include "driver/base/thread.hpp"
#include "libmx/context/context.hpp"
#include "libmx/shm/ring.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <sys/prctl.h>

namespace emx {

namespace {

constexpr unsigned passes_max = 64; // per endpoint and round: the application may want its lock back

}

bool Context::helper_pass()
{
    bool worked = false;
    for (uint32_t i = 0; i < slots_used_; ++i) {
        EndpointSlot &slot = slots_[i];
        uint32_t activity = slot.activity.load(std::memory_order_relaxed);
        if (activity != helper_seen_[i]) {
            helper_seen_[i] = activity;
            continue;
        }
        std::unique_lock lock(slot.mutex, std::try_to_lock);
        // A thread inside a blocking call does all this itself.
        if (!lock || !slot.endpoint || slot.endpoint->gate().is_ending() || slot.users)
            continue;
        const uint64_t questions = slot.endpoint->questions();
        for (unsigned passes = 0; passes < passes_max; ++passes) {
            uint64_t before = slot.endpoint->frames_served();
            if (!slot.endpoint->progress(Driver::helper) && slot.endpoint->frames_served() == before)
                break;
            worked = true;
        }
        worked |= slot.endpoint->questions() != questions;
    }
    return worked;
}

void Context::serve_others(const EndpointSlot &own)
{
    for (uint32_t i = 0; i < slots_used_; ++i) {
        EndpointSlot &slot = slots_[i];
        if (&slot == &own)
            continue;
        std::unique_lock lock(slot.mutex, std::try_to_lock); // never waits: others do the same with ours
        if (lock && slot.endpoint && !slot.endpoint->gate().is_ending() && !slot.users)
            slot.endpoint->progress(Driver::helper);
    }
}

void Context::start_helper()
{
    std::lock_guard lock(helper_mutex_);
    helper_wanted_ = conf_.helper_ms > 0;
    if (helper_wanted_)
        set_watcher([this] { return call_helper(); });
}

bool Context::have_helper()
{
    std::lock_guard lock(helper_mutex_);
    if (helper_wanted_ && !helper_.joinable())
        helper_ = start_thread([this] { helper_loop(); });
    return !helper_wanted_ || helper_.joinable();
}

void Context::helper_loop()
{
    using Clock = std::chrono::steady_clock;
    // After work more is likely soon (a pull has many round trips): look often for a millisecond.
    constexpr auto busy_tick = std::chrono::microseconds(200);
    constexpr unsigned busy_ticks = 5;
    constexpr auto watch_tick = std::chrono::microseconds(120);
    constexpr unsigned long slack_ns = 1000; // of a timer, instead of 50 us
    const std::chrono::microseconds tick = std::chrono::milliseconds(conf_.helper_ms);
    ::prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
    Lock::allow_owners(); // on this thread, since it takes a while
    shm::allow_barriers();
    std::unique_lock lock(helper_mutex_);
    unsigned busy = 0;
    Clock::time_point pass_at = Clock::now() + tick;
    while (!helper_stop_) {
        helper_wake_.wait_until(lock,
                                helper_watches_ ? std::min(pass_at, Clock::now() + watch_tick) : pass_at);
        if (helper_stop_)
            return;
        lock.unlock();
        try {
            if (helper_watches_)
                watch_round();
            if (Clock::now() >= pass_at) {
                if (helper_pass())
                    busy = busy_ticks;
                else if (busy)
                    --busy;
                pass_at = Clock::now() + (busy ? busy_tick : tick);
            }
        } catch (const std::bad_alloc &) { // what was to be done is still to be done at the next look
        }
        lock.lock();
    }
}

void Context::stop_helper()
{
    {
        std::lock_guard lock(helper_mutex_);
        helper_stop_ = true;
    }
    helper_wake_.notify_all();
    join_thread(helper_);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The helper's watch over messages that endpoints hold back to share a frame (endpoint/pack.cpp): a program
// that posts sends and then computes has them sent within 200 us.
#include "libmx/context/context.hpp"

namespace emx {

bool Context::flush_late(bool waits)
{
    // Younger ones are old enough at the next round, and within 200 us then.
    constexpr uint64_t moment_ns = 40000;
    const uint64_t time = device_->now_ns();
    bool any = false;
    for (uint32_t i = 0; i < slots_used_; ++i) {
        EndpointSlot &slot = slots_[i];
        const uint64_t since = slot.held_since_ns.load();
        if (since == 0)
            continue;
        std::unique_lock lock(slot.mutex, std::defer_lock);
        if (time < since + moment_ns || !(lock.try_lock() || (waits && (lock.lock(), true)))) {
            any = true;
            continue;
        }
        if (slot.endpoint && slot.held_since_ns.load() != 0)
            slot.endpoint->flush_held();
    }
    return any;
}

/// An endpoint holds messages back from now on: the helper looks often for a while.
bool Context::call_helper()
{
    if (helper_watches_)
        return true;
    std::lock_guard lock(helper_mutex_);
    if (!helper_.joinable())
        return false;
    helper_watches_ = true;
    helper_wake_.notify_one();
    return true;
}

/// Ends the looks when nothing was held back for some time.
void Context::watch_round()
{
    constexpr unsigned quiet_rounds_max = 50;
    quiet_rounds_ = flush_late(true) ? 0 : quiet_rounds_ + 1;
    if (quiet_rounds_ < quiet_rounds_max)
        return;
    quiet_rounds_ = 0;
    helper_watches_ = false;
    for (uint32_t i = 0; i < slots_used_; ++i) // an endpoint that has just begun found us watching
        if (slots_[i].held_since_ns.load() != 0)
            helper_watches_ = true;
}

} // namespace emx

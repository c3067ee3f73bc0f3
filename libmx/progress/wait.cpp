// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Blocking calls: spin a little, then sleep. One thread at a time sleeps on the device and drives
// progress; other threads of the endpoint sleep on a condition variable.
#include "driver/base/system_calls.hpp"
#include "libmx/endpoint.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace emx {

namespace {

constexpr uint64_t forever_ns = uint64_t{1} << 62;

struct User {
    EndpointSlot &slot;
    explicit User(EndpointSlot &s) : slot(s) { ++slot.users; }
    ~User()
    {
        --slot.users;
        slot.changed.notify_all();
    }
    User(const User &) = delete;
    User &operator=(const User &) = delete;
};

/// Unlocks the endpoint, and locks it again also where the thread is cancelled meanwhile.
struct Unlocked {
    std::unique_lock<Lock> &lock;
    explicit Unlocked(std::unique_lock<Lock> &held) : lock(held) { lock.unlock(); }
    ~Unlocked() { lock.lock(); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
};

} // namespace

bool Endpoint::wait(std::unique_lock<Lock> &lock, uint64_t deadline_ns, Condition done)
{
    if (inside_handler()) // a blocking call in the handler would wait for itself
        return done();
    User user(slot_);
    const uint64_t spin_ns =
        context_.conf().wait_spin ? forever_ns : uint64_t(context_.conf().spin_us) * 1000;
    empty_calls_ = spin_ns > 0 ? std::max(empty_calls_, waiting_calls) : 0;
    uint32_t epoch = wake_epoch_;
    uint64_t spin_end = spin_ns > 0 ? now() + spin_ns : 0;
    uint64_t served = frames_seen_; // old, perhaps: then it spins once more
    for (;;) {
        uint64_t before = completions_;
        bool found = progress(spin_ns > 0 ? Driver::application : Driver::sleeper);
        if (before != completions_)
            slot_.changed.notify_all();
        tell_sleepers();
        if (done())
            return true;
        if (closing_ || epoch != wake_epoch_)
            return false;
        uint64_t time = now();
        if (time >= deadline_ns)
            return false;
        // A long message moves without events.
        if (!found && time >= spin_end && (windows_used_ > 0 || !pulls_.empty()))
            found = std::exchange(served, frames_served()) != frames_served();
        if (found) {
            spin_end = time + spin_ns;
        } else if (time >= spin_end) {
            if (!sleep_once(lock, time, deadline_ns, done))
                continue;
            progress(Driver::application);
            return done();
        } else if (gated()) {
            give_core_away(lock);
            continue;
        } else {
            found_nothing(lock);
        }
        lock.unlock(); // others may want to post, also while a message moves
        lock.lock();
    }
}

/// Lets other threads have the endpoint, and other processes the core.
void Endpoint::give_core_away(std::unique_lock<Lock> &lock)
{
    lock.unlock();
    context_.device().yield();
    lock.lock();
}

/// True when a signal ended it, and shall end the call.
bool Endpoint::sleep_once(std::unique_lock<Lock> &lock, uint64_t time, uint64_t deadline_ns, Condition done)
{
    if (gated()) {
        // Another thread runs the handler, or progression is disabled: only its end can help.
        give_core_away(lock);
        return false;
    }
    if (sleeper_wants_) {
        constexpr uint64_t slice_ns = 100000000;
        auto left = std::chrono::nanoseconds(std::min(deadline_ns - time, slice_ns));
        slot_.changed.wait_for(lock, left);
        return false;
    }
    struct Sleeper {
        Endpoint &endpoint;
        ~Sleeper()
        {
            endpoint.sleeper_wants_ = nullptr;
            endpoint.slot_.changed.notify_all(); // someone else may have to take over
        }
    };
    sleeper_wants_ = &done;
    sleeper_told_ = false;
    {
        const Sleeper sleeper{*this};
        const uint64_t until = std::min(deadline_ns, next_deadline(time));
        const Unlocked unlocked(lock);
        if (until > time)
            port_->wait(until);
    }
    return context_.conf().wait_interruptible && port_->interrupted();
}

void Endpoint::tell_sleeper()
{
    if (told_ != completions_ + arrivals_) {
        told_ = completions_ + arrivals_;
        slot_.changed.notify_all();
    }
    if (sleeper_told_ || !(*sleeper_wants_)())
        return;
    sleeper_told_ = true;
    port_->wake();
}

void Endpoint::wakeup()
{
    ++wake_epoch_;
    slot_.changed.notify_all();
    port_->wake();
}

void Endpoint::disable_progression(std::unique_lock<Lock> &lock)
{
    if (inside_handler())
        return;
    const sys::Uncancelled here;
    progression_disabled_ = true;
    ++slot_.users;
    while (in_handler_ && !closing_)
        slot_.changed.wait(lock);
    --slot_.users;
    slot_.changed.notify_all();
}

void Endpoint::enable_progression()
{
    if (!progression_disabled_)
        return;
    progression_disabled_ = false;
    progress(Driver::application);
}

void Endpoint::found_nothing(std::unique_lock<Lock> &lock)
{
    constexpr uint32_t between_yields = 8;
    auto patience = static_cast<uint32_t>(context_.conf().yield_after);
    if (++empty_calls_ < patience || patience == 0)
        return;
    // On a busy machine a yield costs milliseconds: not while a long message moves.
    if (std::exchange(frames_seen_, frames_served()) != frames_served()) {
        empty_calls_ = waiting_calls;
        return;
    }
    empty_calls_ -= std::min(between_yields, patience);
    give_core_away(lock);
}

void Endpoint::linger(std::unique_lock<Lock> &lock)
{
    if (in_handler_)
        return;
    const sys::Uncancelled here;
    lingering_ = true;
    progression_disabled_ = false;
    uint64_t end = now() + uint64_t(context_.conf().linger_ms) * 1000000;
    auto pending = [this] {
        for (Partner *partner = active_; partner; partner = partner->active_next) {
            if (partner->state == PartnerState::connected && partner->waiting)
                return true;
            for (TxMessage *tx = partner->unacked; tx; tx = tx->next)
                if (tx->header.type != EMX_RNDV)
                    return true;
        }
        return false;
    };
    take_acks();
    for (Partner *partner = active_; partner; partner = partner->active_next)
        if (partner->ack_owed)
            send_ack(partner);
    while (pending() && now() < end) {
        if (!progress(Driver::helper)) {
            uint64_t until = std::min(end, next_deadline(now()));
            lock.unlock();
            port_->wait(until);
            lock.lock();
        }
    }
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Blocking calls: spin a little, then sleep. One thread at a time sleeps on the device and drives
// progress; other threads of the endpoint sleep on a condition variable.
#include "driver/base/system_calls.hpp"
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>
#include <utility>

namespace emx {

namespace {

constexpr uint64_t forever_ns = uint64_t{1} << 62;
constexpr uint64_t sure_look_ns = 100000;

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
    if (gate_.inside_handler()) // a blocking call in the handler would wait for itself
        return done();
    const SlotUser user(slot_);
    const uint64_t spin_ns =
        instance_.conf().wait_spin ? forever_ns : uint64_t(instance_.conf().spin_us) * 1000;
    patience_.begin_wait(spin_ns > 0);
    uint32_t epoch = waiter_.epoch();
    uint64_t spin_end = spin_ns > 0 ? now() + spin_ns : 0;
    uint64_t served = patience_.frames_seen(); // old, perhaps: then it spins once more
    for (;;) {
        uint64_t before = completions_.count();
        bool found = progress(spin_ns > 0 ? Driver::application : Driver::sleeper);
        if (before != completions_.count())
            slot_.changed.notify_all();
        tell_sleepers();
        if (done())
            return true;
        if (gate_.is_ending() || epoch != waiter_.epoch())
            return false;
        uint64_t time = now();
        if (time >= deadline_ns)
            return false;
        // A long message moves without events.
        if (!found && time >= spin_end && (windows_.used() > 0 || pulls_.any()))
            found = std::exchange(served, frames_served()) != frames_served();
        if (found) {
            spin_end = time + spin_ns;
        } else if (time >= spin_end) {
            if (!sleep_once(lock, time, deadline_ns, done))
                continue;
            progress(Driver::application);
            return done();
        } else if (gate_.is_closed()) {
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
    instance_.device().yield();
    lock.lock();
}

/// True when a signal ended it, and shall end the call.
bool Endpoint::sleep_once(std::unique_lock<Lock> &lock, uint64_t time, uint64_t deadline_ns, Condition done)
{
    if (gate_.is_closed()) {
        // Another thread runs the handler, or progression is disabled: only its end can help.
        give_core_away(lock);
        return false;
    }
    if (waiter_.is_taken()) {
        waiter_.sleep_beside(lock, deadline_ns - time);
        return false;
    }
    {
        const Waiter::Turn turn(waiter_, done);
        const uint64_t until = std::min(deadline_ns, next_deadline(time));
        const Unlocked unlocked(lock);
        if (until > time)
            port_->wait(until);
    }
    return instance_.conf().wait_interruptible && port_->interrupted();
}

void Endpoint::tell_sleeper()
{
    if (waiter_.must_wake(completions_.count() + matcher_.arrivals()))
        port_->wake();
}

void Endpoint::leave_to_others(bool is_send)
{
    if (holds_ && !is_send)
        flush_held();
    tell_sleepers();
}

void Endpoint::wakeup()
{
    waiter_.wakeup();
    port_->wake();
}

void Endpoint::enable_progression()
{
    if (gate_.enable())
        progress(Driver::application);
}

void Endpoint::offer_core(std::unique_lock<Lock> &lock)
{
    if (patience_.yields(yield_after(), [this] { return frames_served(); }))
        give_core_away(lock);
}

void Endpoint::linger(std::unique_lock<Lock> &lock)
{
    if (gate_.handler_runs())
        return;
    const sys::Uncancelled here;
    gate_.begin_linger();
    uint64_t end = now() + uint64_t(instance_.conf().linger_ms) * 1000000;
    const auto pending = [this] {
        bool any = port_->is_sure_pending();
        partners_.each_active([&any](const Partner *partner) {
            any |= partner->life.is_connected() && !partner->sender.waiting.empty();
            partner->sender.unacked.each([&any](const TxMessage *tx) { any |= tx->header.type != EMX_RNDV; });
        });
        return any;
    };
    take_acks();
    partners_.each_active([this](Partner *partner) {
        if (partner->receiver.owes_ack())
            send_ack(partner);
    });
    while (pending() && now() < end) {
        if (!progress(Driver::helper)) {
            uint64_t until = std::min(end, next_deadline(now()));
            if (port_->is_sure_pending())
                until = std::min(until, now() + sure_look_ns); // nobody tells
            lock.unlock();
            port_->wait(until);
            lock.lock();
        }
    }
}

} // namespace emx

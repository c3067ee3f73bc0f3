// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint when its owner does not just walk in: see lock.hpp.
#include "driver/base/lock.hpp"

#include "driver/base/system_calls.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emx {

namespace {

// A thread that polls opens the lock for a moment in each round, a fraction of a microsecond long: who
// looks as long as a few rounds take meets such a moment, who goes to sleep at once never may.
constexpr int looks = 1000;

constexpr int stores_seen_ms = 10;

std::atomic<bool> owners_allowed{false};

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

} // namespace

void Lock::allow_owners()
{
#ifndef __SANITIZE_THREAD__ // which knows nothing of membarrier, and would see races
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        owners_allowed.store(true, std::memory_order_relaxed);
#endif
}

void Lock::wait_for_word()
{
    uint32_t taken = held;
    for (;;) {
        for (int i = 0; i < looks; ++i) {
            uint32_t state = open;
            if (word_.load(std::memory_order_relaxed) == open &&
                word_.compare_exchange_weak(state, taken, std::memory_order_acquire))
                return;
        }
        taken = contended; // from now on its release wakes the next, whether there is one or not
        if (word_.exchange(contended, std::memory_order_acquire) == open)
            return;
        word_.wait(contended, std::memory_order_relaxed);
    }
}

void Lock::lock_word()
{
    uint32_t state = open;
    if (!word_.compare_exchange_strong(state, held, std::memory_order_acquire)) [[unlikely]]
        wait_for_word();
    consider_owner();
    by_owner_ = false; // not before the owner is out, who reads it
}

/// With the word taken: makes the caller the owner, or sees to it that the owner is out.
void Lock::consider_owner()
{
    const uintptr_t owner = owner_.load(std::memory_order_relaxed);
    if (owner == 0) {
        if (was_owned_ || !owners_allowed.load(std::memory_order_relaxed))
            return;
        was_owned_ = true;
        owner_.store(this_thread(), std::memory_order_relaxed);
    } else if (owner != this_thread()) {
        ask_owner();
        while (owner_in_.load(std::memory_order_acquire)) {
            int i = 0;
            while (i < looks && owner_in_.load(std::memory_order_relaxed))
                ++i;
            if (i == looks)
                owner_in_.wait(1, std::memory_order_acquire);
        }
        if (++strangers_ >= strangers_max) // wanted_ stays set, for the owner may be on its way in
            owner_.store(0, std::memory_order_relaxed);
    }
}

/// With the word taken, by another thread than the owner: from now on the owner is in, or comes by the word.
void Lock::ask_owner()
{
    wanted_.store(1, std::memory_order_relaxed);
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); // the child of a fork has to ask anew
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    // A filter of system calls has come since. A processor's stores are seen by all long before this time is
    // over, and a processor that the owner has left meanwhile has passed a barrier.
    owners_allowed.store(false, std::memory_order_relaxed);
    strangers_ = strangers_max; // this lock has no owner from now on
    sys::sleep_ms(stores_seen_ms);
}

bool Lock::try_word()
{
    uint32_t state = open;
    uintptr_t owner = owner_.load(std::memory_order_relaxed);
    if (owner != 0 && owner != this_thread() && owner_in_.load(std::memory_order_relaxed))
        return false; // without the barrier, for one who tries again and again
    if (!word_.compare_exchange_strong(state, held, std::memory_order_acquire))
        return false;
    owner = owner_.load(std::memory_order_relaxed);
    if (owner != 0 && owner != this_thread()) {
        ask_owner();
        if (owner_in_.load(std::memory_order_acquire)) {
            unlock_word();
            return false;
        }
        if (strangers_ >= strangers_max)
            owner_.store(0, std::memory_order_relaxed);
    }
    by_owner_ = false;
    return true;
}

void Lock::unlock_word()
{
    // Not after the last visit of a stranger: then there is no owner.
    if (owner_.load(std::memory_order_relaxed) != 0)
        wanted_.store(0, std::memory_order_release);
    if (word_.exchange(open, std::memory_order_release) == contended) [[unlikely]]
        word_.notify_one();
}

/// The owner, on its way in, finds that another thread has or wants the lock.
bool Lock::step_back()
{
    owner_in_.store(0, std::memory_order_release);
    tell_stranger();
    return false;
}

void Lock::tell_stranger()
{
    // notify_one() asks whether anyone waits: not before owner_in_ is seen to be 0.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    owner_in_.notify_one();
}

} // namespace emx

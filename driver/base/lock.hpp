// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint, and of a layer's node: taken and released by every call, by one thread at a time
// nearly always, and by the same thread all the time in most programs.
//
// A word and a futex instead of std::mutex, whose calls into the C library cost more than all else that a
// test of a request does. Three states, so that nobody enters the kernel unless somebody waits.
//
// And, where the kernel has membarrier(2), an owner: the first thread that takes the lock. Atomic operations
// on the word are a tenth of what a call costs; the owner takes and releases the lock with plain stores to
// owner_in_, each followed by a look at wanted_. Another thread takes the word first, sets wanted_, and has
// the kernel put a barrier into the owner's instructions: after that either the owner has seen wanted_, and
// takes the word like everybody, or the other thread sees owner_in_, and waits for its end. (Biased locking,
// as by Kawachiya, Koseki and Onodera, OOPSLA 2002, with the system call for their reservation word.) That
// costs microseconds: after strangers_max of such visits the lock has no owner for good.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace emx {

/// A Lockable in the sense of the standard: std::unique_lock, std::lock_guard and
/// std::condition_variable_any take it. Not recursive, not fair.
class Lock {
public:
    void lock()
    {
        if (!enter_as_owner())
            lock_word();
    }
    bool try_lock() { return enter_as_owner() || try_word(); }
    void unlock()
    {
        if (!by_owner_) [[unlikely]]
            return unlock_word();
        owner_in_.store(0, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst); // the processor's part is membarrier's
        if (wanted_.load(std::memory_order_relaxed)) [[unlikely]]
            tell_stranger();
    }

    /// From now on locks may have owners, if the kernel helps with that. May take as long as an RCU grace
    /// period (25 ms) in a process with threads.
    static void allow_owners();
    /// True if the calling thread is the owner. For tests.
    bool is_owner() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }

    /// True if its holder is the owner, and took it as such.
    bool is_held_by_owner() const { return by_owner_; }
    /// Called by a holder that is not the owner, for strangers who come by try_lock(), which does not count
    /// them: from now on the lock has no owner.
    void disown()
    {
        strangers_ = strangers_max;
        // wanted_ stays set, as after the last visit of a stranger.
        owner_.store(0, std::memory_order_relaxed);
    }

    /// The calling thread, not 0. A call into the C library would cost what the owner saves.
    static uintptr_t this_thread()
    {
#if !defined(__clang__) && __has_builtin(__builtin_thread_pointer)
        return reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
#else
        return static_cast<uintptr_t>(::pthread_self());
#endif
    }

    static constexpr uint32_t strangers_max = 16;

private:
    static constexpr uint32_t open = 0, held = 1, contended = 2;

    bool enter_as_owner()
    {
        if (owner_.load(std::memory_order_relaxed) != this_thread()) [[unlikely]]
            return false;
        owner_in_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst); // the processor's part is membarrier's
        if (wanted_.load(std::memory_order_acquire)) [[unlikely]]
            return step_back();
        by_owner_ = true;
        return true;
    }
    void lock_word();
    bool try_word();
    void unlock_word();
    void wait_for_word();
    void consider_owner();
    [[gnu::cold, gnu::noinline]] bool step_back();
    [[gnu::cold, gnu::noinline]] void tell_stranger();
    void ask_owner();

    std::atomic<uintptr_t> owner_{0}; ///< 0: nobody
    std::atomic<uint32_t> owner_in_{0}; ///< 1: the owner has the lock, or tries
    std::atomic<uint32_t> wanted_{0}; ///< 1: the owner has to take the word; written by its holder
    bool by_owner_ = false; ///< how the lock is held now
    bool was_owned_ = false;
    uint32_t strangers_ = 0; ///< times that another thread took the lock while there was an owner
    std::atomic<uint32_t> word_{open};
};

} // namespace emx

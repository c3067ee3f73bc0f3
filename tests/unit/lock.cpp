// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The lock of an endpoint: one thread at a time, whether it has an owner or not. What it guards is plain
// memory here: an atomic operation inside would put the barriers in whose absence is to be noticed.
#include "driver/base/lock.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

using emx::Lock;

namespace {

/// A few milliseconds of work.
void work()
{
    for (int i = 0; i < 3000000; ++i)
        std::atomic_signal_fence(std::memory_order_seq_cst); // keeps the loop
}

struct Guarded {
    Lock lock;
    volatile uint64_t inside = 0;
    volatile uint64_t visits = 0;
    std::atomic<uint64_t> overlaps{0};

    /// With the lock held: notices another thread that has it, too.
    void visit(uint64_t who)
    {
        if (inside != 0)
            overlaps.fetch_add(1);
        inside = who;
        visits = visits + 1;
        if (inside != who)
            overlaps.fetch_add(1);
        inside = 0;
    }
};

/// Locks without end until told, as the thread that was here first does.
uint64_t stay(Guarded &guarded, const std::atomic<bool> &end)
{
    uint64_t n = 0;
    for (; !end.load(std::memory_order_relaxed); ++n) {
        const std::lock_guard hold(guarded.lock);
        guarded.visit(1);
    }
    return n;
}

void visit_often(Guarded &guarded, uint64_t who, uint32_t times)
{
    for (uint32_t i = 0; i < times; ++i) {
        const std::lock_guard hold(guarded.lock);
        guarded.visit(who);
    }
}

uint64_t try_often(Guarded &guarded, uint64_t who, uint32_t times)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < times; ++i)
        if (guarded.lock.try_lock()) {
            guarded.visit(who);
            guarded.lock.unlock();
            ++n;
        }
    return n;
}

/// The caller stays, one thread visits, one tries.
void contend(Guarded &guarded, uint32_t times, uint32_t tries)
{
    std::atomic<bool> end{false};
    uint64_t tried = 0;
    std::thread others([&] {
        std::thread trier([&] { tried = try_often(guarded, 3, tries); });
        visit_often(guarded, 2, times);
        trier.join();
        end.store(true);
    });
    const uint64_t stayed = stay(guarded, end);
    others.join();
    CHECK(guarded.overlaps.load() == 0);
    CHECK(guarded.visits == stayed + times + tried);
}

bool owned(Lock &lock)
{
    {
        const std::lock_guard hold(lock);
    }
    return lock.is_owner();
}

} // namespace

TEST_CASE("without the kernel's help a lock has no owner, and keeps threads apart")
{
    // The first case: allow_owners() holds for the whole process.
    Guarded guarded;
    CHECK_FALSE(owned(guarded.lock));
    contend(guarded, 20000, 20000);
}

TEST_CASE("the first thread owns the lock, and goes on to own it after visits of others")
{
    Lock::allow_owners();
    for (int round = 0; round < 300; ++round) {
        Guarded guarded;
        REQUIRE(owned(guarded.lock));
        contend(guarded, Lock::strangers_max - 1, 20);
        CHECK(guarded.lock.is_owner());
    }
}

TEST_CASE("a lock that many threads take has no owner any more")
{
    Lock::allow_owners();
    for (int round = 0; round < 100; ++round) {
        Guarded guarded;
        REQUIRE(owned(guarded.lock));
        contend(guarded, 4 * Lock::strangers_max, 20);
        CHECK_FALSE(guarded.lock.is_owner());
        CHECK_FALSE(owned(guarded.lock));
    }
}

TEST_CASE("a lock that a stranger disowns keeps threads apart")
{
    Lock::allow_owners();
    Lock lock;
    for (const bool owned : {false, true}) { // not before it has been taken once
        lock.lock();
        CHECK(lock.is_held_by_owner() == owned);
        lock.unlock();
    }
    std::thread([&] {
        REQUIRE(lock.try_lock());
        CHECK_FALSE(lock.is_held_by_owner());
        lock.disown();
        lock.unlock();
    }).join();
    CHECK_FALSE(lock.is_owner());
    lock.lock();
    CHECK_FALSE(lock.is_held_by_owner());
    std::thread([&] { CHECK_FALSE(lock.try_lock()); }).join();
    lock.unlock();
}

TEST_CASE("the owner wakes threads that sleep until it leaves")
{
    Lock::allow_owners();
    for (int round = 0; round < 20; ++round) {
        Guarded guarded;
        REQUIRE(owned(guarded.lock));
        std::atomic<bool> got{false};
        std::unique_lock hold(guarded.lock);
        std::thread other([&] {
            const std::lock_guard wait(guarded.lock);
            got.store(true);
        });
        // Long enough for it to sleep, nearly always; if not, the round proves less.
        work();
        CHECK_FALSE(got.load());
        hold.unlock();
        other.join();
        CHECK(got.load());
    }
}

TEST_CASE("the owner waits for a stranger that has the lock")
{
    Lock::allow_owners();
    for (int round = 0; round < 20; ++round) {
        Guarded guarded;
        REQUIRE(owned(guarded.lock));
        std::atomic<bool> has{false}, leaving{false};
        std::thread other([&] {
            const std::lock_guard hold(guarded.lock);
            has.store(true);
            work();
            leaving.store(true);
        });
        while (!has.load())
            std::this_thread::yield();
        {
            const std::lock_guard wait(guarded.lock);
            CHECK(leaving.load());
        }
        other.join();
    }
}

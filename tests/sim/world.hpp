// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Virtual time: the event queue of a simulation and the tasks (fibers) that live in it.
//
// Everything happens on one OS thread. Time moves only when an event is taken from the queue, or
// when a running task is charged for a little work while no event is due.
#pragma once

#include "../support/fiber.hpp"
#include "../support/rng.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emx::sim {

inline constexpr uint64_t us = 1000;
inline constexpr uint64_t ms = 1000 * us;
inline constexpr uint64_t sec = 1000 * ms;
inline constexpr uint64_t never = ~0ull;

class World;

/// A fiber that the world schedules.
class Task {
public:
    Task(World &world, std::string name, std::function<void()> body);
    const std::string &name() const { return name_; }
    bool done() const { return fiber_.done(); }
    /// Called on the scheduler's stack before each resume. False: not now; the wake-up is lost.
    std::function<bool()> on_resume;
    /// Makes the task run at time `when`; the earliest of several calls counts.
    void ready_at(uint64_t when);

private:
    friend class World;
    World &world_;
    std::string name_;
    test::Fiber fiber_;
    uint64_t turn_ = 0; ///< rises at each resume: older wake-ups are stale
    uint64_t wake_at_ = never; ///< earliest wake-up queued for this turn
};

class World {
public:
    explicit World(uint64_t seed) : rng(seed) {}

    uint64_t now() const { return now_; }
    /// Runs fn on the scheduler's stack at that time. Order among equal times: that of the calls.
    void at(uint64_t when, std::function<void()> fn);
    void after(uint64_t delay, std::function<void()> fn) { at(now_ + delay, std::move(fn)); }

    /// Starts a task; the world keeps it until the end.
    Task &spawn(std::string name, std::function<void()> body);

    /// In a task: sleeps until ready_at() or the deadline.
    void block(uint64_t deadline);
    /// In a task: uses up `ns` of time. Cheap when nothing else happens meanwhile. On the
    /// scheduler's stack: nothing.
    void charge(uint64_t ns);
    Task *current() const { return current_; }

    /// Runs until the predicate holds, nothing is left to do, or time `limit` is reached.
    /// True when the predicate held.
    bool run(const std::function<bool()> &until, uint64_t limit);

    uint64_t steps() const { return steps_; }
    test::Rng rng;

private:
    friend class Task;
    struct Event {
        uint64_t when;
        uint64_t order;
        Task *task; ///< resume it in this turn, or else
        uint64_t turn;
        std::function<void()> fn;
        bool operator<(const Event &o) const { return when != o.when ? when > o.when : order > o.order; }
    };
    void push(Event e);
    Event pop();
    void step(Event &e);

    uint64_t now_ = sec; // 0 means "not set" to some
    uint64_t order_ = 0;
    uint64_t steps_ = 0;
    uint64_t limit_ = 0;
    std::vector<Event> queue_;
    std::vector<std::unique_ptr<Task>> tasks_;
    Task *current_ = nullptr;
};

} // namespace emx::sim

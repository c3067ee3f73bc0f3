// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The event loop of a simulation. See world.hpp.
#include "world.hpp"

#include <algorithm>

namespace emx::sim {

Task::Task(World &world, std::string name, std::function<void()> body)
    : world_(world), name_(std::move(name)), fiber_(std::move(body))
{
}

void Task::ready_at(uint64_t when)
{
    when = std::max(when, world_.now_);
    if (when >= wake_at_)
        return;
    wake_at_ = when;
    world_.push({when, 0, this, turn_, nullptr});
}

void World::push(Event e)
{
    e.order = order_++;
    queue_.push_back(std::move(e));
    std::push_heap(queue_.begin(), queue_.end());
}

World::Event World::pop()
{
    std::pop_heap(queue_.begin(), queue_.end());
    Event e = std::move(queue_.back());
    queue_.pop_back();
    return e;
}

void World::at(uint64_t when, std::function<void()> fn)
{
    push({std::max(when, now_), 0, nullptr, 0, std::move(fn)});
}

Task &World::spawn(std::string name, std::function<void()> body)
{
    tasks_.push_back(std::make_unique<Task>(*this, std::move(name), std::move(body)));
    tasks_.back()->ready_at(now_);
    return *tasks_.back();
}

void World::block(uint64_t deadline)
{
    if (deadline != never)
        current_->ready_at(deadline);
    test::Fiber::suspend();
}

void World::charge(uint64_t ns)
{
    if (!current_)
        return;
    while (!queue_.empty() && queue_.front().when <= now_ + ns && queue_.front().task &&
           queue_.front().turn != queue_.front().task->turn_)
        pop();
    // Beyond the limit of run() a task that spins must come back to the loop.
    if (now_ <= limit_ && (queue_.empty() || queue_.front().when > now_ + ns))
        now_ += ns;
    else
        block(now_ + ns);
}

void World::step(Event &e)
{
    now_ = e.when;
    if (!e.task) {
        steps_++;
        e.fn();
        return;
    }
    if (e.turn != e.task->turn_ || e.task->done())
        return;
    steps_++;
    e.task->turn_++;
    e.task->wake_at_ = never;
    if (e.task->on_resume && !e.task->on_resume())
        return;
    current_ = e.task;
    e.task->fiber_.resume();
    current_ = nullptr;
}

bool World::run(const std::function<bool()> &until, uint64_t limit)
{
    limit_ = limit;
    while (!until()) {
        if (queue_.empty() || queue_.front().when > limit)
            return false;
        Event e = pop();
        step(e);
    }
    return true;
}

} // namespace emx::sim

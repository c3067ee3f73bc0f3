// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The place of an endpoint in a process.
#pragma once

#include "driver/base/lock.hpp"
#include "libmx/condition.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace emx {

class Endpoint;

/// Outlives the endpoint, so that calls on a closed handle find a lock. Begins with what each call touches.
struct alignas(64) EndpointSlot {
    Lock mutex;
    uint64_t handle = 0; ///< of the open endpoint; 0: there is none, or it is being closed
    std::unique_ptr<Endpoint> endpoint;
    std::atomic<uint32_t> activity{0}; ///< counts calls of the application; read by the helper
    uint32_t generation = 0;
    Changed changed; ///< a waiter left, a handler returned, a request completed
    uint32_t users = 0; ///< threads inside a blocking call or a handler
    std::atomic<uint64_t> held_since_ns{0}; ///< messages are held back; 0: none are; read by the helper
};

/// A thread inside a blocking call; with the slot's lock.
struct SlotUser {
    EndpointSlot &slot;
    explicit SlotUser(EndpointSlot &s) : slot(s) { ++slot.users; }
    ~SlotUser()
    {
        --slot.users;
        slot.changed.notify_all();
    }
    SlotUser(const SlotUser &) = delete;
    SlotUser &operator=(const SlotUser &) = delete;
};

} // namespace emx

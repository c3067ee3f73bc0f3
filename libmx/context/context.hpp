// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A library instance: what its endpoints share, the table of open endpoints, and the helper thread.
//
// The C functions act on one default context (libmx/api/api.hpp); the simulator makes one per
// simulated process.
#pragma once

#include "libmx/endpoint/endpoint.hpp"
#include "libmx/endpoint/instance.hpp"
#include "libmx/slot.hpp"

#include "myriexpress.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace emx {

inline constexpr uint32_t endpoint_slots = 1024;
// A handle of an endpoint: 1 bit | 32 bits of generation of the slot | slot.
inline constexpr uint32_t handle_slot_bits = 10;
static_assert(endpoint_slots == 1u << handle_slot_bits);

class Context : public Instance {
public:
    Context(std::unique_ptr<Device> device, Conf conf, HandlerSource handler);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    /// Opens an endpoint; returns its handle or nullptr with `error`. `handler` may be nullptr (global one).
    struct OpenArgs {
        uint32_t board, number, key;
        ErrorHandler handler;
        unsigned context_bits, context_shift;
        uint64_t unexp_max = 0; ///< bytes of unexpected messages; 0: no bound
    };
    mx_endpoint_t open(const OpenArgs &args, DeviceError &error);
    /// The slot that a handle names, whether its endpoint is open or not; nullptr when it names none.
    EndpointSlot *slot_of(mx_endpoint_t handle)
    {
        const auto value = reinterpret_cast<uint64_t>(handle);
        if (!(value >> 63)) [[unlikely]]
            return nullptr;
        return &slots_[value & (endpoint_slots - 1)];
    }
    /// Begins a call on an endpoint: false when the handle is not of the open one in this slot, which is
    /// locked.
    static bool enter(EndpointSlot &slot, mx_endpoint_t handle);
    EndpointSlot *slot(uint32_t index) { return index < endpoint_slots ? &slots_[index] : nullptr; }
    /// Closes an endpoint whose slot is locked: releases waiting threads, lingers, frees.
    void close(EndpointSlot &slot, std::unique_lock<Lock> &lock);
    void close_all();

    /// One pass of the helper thread: for each endpoint whose application stayed away since the last
    /// pass, accept what arrived and serve timers. True when something was done.
    bool helper_pass();
    /// Sends what endpoints have held back for longer than a moment. `waits`: also for a call that has the
    /// endpoint; else such an endpoint is left for the next look. True: something is held back still.
    bool flush_late(bool waits);
    /// Accepts what arrived at the other endpoints of which nobody is inside a call; the caller has the lock
    /// of this one.
    void serve_others(const EndpointSlot &own);
    /// Starts the helper thread (real devices only; a simulator calls helper_pass itself).
    void start_helper();

    Census census(); ///< of all endpoints

private:
    mx_endpoint_t open_one(const OpenArgs &args, uint32_t board, uint32_t number, DeviceError &error);
    /// False where a helper thread is wanted and none can be had.
    bool have_helper();
    bool call_helper();
    void watch_round();
    void helper_loop();
    void stop_helper();

    std::unique_ptr<std::array<EndpointSlot, endpoint_slots>> slots_storage_;
    EndpointSlot *slots_;
    std::mutex open_mutex_;
    std::atomic<uint32_t> slots_used_{0}; ///< slots below it may hold endpoints
    std::array<uint32_t, endpoint_slots> helper_seen_{};

    std::thread helper_;
    std::mutex helper_mutex_;
    std::condition_variable helper_wake_;
    bool helper_stop_ = false;
    bool helper_wanted_ = false;
    std::atomic<bool> helper_watches_{false}; ///< it looks for messages that are held back
    unsigned quiet_rounds_ = 0; ///< its looks that found none
};

inline bool Context::enter(EndpointSlot &slot, mx_endpoint_t handle)
{
    if (slot.handle != reinterpret_cast<uint64_t>(handle)) [[unlikely]]
        return false;
    slot.activity.store(slot.activity.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

} // namespace emx

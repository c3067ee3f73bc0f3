// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Keeps the thread that is inside an endpoint, and closes it to events: the program holds progression, its
// unexpected handler runs, the helper thread drives, or the endpoint closes.
#pragma once

#include "libmx/slot.hpp"

#include <cstdint>
#include <mutex>
#include <thread>

namespace emx {

/// All calls need the slot's lock.
class Gate {
public:
    explicit Gate(EndpointSlot &slot) : slot_(slot) {}

    /// Events wait: progression is disabled, or the handler runs.
    bool is_closed() const { return closed_ != 0; }
    /// A message may be given to a receive now; not while the helper drives, or inside the handler.
    bool may_match() const { return !staging_ && !handler_runs(); }
    bool is_staging() const { return staging_; }
    void set_staging(bool staging) { staging_ = staging; }

    bool handler_runs() const { return closed_ & by_handler; }
    /// True in the thread that runs the handler.
    bool inside_handler() const
    {
        if (!handler_runs()) [[likely]]
            return false;
        return handler_thread_ == std::this_thread::get_id();
    }
    /// Calls the program's handler with the lock released and the gate closed; returns what it returned.
    template <class Handler>
    int run_handler(Handler handler)
    {
        closed_ |= by_handler;
        handler_thread_ = std::this_thread::get_id();
        ++slot_.users;
        slot_.mutex.unlock();
        const int action = handler();
        slot_.mutex.lock();
        --slot_.users;
        closed_ &= static_cast<uint8_t>(~by_handler);
        return action;
    }

    /// Closes the gate for the program, once the handler has returned.
    void disable(std::unique_lock<Lock> &lock);
    /// True if it was closed.
    bool enable();

    bool is_ending() const { return phase_ != Phase::open; }
    bool is_lingering() const { return phase_ == Phase::lingering; }
    void begin_close() { phase_ = Phase::closing; }
    /// Opens the gate: nobody is left to take a message, and sends are brought to their end.
    void begin_linger();

private:
    enum class Phase : uint8_t { open, closing, lingering };

    static constexpr uint8_t by_program = 1, by_handler = 2;

    uint8_t closed_ = 0; ///< bits: by what
    bool staging_ = false; ///< the helper drives: no matching now
    Phase phase_ = Phase::open;
    EndpointSlot &slot_;
    std::thread::id handler_thread_;
};

} // namespace emx

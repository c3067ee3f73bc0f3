// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The part of a library instance that its endpoints share: device, tunables, error handler, tellers.
#pragma once

#include "driver/device.hpp"
#include "libmx/conf/conf.hpp"
#include "libmx/error_handler.hpp"
#include "libmx/slot.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace emx {

/// Requests, incoming messages, queued sends, windows, and partners with work owed that are alive: for leak
/// checks.
struct Census {
    uint32_t endpoints = 0, requests = 0, incoming = 0, tx_messages = 0, windows = 0, busy_partners = 0;
};

class Instance {
public:
    /// Tells the error handler of endpoints that have none of their own; nullptr: errors return.
    using HandlerSource = ErrorHandler (*)();
    Instance(std::unique_ptr<Device> device, Conf conf, HandlerSource handler)
        : device_(std::move(device)), conf_(std::move(conf)), error_handler_(handler)
    {
    }

    Device &device() { return *device_; }
    const Conf &conf() const { return conf_; }
    ErrorHandler error_handler() const { return error_handler_(); }

    /// Gets one line about a board's endpoint (board nullptr: about the library). Called with locks held.
    using Teller = std::function<void(const std::string &text, const BoardInfo *board, uint32_t endpoint)>;
    void set_teller(Teller teller) { teller_ = std::move(teller); }
    void tell(const std::string &text, const BoardInfo *board = nullptr, uint32_t endpoint = 0) const
    {
        if (teller_)
            teller_(text, board, endpoint);
    }

    /// The same of what users should hear of in any case, once each.
    void set_warner(Teller warner) { warner_ = std::move(warner); }
    void warn(const std::string &text, const BoardInfo *board, uint32_t endpoint) const
    {
        if (warner_)
            warner_(text, board, endpoint);
    }

    /// Explicit ack counters of new partners start above all that closed endpoints used: a peer that
    /// remembers one of them must not find ours too low (wire specification, 7.6). Any thread may raise it.
    uint32_t ack_counter_floor() const { return ack_counter_floor_; }
    void raise_ack_counter_floor(uint32_t used)
    {
        uint32_t floor = ack_counter_floor_.load();
        while (floor < used && !ack_counter_floor_.compare_exchange_weak(floor, used)) {
        }
    }

    /// Called, with a slot locked, when its endpoint begins to hold messages back. True: somebody looks soon,
    /// and sends what is held back for too long (Context::flush_late).
    using Watcher = std::function<bool()>;
    void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }
    bool has_watcher() const { return watcher_ != nullptr; }
    /// Messages are held back from that time on, the slot locked. False: nobody would send them in time.
    bool watch_held(EndpointSlot &slot, uint64_t time_ns)
    {
        slot.held_since_ns.store(time_ns); // before the watcher is asked, which looks at it before it rests
        if (watcher_ && watcher_())
            return true;
        slot.held_since_ns.store(0);
        return false;
    }

protected:
    std::unique_ptr<Device> device_;
    Conf conf_;

private:
    HandlerSource error_handler_;
    Teller teller_, warner_;
    Watcher watcher_;
    std::atomic<uint32_t> ack_counter_floor_{0};
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where a replay takes place: one host runs our stack, the frames of its only peer are played to it,
// and every frame that it sends is seen. Two kinds: a simulated host, and the engine with its board agent.
#pragma once

#include "fields.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace emx::interop {

inline constexpr uint64_t us = 1000, ms = 1000 * us, sec = 1000 * ms; ///< nanoseconds

/// Our host and its peer.
struct Names {
    uint64_t mac, peer_mac;
    std::string name, peer_name; ///< of the boards
};

class Link {
public:
    virtual ~Link() = default;

    /// Sees every frame that our host sends.
    std::function<void(const Frame &)> on_frame;
    /// Held while on_frame and the functions of at() run, which is not in the application's thread.
    std::mutex mutex;

    /// Monotonic time, nanoseconds.
    virtual uint64_t now() const = 0;
    /// Runs fn at that time or soon after. The caller holds the mutex, or is called under it.
    virtual void at(uint64_t when, std::function<void()> fn) = 0;
    /// A frame of the peer. The caller is called under the mutex.
    virtual void inject(const Frame &frame) = 0;
    /// Runs the application as a program on our host; false when it has not ended by then (ns from now).
    virtual bool run(const std::function<void()> &application, uint64_t limit) = 0;

    /// For the application: does something else than calling the library.
    virtual void pass_time(uint64_t ns) = 0;
    /// For the application, once the library is initialised: both hosts get to know each other's
    /// name, and the peer tells index 1, as captured hosts had done long before.
    virtual void introduce() = 0;

    /// True when a board agent, or the module in its place, sends queries of its own; else the hosts know
    /// each other from the start.
    virtual bool has_agent() const = 0;
    /// The longest pause of the captured exchange here, and the time to look for frames that
    /// nobody expects, nanoseconds.
    virtual uint64_t longest_pause() const = 0;
    virtual uint64_t linger() const = 0;
    /// A frame of ours that the wire specification forbids, or nothing.
    virtual std::string violation() const = 0;
};

/// The kind of link that this program was built with.
std::unique_ptr<Link> make_link(const Names &names);

} // namespace emx::interop

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Keeps frames for others away from an endpoint (docs/decisions/0005, 0010).
#pragma once

#include "driver/board/filter.hpp"

#include <cerrno>
#include <cstdint>

namespace emx {

/// The steering of the ring and the bulk socket of one endpoint. One thread at a time.
class Steering {
public:
    /// True if both sockets take all that comes to the board, and the port tells its own apart.
    bool by_port() const { return by_ == By::port; }
    /// True once pull replies come to the bulk socket.
    bool replies_come() const { return replies_ != Replies::nowhere; }

    /// Takes the filters off where no other endpoint is claimed on the board (`alone`), or puts them back. A
    /// filter costs each frame some 50 ns. It stays where the agent has locked it, and while ring and bulk
    /// socket each see all frames: then its program alone parts what is for the two.
    void choose(bool alone, uint64_t mac, uint8_t endpoint, int ring, int bulk)
    {
        const bool off = alone && replies_ != Replies::beside;
        if (off == by_port() || by_ == By::locked_filters) [[likely]]
            return;
        change(off, mac, endpoint, ring, bulk);
    }

    /// Pull replies are about to come to the bulk socket: call choose() next, and bind it then.
    void expect_replies() { replies_ = Replies::beside; }
    /// The bulk socket could not be bound.
    void expect_none() { replies_ = Replies::nowhere; }
    /// The two sockets are a group, whose program parts pull replies from all else.
    void group() { replies_ = Replies::grouped; }

private:
    [[gnu::cold, gnu::noinline]] void change(bool off, uint64_t mac, uint8_t endpoint, int ring, int bulk)
    {
        const bool done = off ? detach_filter(ring) && detach_filter(bulk)
                              : attach_filter(ring, endpoint_filter(mac, endpoint, false)) &&
                                    attach_filter(bulk, reply_filter(mac, endpoint));
        if (done)
            by_ = off ? By::port : By::filters;
        else if (off && errno == EPERM)
            by_ = By::locked_filters;
    }

    enum class By : uint8_t {
        filters, ///< one on each socket
        locked_filters, ///< which an agent that does not trust this process has made permanent
        port,
    };
    enum class Replies : uint8_t {
        nowhere,
        beside, ///< to the bulk socket, which sees what the ring sees
        grouped, ///< to the bulk socket, and nothing else
    };

    By by_ = By::filters;
    Replies replies_ = Replies::nowhere;
};

} // namespace emx

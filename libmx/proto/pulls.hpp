// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The pulls of an endpoint: those under way by their cookies, and messages that wait for their turn.
#pragma once

#include "libmx/match/incoming.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace emx {

/// Keeps the books; the port moves the data. Not thread-safe (the endpoint's lock); owns no message.
class Pulls {
public:
    // More at once would only share the frames that the receive queue can hold, and overflow it: a few keep
    // the link busy between one message and the next. Every partner may have one, so that a dead one holds up
    // nobody.
    static constexpr std::size_t pulls_max = 4;

    /// True if a pull from that partner may begin now.
    bool has_turn(const Partner *partner) const;
    /// The cookie of the pull that begins next; nonzero.
    uint64_t next_cookie() const { return next_; }
    /// The message is being pulled from now on, with next_cookie().
    void begin(Incoming *in);
    /// Notes that a pull ended, or was cancelled.
    void end(Incoming *in);
    /// The message that is pulled with that cookie, or nullptr.
    Incoming *find(uint64_t cookie) const;
    /// Messages that are pulled from that partner.
    std::vector<Incoming *> of(const Partner *partner) const;
    bool any() const { return !by_cookie_.empty(); }

    /// Puts a message behind those that wait for their turn.
    void wait(Incoming *in);
    bool any_waits() const { return !waiting_.empty(); }
    /// All that wait, in their order; none does then, but those for which wait() is called again.
    IncomingList take_waiting() { return waiting_.take(); }
    /// A message that waits goes away.
    void forget(const Incoming *in) { waiting_.remove(in); }

private:
    using Map = std::unordered_map<uint64_t, Incoming *>;

    Map by_cookie_;
    std::vector<Map::node_type>
        spare_; ///< nodes to be used again: a pull allocates nothing after the first few
    uint64_t next_ = 1;
    IncomingList waiting_;
};

} // namespace emx

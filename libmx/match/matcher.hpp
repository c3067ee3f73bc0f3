// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Matches by posted receives, unexpected messages with the bound on their bytes, and the
// unexpected handler (API specification, section 5). What follows from a match is the endpoint's.
#pragma once

#include "libmx/indexed_fifo.hpp"
#include "libmx/match/incoming.hpp"
#include "libmx/match/posted_queue.hpp"
#include "libmx/match/unexp_handler.hpp"

#include <cstdint>
#include <utility>

namespace emx {

/// Not thread-safe (the endpoint's lock). Owns neither receives nor messages.
class Matcher {
public:
    /// The oldest unexpected message that the receive takes, which leaves the queue; nullptr: it is posted.
    Incoming *post(Request *recv)
    {
        Incoming *in = unexpected_.find(recv->match, recv->mask);
        if (in) [[unlikely]]
            unexpected_.remove(in);
        else
            posted_.push_back(recv);
        return in;
    }
    /// Takes a receive back.
    void withdraw(Request *recv) { posted_.remove(recv); }
    /// The receive that a message with these bits goes to, no longer posted; nullptr: none waits for it.
    Request *take(uint64_t bits) { return posted_.take(bits); }
    bool is_awaited(uint64_t bits) { return posted_.find(bits) != nullptr; }

    /// Puts a message among the unexpected ones.
    void keep(Incoming *in)
    {
        ++arrivals_;
        unexpected_.push_back(in);
    }
    void remove(Incoming *in) { unexpected_.remove(in); }
    /// The oldest unexpected message with (bits & mask) == info, which stays; or nullptr.
    Incoming *probe(uint64_t info, uint64_t mask) { return unexpected_.find(info, mask); }
    Incoming *first_unexpected() const { return unexpected_.front(); }
    static Incoming *next_unexpected(const Incoming *in) { return in->hook.next; }
    /// Messages that nobody had posted a receive for, until now.
    uint64_t arrivals() const { return arrivals_; }

    /// From now on messages that nobody waits for are not taken while others of so many bytes are held; 0:
    /// they are. Before anything was received.
    void set_bound(uint64_t bytes) { bytes_max_ = bytes; }
    bool is_bounded() const { return bytes_max_ != 0; }
    bool is_full() const { return bytes_ >= bytes_max_; }
    /// Counts a message as unexpected, if these are bounded.
    void charge(Incoming *in)
    {
        if (is_bounded())
            bytes_ += in->held = static_cast<uint32_t>(sizeof *in) + (in->rendezvous ? 0 : in->msg.msg_len);
    }
    /// It is unexpected no longer.
    void discharge(Incoming *in) { bytes_ -= std::exchange(in->held, 0); }

    /// The one handler of unexpected messages, of whichever layer; empty: none.
    void set_handler(UnexpHandler handler) { handler_ = std::move(handler); }
    const UnexpHandler &handler() const { return handler_; }

private:
    PostedQueue posted_;
    IndexedFifo<Incoming, &Incoming::hook, &Incoming::match> unexpected_;
    uint64_t arrivals_ = 0;
    uint64_t bytes_max_ = 0, bytes_ = 0; ///< of unexpected messages; 0: no bound, nor are they counted
    UnexpHandler handler_;
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Partners with acks to act upon and acks owed, from one pass to the next (wire specification, 8.2).
#pragma once

#include "libmx/partner/partner.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace emx {

/// Not thread-safe (the endpoint's lock); owns no partner. Everything is inline: each message comes by.
class AckLists {
public:
    /// Messages of a partner that are taken before an ack leaves at once.
    void set_messages_per_ack(int messages) { messages_per_ack_ = messages; }
    int messages_per_ack() const { return messages_per_ack_; }

    /// Notes an ack that a message carried, to be acted upon by take().
    void note(Partner *partner, uint16_t ack)
    {
        if (!seq::acks(ack, partner->sender.ack_seen, partner->sender.next)) [[unlikely]]
            return;
        partner->sender.ack_seen = ack;
        if (!partner->lists.acked) [[likely]] {
            partner->lists.acked = true;
            partner->lists.acked_next = std::exchange(acked_, partner);
        }
    }
    bool any_noted() const { return acked_ != nullptr; }
    /// Calls `act` for each partner whose acks were noted, and forgets them. `act` may note others.
    template <class F>
    [[gnu::always_inline]] void take(F act)
    {
        while (Partner *partner = acked_) {
            acked_ = partner->lists.acked_next;
            partner->lists.acked = false;
            act(partner);
        }
    }

    /// An ack is owed since a time that the next empty poll reads: the fast path does not read the clock.
    void stamp_later(Partner *partner)
    {
        if (partner->receiver.ack_since_ns == 0 && !partner->lists.unstamped) {
            partner->lists.unstamped = true;
            partner->lists.unstamped_next = std::exchange(unstamped_, partner);
        }
    }
    bool any_unstamped() const { return unstamped_ != nullptr; }
    /// Dates what is owed; returns whether that was anything.
    bool stamp(uint64_t time_ns)
    {
        bool any = false;
        while (Partner *partner = unstamped_) {
            unstamped_ = partner->lists.unstamped_next;
            partner->lists.unstamped = false;
            if (!partner->receiver.owes_ack() || partner->receiver.ack_since_ns)
                continue;
            partner->receiver.ack_since_ns = time_ns;
            any = true;
        }
        return any;
    }

    /// The partner is acknowledged at the end of the pass, by an ack or a report.
    void send_soon(Partner *partner) { due_.push_back(partner); }
    /// All that is owed and not dated yet is sent at the end of the pass.
    [[gnu::noinline]] void hurry()
    {
        for (Partner *partner = unstamped_; partner; partner = partner->lists.unstamped_next)
            if (partner->receiver.owes_ack()) {
                partner->receiver.owe_now();
                send_soon(partner);
            }
    }
    bool any_due() const { return !due_.empty(); }
    const std::vector<Partner *> &due() const { return due_; }
    /// Calls `send` for each partner that is due and still owed something.
    template <class F>
    void send_due(F send)
    {
        for (Partner *partner : due_)
            if (partner->receiver.is_due())
                send(partner);
        due_.clear();
    }

private:
    Partner *acked_ = nullptr; ///< whose ack_seen is to be acted upon
    Partner *unstamped_ = nullptr; ///< owe an ack since a time not read yet
    std::vector<Partner *> due_; ///< to be acknowledged at the end of the pass
    int messages_per_ack_ = 1;
};

} // namespace emx

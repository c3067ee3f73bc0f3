// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A partner: one life (session) of a remote endpoint as one local endpoint sees it, with the
// reliability state of both directions (wire specification, sections 7 and 8).
//
// A new session of the same endpoint is a new Partner; of the old one a tombstone stays if a program may
// hold its address (table.hpp; API specification, 1.9).
#pragma once

#include "libmx/partner/connector.hpp"
#include "libmx/partner/life.hpp"
#include "libmx/partner/receiver.hpp"
#include "libmx/partner/sender.hpp"
#include "libmx/partner/way.hpp"

#include "myriexpress.h"

#include <cstdint>

namespace emx {

struct Partner;

/// Places of a partner in lists of its endpoint.
struct PartnerLinks {
    bool active = false; ///< in the table's list of partners with timers
    bool acked = false; ///< in AckLists: ack_seen is to be acted upon
    bool unstamped = false; ///< in AckLists: owes an ack without a time
    Partner *acked_next = nullptr;
    Partner *unstamped_next = nullptr;
    Partner *active_prev = nullptr, *active_next = nullptr;
};

/// Counters of the newest of those packets, sent and taken.
struct PartnerCounters {
    uint32_t ack_tx = 0, ack_rx = 0;
    uint32_t report_tx = 0, report_rx = 0;
};

/// Begins with what each message touches.
struct alignas(64) Partner {
    mx_endpoint_addr_t address{}; ///< of this life, see Endpoint::set_session
    uint32_t peer = 0;
    uint32_t index = 0; ///< in the endpoint's table; part of addresses
    uint32_t session = EMX_SESSION_NONE;
    uint8_t remote_ep = 0;
    bool self = false; ///< our own address, reached without the device
    bool named = false; ///< the program may have its address in other ways than from a message
    bool first_life = false; ///< nothing of that endpoint was known before
    Life life;
    Way way;
    PartnerLinks lists;
    Receiver receiver;
    Sender sender;
    Connector connector;
    PartnerCounters counters;
    uint64_t nic_id = 0;
    void *user_context = nullptr;
    uint32_t pulls = 0; ///< under way from it

    /// Its address may be in the hands of the program.
    bool is_known() const { return named || receiver.has_heard_message(); }
    /// Nothing of it is worth remembering: it never spoke, nor did we but to ask.
    bool is_blank() const { return first_life && !sender.is_open() && !is_known(); }
    /// Something is owed to it or expected from it: its timers are served.
    bool busy() const
    {
        return connector.is_asking() || !sender.unacked.empty() || !sender.waiting.empty() || sender.rndv ||
               receiver.partial || receiver.owes_ack();
    }
    /// The window has room for a message, and data may flow.
    bool may_send(const TxMessage *tx) const
    {
        if (!life.is_connected()) [[unlikely]]
            return false;
        return sender.has_room(tx->frames);
    }
    /// The same, and it need not wait for others to share a frame with.
    bool may_leave(const TxMessage *tx) const
    {
        if (!life.is_connected()) [[unlikely]]
            return false;
        return sender.leaves_at_once(tx->frames);
    }
    /// It may share a frame with others, of which two always fit.
    bool may_share(const TxMessage *tx) const { return way.pack_bytes && tx->is_short(way.packed_max); }
};
static_assert(sizeof(Partner) < 512, "a partner costs less than 1 KiB, its place in the tables included");

} // namespace emx

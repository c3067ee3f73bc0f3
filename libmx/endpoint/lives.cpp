// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Lives of partners: how each begins, what it takes over from the one before, and the index of its peer
// (wire specification, 7.6 and 8.6).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <algorithm>
#include <memory>

namespace emx {

namespace {

/// Limits messages to a partner with a pinned dialect to the lengths of that dialect.
void take_dialect(Partner *partner, uint16_t speaks)
{
    fw_sizes own{};
    if (speaks == FW_SPEAKS_BOARD || fw_sizes_spoken(&own, speaks) != 0)
        return;
    partner->way.medium_bytes = own.frag;
    partner->way.eager_max = std::min(partner->way.eager_max, own.medium_max);
}

/// True if the stranger has taken nothing since it was told to count with other session bits, nor sent
/// packets with them: it has not given up. There are but four: those after them would come round to its own.
bool is_deaf(const Partner *partner)
{
    return partner->connector.doubt.is_deaf(partner->session) && !partner->receiver.has_heard_message() &&
           partner->sender.oldest == partner->sender.first;
}

} // namespace

void Endpoint::set_session(Partner *partner, uint32_t session)
{
    partner->session = session;
    // stuff[0]: nic id, endpoint number, low bits of our handle's generation; stuff[1]: session, our slot,
    // partner index + 1. So an address leads to its partner without an endpoint (API specification, 1.9).
    mx_endpoint_addr_t &address = partner->address;
    address.stuff[0] = partner->nic_id << 16 | uint64_t{partner->remote_ep} << 8 | (slot_.generation & 0xff);
    address.stuff[1] = uint64_t{session} << 32 | uint64_t{identity_.slot_index} << 22 | (partner->index + 1);
}

Partner *Endpoint::add_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partners_.add(std::make_unique<Partner>());
    partner->peer = peer;
    partner->nic_id = nic_id;
    partner->remote_ep = remote_ep;
    const auto shared = static_cast<uint32_t>(instance_.conf().shared_rndv_threshold);
    const bool local = peer != ~uint32_t{0} && port_->peer_is_local(peer);
    partner->sender.patience_ns = uint64_t(instance_.conf().resend_ms) * 1000000;
    partner->sender.flight.open(static_cast<uint32_t>(instance_.conf().window_frames));
    partner->way.local = partner->way.detour = local;
    partner->way.eager_max =
        local && shared ? std::min(shared, identity_.board.medium_max) : identity_.eager_max;
    partner->way.medium_bytes = identity_.board.frag;
    if (peer != ~uint32_t{0})
        take_dialect(partner, port_->peer_speaks(peer));
    set_session(partner, EMX_SESSION_NONE);
    // A coarse clock: a peer that remembers an older life of ours must not find our counter too low (7.6).
    partner->counters.ack_tx =
        std::max(static_cast<uint32_t>(now() >> 20) & 0x3fffffff, instance_.ack_counter_floor());
    return partner;
}

Partner *Endpoint::renew_partner(Partner *old)
{
    Partner *partner = add_partner(old->peer, old->nic_id, old->remote_ep);
    // When only the peer restarted we go on counting, since it adopts whatever we advertise (7.6). After
    // giving up or disconnecting, other session bits tell a peer of ours to count anew. A stranger that has
    // not given up, too, keeps its numbers and drops all that bears other bits (8.1, 8.6): it gets what it
    // counts with, unless it waits for the end of messages that we threw away, which only other bits tell it
    // of, or may hold messages of the old life, whose numbers new ones would get: see Doubt::remains().
    const bool given_up = old->life.dead_code() == MX_STATUS_ENDPOINT_UNREACHABLE;
    const bool deaf = given_up && is_deaf(old);
    const bool goes_on = !old->way.offer && !old->life.was_cut_short();
    Doubt &doubt = partner->connector.doubt;
    if (deaf)
        doubt.inherit_deafness(old->connector.doubt);
    else if (given_up && goes_on && old->sender.oldest != old->sender.next)
        doubt.begin(old->session, old->sender.next);
    else if (given_up && goes_on)
        doubt.inherit(old->connector.doubt);
    else if (given_up && !old->way.offer)
        doubt.tell_other_bits(old->session);
    const uint16_t number = old->receiver.next;
    partner->receiver.count_from(given_up && !goes_on && !deaf ? seq::next_session(number) : number);
    partner->connector.succeed(old->connector);
    partner->counters.ack_tx = old->counters.ack_tx;
    partner->counters.report_tx = old->counters.report_tx;
    partners_.set_latest(partner);
    return partner;
}

/// Strangers fill the table of peers with addresses that nobody has, and their places are taken again. So an
/// index is a board's only while an endpoint keeps it: from when the program asks for the board, or the board
/// shows that it hears us, until its last partner here is dead.
bool Endpoint::keep_peer(Partner *partner)
{
    if (partner->life.is_kept())
        return true;
    const bool ours = kept_.has(partner->peer) ? port_->peer_nic_id(partner->peer) == partner->nic_id
                                               : port_->keep_peer(partner->peer, partner->nic_id);
    if (!ours)
        return false;
    kept_.add(partner->peer);
    partner->life.keep();
    return true;
}

void Endpoint::release_peer(Partner *partner)
{
    if (partner->life.release() && kept_.remove(partner->peer))
        port_->release_peer(partner->peer);
}

} // namespace emx

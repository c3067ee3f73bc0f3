// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Lives of partners: those known, the order of lives, and the end of each (wire specification,
// 7.6 and 8.6).
#include "libmx/endpoint.hpp"
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

Partner *Endpoint::add_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partners_.add(std::make_unique<Partner>());
    partner->peer = peer;
    partner->nic_id = nic_id;
    partner->remote_ep = remote_ep;
    const auto shared = static_cast<uint32_t>(context_.conf().shared_rndv_threshold);
    const bool local = peer != ~uint32_t{0} && port_->peer_is_local(peer);
    partner->sender.patience_ns = uint64_t(context_.conf().resend_ms) * 1000000;
    partner->sender.flight.open(static_cast<uint32_t>(context_.conf().window_frames));
    partner->way.local = local;
    partner->way.eager_max =
        local && shared ? std::min(shared, identity_.board.medium_max) : identity_.eager_max;
    partner->way.medium_bytes = identity_.board.frag;
    if (peer != ~uint32_t{0})
        take_dialect(partner, port_->peer_speaks(peer));
    set_session(partner, EMX_SESSION_NONE);
    // A coarse clock: a peer that remembers an older life of ours must not find our counter too low (7.6).
    partner->counters.ack_tx =
        std::max(static_cast<uint32_t>(now() >> 20) & 0x3fffffff, context_.ack_counter_floor());
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

/// Frees the lives that ended, but for those which something of ours points to. No caller of it may hold a
/// partner. A message that the handler looks at stands in no queue: then it does nothing.
void Endpoint::sweep_partners()
{
    if (!partners_.is_sweep_due() || gate_.handler_runs())
        return;
    take_acks();
    stamp_acks(now());
    partners_.begin_sweep();
    requests_.each([](const Request *request) {
        if (request->partner)
            request->partner->life.need();
    });
    for (Incoming *in = matcher_.first_unexpected(); in; in = Matcher::next_unexpected(in))
        in->partner->life.need();
    for (const Incoming *in = accepted_.front(); in; in = in->next)
        in->partner->life.need();
    for (Partner *partner : acks_.due())
        partner->life.need();
    partners_.sweep();
}

/// Another life of that endpoint showed itself. What went to the old one fails with `code`; the connects
/// under way go on, as it is the new one that answers them.
Partner *Endpoint::replace_partner(Partner *old, int code)
{
    Connector connects;
    connects.take_requests(old->connector);
    const bool kept = old->life.release();
    fail_partner(old, code, false);
    Partner *partner = renew_partner(old);
    partner->life.inherit(kept);
    partner->connector.doubt.end_deafness();
    // They named these numbers, which the new life takes for its own.
    partner->receiver.count_from(old->receiver.next);
    partner->connector.take_requests(connects);
    for (PendingConnect *connect = partner->connector.first(); connect; connect = connect->next)
        if (connect->request)
            connect->request->partner = partner;
    if (partner->connector.is_asking())
        partners_.activate(partner);
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

/// Makes room for another partner: the oldest goes that never showed that it hears us. False: there is none.
bool Endpoint::drop_half_open()
{
    Partner *partner = partners_.take_half_open();
    if (partner)
        fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    return partner != nullptr;
}

/// The latest life of that endpoint; nullptr when none is known, or one of another board that had the index.
Partner *Endpoint::partner_of(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partners_.find(peer, remote_ep);
    if (!partner || partner->life.is_kept() || partner->nic_id == nic_id)
        return partner;
    fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    return nullptr;
}

Partner *Endpoint::living_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partner_of(peer, nic_id, remote_ep);
    if (partner && !partner->life.is_dead())
        return partner;
    const auto most = static_cast<std::size_t>(context_.conf().partners_max);
    if (!partners_.has_index() || (!partner && partners_.size() >= most && !drop_half_open())) {
        count(EMX_CNT_DROP_CONNECT_ROOM);
        return nullptr;
    }
    if (partner)
        return renew_partner(partner);
    partner = add_partner(peer, nic_id, remote_ep);
    partners_.set_latest(partner);
    return partner;
}

/// The partner that the program asks for; nullptr with error filled.
Partner *Endpoint::partner_to_ask(uint64_t nic_id, uint8_t remote_ep, int patience_ms, DeviceError &error)
{
    constexpr int tries_max = 8; // a flood may take the place again, before it is ours
    for (int tries = 0; tries < tries_max; tries++) {
        const std::optional<uint32_t> peer = port_->find_peer(nic_id, patience_ms, error);
        if (peer)
            error = {MX_NO_RESOURCES, {}};
        Partner *partner = peer ? living_partner(*peer, nic_id, remote_ep) : nullptr;
        if (!partner || keep_peer(partner))
            return partner;
        fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    }
    return nullptr;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The partner that a frame or a program names: found, made, replaced by its next life, swept away
// (wire specification, 7.6 and 8.6).
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

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
    for (Partner *partner : held_)
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
    const auto most = static_cast<std::size_t>(instance_.conf().partners_max);
    if (!partners_.has_index() || (!partner && partners_.size() >= most && !drop_half_open())) {
        drop(EMX_CNT_DROP_CONNECT_ROOM);
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

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Connect requests: sent, answered with an agreement on the extension, ended (wire specification, section 7).
//
// A peer that connects to us gets a request of ours at once, and data waits for the answer to it: an
// Open-MX peer that never saw our request would acknowledge with an invalid session, and one that sees
// it after our first data would count from 1 again (7.5).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/offer.hpp"

namespace emx {

PendingConnect *Endpoint::add_connect(Partner *partner, uint32_t key, Request *request)
{
    partners_.activate(partner);
    return partner->connector.add(key, request, now());
}

void Endpoint::start_connect(Partner *partner, uint32_t key, Request *request)
{
    send_connect(partner, *add_connect(partner, key, request));
}

/// The partner itself is asked for what a frame that anyone may have sent says of it, by a CONNECT, which
/// every life answers, or its host refuses. One inquiry at a time, and each life so many a second.
PendingConnect *Endpoint::inquire(Partner *partner, int code)
{
    if (PendingConnect *inquiry = partner->connector.inquiry())
        return inquiry;
    if (!partner->connector.may_inquire(now())) {
        drop(EMX_CNT_DROP_ANSWER);
        return nullptr;
    }
    PendingConnect *inquiry = add_connect(partner, identity_.key, nullptr);
    inquiry->inquiry = true;
    inquiry->code = code;
    send_connect(partner, *inquiry);
    return inquiry;
}

void Endpoint::send_connect(Partner *partner, PendingConnect &connect)
{
    emx_msg msg{};
    msg.type = EMX_CONNECT;
    msg.remote_ep = partner->remote_ep;
    msg.peer = partner->peer;
    msg.session = identity_.session;
    msg.u.connect.session = identity_.session;
    msg.u.connect.key = connect.key;
    msg.u.connect.start = partner->receiver.next;
    msg.u.connect.number = connect.number;
    msg.match = own_offer();
    if (connect.inquiry) { // a refusal copies the number: who has not seen it cannot forge one
        connect.nonce = static_cast<uint16_t>(instance_.device().random() % 0xffff + 1);
        msg.seq = connect.nonce;
    }
    connect.sent_ns = now();
    clock_.arm(connect.sent_ns + uint64_t(instance_.conf().resend_ms) * 1000000);
    port_->send(msg, nullptr);
}

void Endpoint::connect_back(Partner *partner)
{
    if (!partner->sender.is_open() && !partner->connector.is_asking())
        start_connect(partner, identity_.key, nullptr);
}

uint64_t Endpoint::own_offer() const { return make_offer(instance_.conf(), identity_.board, *port_); }

/// The session that answered our request made that offer: it has seen ours.
void Endpoint::agree(Partner *partner, uint64_t offer)
{
    if (partner->way.offer || !agreed_version(own_offer(), offer))
        return;
    partner->way.offer = offer;
    if (instance_.conf().checksum)
        partner->way.offer |= emx_offer(0, 0, EMX_X_SUMS, 0, 0);
    choose_fragments(partner);
    choose_packs(partner);
    partner->sender.flight.bound(emx_offer_frames(offer));
    if (partner->way.takes_reports())
        partner->sender.patience_ns = partner->sender.round_trip.patience_ns();
    count(EMX_CNT_EXTENSION_AGREED);
}

/// Whoever asked for it does not wait any longer. A peer whose own request we have taken is still to be
/// asked: what goes to it waits for the answer.
void Endpoint::abandon_connect(Partner *partner, PendingConnect *connect)
{
    partner->connector.drop(connect);
    if (partner->life.is_connected() || partner->life.is_half_open())
        connect_back(partner);
}

void Endpoint::complete_connect(Partner *partner, PendingConnect *connect, int code)
{
    Request *request = connect->request;
    partner->connector.drop(connect);
    if (!request)
        return;
    if (code == MX_STATUS_SUCCESS) {
        request->partner = partner;
        partner->named = true;
    }
    completions_.complete(request, code);
}

} // namespace emx

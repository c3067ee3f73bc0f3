// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Handshakes: connect requests and replies that come, and what they change (wire specification, section 7).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/offer.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

Request *Endpoint::post_connect(uint64_t nic_id, uint32_t remote_ep, uint32_t key, uint64_t match,
                                void *context, bool hidden, int patience_ms, DeviceError &error)
{
    bool own = nic_id == identity_.board.nic_id && remote_ep == number() && !instance_.conf().disable_self;
    if (!own && identity_.gone) {
        error = {MX_NO_DEV, {}};
        return nullptr;
    }
    if (!own && remote_ep >= EMX_ENDPOINTS_MAX && !port_->find_peer(nic_id, patience_ms, error))
        return nullptr;
    sweep_partners();
    Partner *partner = nullptr;
    if (!own && remote_ep < EMX_ENDPOINTS_MAX) {
        partner = partner_to_ask(nic_id, static_cast<uint8_t>(remote_ep), patience_ms, error);
        if (!partner)
            return nullptr;
    }
    Request *request = requests_.allocate(RequestKind::connect);
    if (!request) {
        error = {MX_NO_RESOURCES, {}};
        return nullptr;
    }
    request->match = match;
    request->context = context;
    request->hidden = hidden;
    if (const uint64_t budget_ns = completions_.default_budget_ns())
        set_timeout(request, static_cast<uint32_t>(budget_ns / 1000000));
    if (own) {
        request->partner = self();
        completions_.complete(request, key == identity_.key ? MX_STATUS_SUCCESS : MX_STATUS_BAD_KEY);
    } else if (remote_ep >= EMX_ENDPOINTS_MAX) {
        completions_.complete(request, MX_STATUS_BAD_ENDPOINT);
    } else {
        request->partner = partner;
        start_connect(partner, key, request);
    }
    return request;
}

namespace {

/// The sender of that request took another session, or counts anew: all that went to the life we know is
/// lost; or what merely comes late says so.
bool tells_of_another_life(const Partner *partner, const emx_msg &request)
{
    if (partner->session == EMX_SESSION_NONE)
        return false;
    return partner->session != request.u.connect.session ||
           !seq::same_session(request.u.connect.start, partner->sender.next);
}

} // namespace

void Endpoint::take_session(Partner *partner, uint32_t session, uint16_t start, bool is_reply)
{
    // The contents of a peer's request may be older than its reply to ours, which resets it (7.3, 7.6).
    bool fresh = partner->session != session;
    bool reset = !fresh && !seq::same_session(start, partner->sender.next);
    if (reset) { // the peer gave up on us without restarting (8.6): it counts anew
        // Its news of requests before may be older, and does not count.
        partner->connector.renumber_all();
        take_acks();
        fail_sends(partner, MX_STATUS_ENDPOINT_UNREACHABLE);
        fail_incoming(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
        early_.drop(partner->receiver.early);
        partner->counters.ack_rx = 0;
        partner->connector.doubt.end_deafness();
    }
    if (fresh || reset || (!partner->sender.is_used() && (is_reply || !partner->sender.is_open())))
        partner->sender.count_from(start);
    set_session(partner, session);
    if (!partner->life.is_kept() && !partner->life.is_half_open())
        partners_.note_half_open(partner);
    partner->life.open();
}

void Endpoint::on_connect_request(const emx_msg &msg)
{
    if (msg.u.connect.session == EMX_SESSION_NONE)
        return drop(EMX_CNT_DROP_CONNECT);
    sweep_partners();
    const uint64_t nic_id = port_->peer_nic_id(msg.peer);
    Partner *partner = partner_of(msg.peer, nic_id, msg.remote_ep);
    const bool is_alive = partner && !partner->life.is_dead();
    const bool key_fits = msg.u.connect.key == identity_.key;
    if (is_alive && tells_of_another_life(partner, msg)) {
        if (PendingConnect *inquiry = inquire(partner, MX_STATUS_BAD_SESSION))
            inquiry->asked = msg; // answered when the partner has confirmed it
        return;
    }
    // Nothing but its frame says yet that it is there at all.
    const bool is_stranger = !is_alive || !partner->sender.is_open() || !key_fits;
    if (is_stranger && !fw_may_answer(&answers_[key_fits], now()))
        return drop(EMX_CNT_DROP_ANSWER);
    if (!is_alive) {
        partner = key_fits ? living_partner(msg.peer, nic_id, msg.remote_ep) : nullptr;
        if (key_fits && !partner)
            return;
    }
    answer_request(partner, msg);
}

/// Nothing of ours contradicts the request. `partner`: nullptr when it has the wrong key and nobody is known
/// there; of a partner that is known, a wrong key changes nothing.
void Endpoint::answer_request(Partner *partner, const emx_msg &msg)
{
    const uint32_t session = msg.u.connect.session;
    const bool key_fits = msg.u.connect.key == identity_.key;
    if (partner && key_fits)
        take_session(partner, session, msg.u.connect.start, false);
    emx_msg reply{};
    reply.type = EMX_CONNECT;
    reply.remote_ep = msg.remote_ep;
    reply.peer = msg.peer;
    reply.session = session;
    reply.u.connect.session = identity_.session;
    reply.u.connect.start = partner ? partner->receiver.next : 1;
    reply.u.connect.is_reply = 1;
    reply.u.connect.number = msg.u.connect.number;
    // A partner that made no offer gets none: it is a stranger, or older.
    reply.match = partner && agreed_version(own_offer(), msg.match) ? own_offer() : 0;
    reply.u.connect.status = key_fits ? EMX_CONNECT_OK : EMX_CONNECT_BAD_KEY;
    port_->send(reply, nullptr);
    if (!partner || !key_fits)
        return;
    partner->receiver.heard_a_frame();
    connect_back(partner);
    pump(partner);
}

/// The answer to an inquiry is there: the request that it was about is answered if it agrees.
void Endpoint::answer_asked(Partner *partner, const emx_msg &asked, const emx_msg &reply)
{
    if (asked.type == EMX_CONNECT && asked.u.connect.session == reply.u.connect.session &&
        seq::same_session(asked.u.connect.start, reply.u.connect.start))
        answer_request(partner, asked);
    else if (asked.type == EMX_CONNECT)
        drop(EMX_CNT_DROP_CONNECT);
}

void Endpoint::on_connect_reply(const emx_msg &msg)
{
    sweep_partners();
    Partner *partner = partner_of(msg.peer, port_->peer_nic_id(msg.peer), msg.remote_ep);
    PendingConnect *connect = partner ? partner->connector.find(msg.u.connect.number) : nullptr;
    uint8_t status = msg.u.connect.status;
    if (partner && !connect && partner->connector.asked_before(msg.u.connect.number))
        return drop(EMX_CNT_DROP_SEQUENCE);
    if (!connect || (status != EMX_CONNECT_OK && status != EMX_CONNECT_BAD_KEY) ||
        msg.u.connect.session == EMX_SESSION_NONE || !keep_peer(partner))
        return drop(EMX_CNT_DROP_CONNECT);
    partner->receiver.heard_a_frame();
    // A refusal tells the session, too.
    const bool other_life = partner->session != EMX_SESSION_NONE && partner->session != msg.u.connect.session;
    if (other_life && !partners_.has_index())
        return drop(EMX_CNT_DROP_CONNECT_ROOM);
    if (other_life)
        partner = replace_partner(partner, partner->connector.code_of_end());
    const emx_msg asked = connect->asked;
    if (status == EMX_CONNECT_BAD_KEY) {
        answer_asked(partner, asked, msg);
        if (partner->session != EMX_SESSION_NONE)
            partner->sender.open();
        complete_connect(partner, connect, MX_STATUS_BAD_KEY);
        return pump(partner);
    }
    const bool doubt = partner->connector.doubt.remains(msg.u.connect.session, msg.u.connect.start);
    partner->connector.doubt.end_doubt();
    if (doubt)
        return tell_other_bits(partner, *connect, msg.u.connect.session);
    take_session(partner, msg.u.connect.session, msg.u.connect.start, true);
    agree(partner, msg.match);
    partner->sender.open();
    complete_connect(partner, connect, MX_STATUS_SUCCESS);
    pump(partner);
    answer_asked(partner, asked, msg);
}

/// The stranger's numbers may be those of messages of an older life: it is told to count with other bits.
void Endpoint::tell_other_bits(Partner *partner, PendingConnect &connect, uint32_t session)
{
    fail_incoming(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false); // it repeats nothing that we take
    early_.drop(partner->receiver.early);
    partner->connector.doubt.tell_other_bits(session);
    partner->named |= partner->is_known();
    partner->receiver.heard = Receiver::heard_frame;
    partner->receiver.count_from(seq::next_session(partner->receiver.next));
    partner->connector.renumber(&connect); // answers to what was asked before do not count
    send_connect(partner, connect);
}

} // namespace emx

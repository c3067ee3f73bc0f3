// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Connecting: requests, replies, connecting back, and lives of partners (wire specification, section 7).
//
// A peer that connects to us gets a request of ours at once, and data waits for the answer to it: an
// Open-MX peer that never saw our request would acknowledge with an invalid session, and one that sees
// it after our first data would count from 1 again (7.5).
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

namespace {

/// The newest version of the extension that both offers speak; 0: none, as when one is no offer.
uint8_t agreed_version(uint64_t ours, uint64_t theirs)
{
    const uint8_t version = std::min(emx_offer_newest(ours), emx_offer_newest(theirs));
    return version >= emx_offer_oldest(ours) && version >= emx_offer_oldest(theirs) ? version : 0;
}

/// A partner whose board is spoken to in a dialect of its own is sent what that can carry.
void take_dialect(Partner *partner, uint16_t speaks)
{
    fw_sizes own{};
    if (speaks == FW_SPEAKS_BOARD || fw_sizes_spoken(&own, speaks) != 0)
        return;
    partner->frag = own.frag;
    partner->eager_max = std::min(partner->eager_max, own.medium_max);
}

} // namespace

Partner *Endpoint::look_up_partner(uint32_t peer, uint8_t remote_ep)
{
    Partner *partner = partners_.latest(peer, remote_ep);
    if (partner)
        last_partner_ = partner;
    return partner;
}

Partner *Endpoint::add_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partners_.add(std::make_unique<Partner>());
    partner->peer = peer;
    partner->nic_id = nic_id;
    partner->remote_ep = remote_ep;
    const auto shared = static_cast<uint32_t>(context_.conf().shared_rndv_threshold);
    const bool local = peer != ~uint32_t{0} && port_->peer_is_local(peer);
    partner->patience_ns = uint64_t(context_.conf().resend_ms) * 1000000;
    partner->flight.open(static_cast<uint32_t>(context_.conf().window_frames));
    partner->local = local;
    partner->eager_max = local && shared ? std::min(shared, board_.medium_max) : eager_max_;
    partner->frag = board_.frag;
    if (peer != ~uint32_t{0})
        take_dialect(partner, port_->peer_speaks(peer));
    set_session(partner, EMX_SESSION_NONE);
    // A coarse clock: a peer that remembers an older life of ours must not find our counter too low (7.6).
    partner->ack_counter_tx =
        std::max(static_cast<uint32_t>(now() >> 20) & 0x3fffffff, context_.ack_counter_floor());
    return partner;
}

namespace {

void count_from(Partner *partner, uint16_t number)
{
    partner->rx_match = partner->rx_done = partner->rx_acked = number;
}

/// True if a stranger that answers may hold messages of the old life beyond a gap: it counts as then, and has
/// not taken all of them. Then only other session bits keep new messages apart from those.
bool leaves_doubt(const Partner *partner, uint32_t session, uint16_t start)
{
    const bool same_life = partner->doubt_session == session && seq::same_session(start, partner->doubt_next);
    return same_life && start != partner->doubt_next;
}

/// True if the stranger has taken nothing since it was told to count with other session bits, nor sent what
/// bears them: it has not given up. There are but four: those after them would come round to its own.
bool is_deaf(const Partner *partner)
{
    const bool same_life = partner->session == EMX_SESSION_NONE || partner->session == partner->deaf_session;
    return partner->deaf_session != EMX_SESSION_NONE && same_life &&
           !(partner->heard & Partner::heard_message) && partner->tx_oldest == partner->tx_first;
}

} // namespace

Partner *Endpoint::renew_partner(Partner *old)
{
    Partner *partner = add_partner(old->peer, old->nic_id, old->remote_ep);
    // When only the peer restarted we go on counting, since it adopts whatever we advertise (7.6). After
    // giving up or disconnecting, other session bits tell a peer of ours to count anew. A stranger that has
    // not given up, too, keeps its numbers and drops all that bears other bits (8.1, 8.6): it gets what it
    // counts with, unless it waits for the end of messages that we threw away, which only other bits tell it
    // of, or may hold messages of the old life, whose numbers new ones would get: see leaves_doubt().
    const bool given_up = old->dead_code == MX_STATUS_ENDPOINT_UNREACHABLE;
    const bool deaf = given_up && is_deaf(old);
    const bool goes_on = !old->offer && !old->cut_short;
    if (deaf)
        partner->deaf_session = old->deaf_session;
    else if (given_up && !goes_on && !old->offer)
        partner->deaf_session = old->session;
    count_from(partner, given_up && !goes_on && !deaf ? seq::next_session(old->rx_match) : old->rx_match);
    if (given_up && goes_on && !deaf) {
        const bool unknown = old->tx_oldest != old->tx_next;
        partner->doubt_session = unknown ? old->session : old->doubt_session;
        partner->doubt_next = unknown ? old->tx_next : old->doubt_next;
    }
    partner->connect_number = old->connect_number;
    partner->ack_counter_tx = old->ack_counter_tx;
    partner->report_tx = old->report_tx;
    partners_.set_latest(partner);
    last_partner_ = partner;
    return partner;
}

/// Frees the lives that ended, but for those which something of ours points to. No caller of it may hold a
/// partner. A message that the handler looks at stands in no queue: then it does nothing.
void Endpoint::sweep_partners()
{
    if (!partners_.is_sweep_due() || in_handler_)
        return;
    take_acks();
    stamp_acks(now());
    last_partner_ = nullptr;
    for (Partner *partner : partners_.retired()) {
        partner->needed = false;
        if (partner->active)
            unlink_active(partner);
    }
    requests_.each([](const Request *request) {
        if (request->partner)
            request->partner->needed = true;
    });
    for (Incoming *in = unexpected_.front(); in; in = unexpected_.next(in))
        in->partner->needed = true;
    for (const Incoming *in = accepted_; in; in = in->next)
        in->partner->needed = true;
    for (Partner *partner : due_acks_)
        partner->needed = true;
    partners_.sweep();
}

/// Another life of that endpoint showed itself. What went to the old one fails with `code`; the connects
/// under way go on, as it is the new one that answers them.
Partner *Endpoint::replace_partner(Partner *old, int code)
{
    PendingConnect *connects = std::exchange(old->connects, nullptr);
    const bool kept = std::exchange(old->kept, false);
    fail_partner(old, code, false);
    Partner *partner = renew_partner(old);
    partner->kept = kept;
    partner->deaf_session = EMX_SESSION_NONE;
    // They named these numbers, which the new life takes for its own.
    count_from(partner, old->rx_match);
    partner->connects = connects;
    for (PendingConnect *connect = connects; connect; connect = connect->next)
        if (connect->request)
            connect->request->partner = partner;
    if (connects)
        activate(partner);
    return partner;
}

/// Strangers fill the table of peers with addresses that nobody has, and their places are taken again. So an
/// index is a board's only while an endpoint keeps it: from when the program asks for the board, or the board
/// shows that it hears us, until its last partner here is dead.
bool Endpoint::keep_peer(Partner *partner)
{
    if (partner->kept)
        return true;
    uint32_t &partners = kept_[partner->peer];
    const bool ours = partners != 0 ? port_->peer_nic_id(partner->peer) == partner->nic_id
                                    : port_->keep_peer(partner->peer, partner->nic_id);
    if (ours)
        ++partners;
    else if (partners == 0)
        kept_.erase(partner->peer);
    if (ours && partner->state == PartnerState::half_open)
        partner->state = PartnerState::connected;
    return partner->kept = ours;
}

void Endpoint::release_peer(Partner *partner)
{
    if (!std::exchange(partner->kept, false))
        return;
    const auto kept = kept_.find(partner->peer);
    if (--kept->second != 0)
        return;
    kept_.erase(kept);
    port_->release_peer(partner->peer);
}

void Endpoint::note_half_open(const Partner *partner)
{
    constexpr std::size_t spare = 64;
    half_open_.push_back(partner->index);
    if (half_open_.size() <= 2 * partners_.size() + spare)
        return;
    std::erase_if(half_open_, [this](uint32_t index) {
        const Partner *other = partners_.at(index);
        return !other || other->state != PartnerState::half_open;
    });
}

/// Makes room for another partner: the oldest goes that never showed that it hears us. False: there is none.
bool Endpoint::drop_half_open()
{
    while (!half_open_.empty()) {
        Partner *partner = partners_.at(half_open_.front());
        half_open_.pop_front();
        if (!partner || partner->state != PartnerState::half_open)
            continue;
        fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
        return true;
    }
    return false;
}

/// The latest life of that endpoint; nullptr when none is known, or one of another board that had the index.
Partner *Endpoint::partner_of(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = find_partner(peer, remote_ep);
    if (!partner || partner->kept || partner->nic_id == nic_id)
        return partner;
    fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    return nullptr;
}

Partner *Endpoint::living_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep)
{
    Partner *partner = partner_of(peer, nic_id, remote_ep);
    if (partner && partner->state != PartnerState::dead)
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
    last_partner_ = partner; // and not another board's, that had the index
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

Request *Endpoint::post_connect(uint64_t nic_id, uint32_t remote_ep, uint32_t key, uint64_t match,
                                void *context, bool hidden, int patience_ms, DeviceError &error)
{
    bool own = nic_id == board_.nic_id && remote_ep == number() && !context_.conf().disable_self;
    if (!own && gone_) {
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
    if (default_budget_ns_)
        set_timeout(request, static_cast<uint32_t>(default_budget_ns_ / 1000000));
    if (own) {
        request->partner = self();
        complete(request, key == key_ ? MX_STATUS_SUCCESS : MX_STATUS_BAD_KEY);
    } else if (remote_ep >= EMX_ENDPOINTS_MAX) {
        complete(request, MX_STATUS_BAD_ENDPOINT);
    } else {
        request->partner = partner;
        start_connect(partner, key, request);
    }
    return request;
}

PendingConnect *Endpoint::add_connect(Partner *partner, uint32_t key, Request *request)
{
    auto *connect = new PendingConnect;
    connect->request = request;
    connect->key = key;
    connect->number = partner->connect_number++;
    connect->first_ns = now();
    PendingConnect **end = &partner->connects;
    while (*end)
        end = &(*end)->next;
    *end = connect;
    activate(partner);
    return connect;
}

void Endpoint::start_connect(Partner *partner, uint32_t key, Request *request)
{
    send_connect(partner, *add_connect(partner, key, request));
}

namespace {

PendingConnect *inquiry_to(const Partner *partner)
{
    PendingConnect *connect = partner->connects;
    while (connect && !connect->inquiry)
        connect = connect->next;
    return connect;
}

/// The code of what fails when another life of the partner answers.
int code_of_end(const Partner *partner)
{
    const PendingConnect *inquiry = inquiry_to(partner);
    return inquiry ? inquiry->code : MX_STATUS_ENDPOINT_UNREACHABLE;
}

/// The sender of that request took another session, or counts anew: all that went to the life we know is
/// lost; or what merely comes late says so.
bool tells_of_another_life(const Partner *partner, const emx_msg &request)
{
    if (partner->session == EMX_SESSION_NONE)
        return false;
    return partner->session != request.u.connect.session ||
           !seq::same_session(request.u.connect.start, partner->tx_next);
}

} // namespace

/// The partner itself is asked for what a frame that anyone may have sent says of it, by a CONNECT, which
/// every life answers, or its host refuses. One inquiry at a time, and each life so many a second.
PendingConnect *Endpoint::inquire(Partner *partner, int code)
{
    if (PendingConnect *inquiry = inquiry_to(partner))
        return inquiry;
    constexpr uint32_t inquiries_max = 1000; // a restart needs one
    if (!fw_bucket_take(&partner->inquiries, now(), inquiries_max)) {
        count(EMX_CNT_DROP_ANSWER);
        return nullptr;
    }
    PendingConnect *inquiry = add_connect(partner, key_, nullptr);
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
    msg.session = session_;
    msg.u.connect.session = session_;
    msg.u.connect.key = connect.key;
    msg.u.connect.start = partner->rx_match;
    msg.u.connect.number = connect.number;
    msg.match = own_offer();
    if (connect.inquiry) { // a refusal copies the number: who has not seen it cannot forge one
        connect.nonce = static_cast<uint16_t>(context_.device().random() % 0xffff + 1);
        msg.seq = connect.nonce;
    }
    connect.sent_ns = now();
    timer_ns_ = std::min(timer_ns_, connect.sent_ns + uint64_t(context_.conf().resend_ms) * 1000000);
    port_->send(msg, nullptr);
}

void Endpoint::connect_back(Partner *partner)
{
    if (!partner->answered && !partner->connects)
        start_connect(partner, key_, nullptr);
}

void Endpoint::take_session(Partner *partner, uint32_t session, uint16_t start, bool is_reply)
{
    // The contents of a peer's request may be older than its reply to ours, which resets it (7.3, 7.6).
    bool fresh = partner->session != session;
    bool reset = !fresh && !seq::same_session(start, partner->tx_next);
    if (reset) { // the peer gave up on us without restarting (8.6): it counts anew
        // Its news of requests before may be older, and does not count.
        for (PendingConnect *connect = partner->connects; connect; connect = connect->next)
            connect->number = partner->connect_number++;
        take_acks();
        fail_sends(partner, MX_STATUS_ENDPOINT_UNREACHABLE);
        fail_incoming(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
        drop_early(partner);
        partner->ack_counter_rx = 0;
        partner->deaf_session = EMX_SESSION_NONE;
    }
    if (fresh || reset || (!partner->sent_any && (is_reply || !partner->answered))) {
        partner->tx_next = partner->tx_oldest = partner->ack_seen = partner->tx_first = start;
        partner->sent_any = false;
    }
    set_session(partner, session);
    if (!partner->kept && partner->state != PartnerState::half_open)
        note_half_open(partner);
    partner->state = partner->kept ? PartnerState::connected : PartnerState::half_open;
}

/// Our offer, 0 when the extension is turned off. The sender of fragments chooses those that pay.
uint64_t Endpoint::own_offer() const
{
    if (!context_.conf().extension)
        return 0;
    const uint32_t medium = EMX_OUTER_LEN + sizeof(emx_w_medium) + board_.frag;
    const uint32_t reply = EMX_OUTER_LEN + sizeof(emx_w_pull_reply) + board_.reply;
    const uint32_t longest = board_.x_frame ? board_.x_frame : std::max(medium, reply);
    uint16_t features = EMX_X_REPORTS;
    if (board_.x_frame)
        features |= EMX_X_PULLS;
    // A link that took shorter frames when the port was opened is offered none: partners would send longer
    // ones.
    if (const uint32_t fragment = port_->x_fragment(); fragment && fragment >= fw_x_frag_max(longest)) {
        features |= EMX_X_FRAGMENTS;
        if (context_.conf().checksum)
            features |= EMX_X_SUMS;
    }
    return emx_offer(EMX_X_VERSION, EMX_X_VERSION, features, static_cast<uint16_t>(longest),
                     static_cast<uint16_t>(context_.conf().window_frames));
}

/// The session that answered our request made that offer: it has seen ours.
void Endpoint::agree(Partner *partner, uint64_t offer)
{
    if (partner->offer || !agreed_version(own_offer(), offer))
        return;
    partner->offer = offer;
    if (context_.conf().checksum)
        partner->offer |= emx_offer(0, 0, EMX_X_SUMS, 0, 0);
    choose_fragments(partner);
    partner->flight.bound(emx_offer_frames(offer));
    if (partner->takes_reports())
        partner->patience_ns = partner->round_trip.patience_ns();
    count(EMX_CNT_EXTENSION_AGREED);
}

void Endpoint::on_connect_request(const emx_msg &msg)
{
    if (msg.u.connect.session == EMX_SESSION_NONE)
        return count(EMX_CNT_DROP_CONNECT);
    sweep_partners();
    const uint64_t nic_id = port_->peer_nic_id(msg.peer);
    Partner *partner = partner_of(msg.peer, nic_id, msg.remote_ep);
    const bool is_alive = partner && partner->state != PartnerState::dead;
    const bool key_fits = msg.u.connect.key == key_;
    if (is_alive && tells_of_another_life(partner, msg)) {
        if (PendingConnect *inquiry = inquire(partner, MX_STATUS_BAD_SESSION))
            inquiry->asked = msg; // answered when the partner has confirmed it
        return;
    }
    // Nothing but its frame says yet that it is there at all.
    const bool is_stranger = !is_alive || !partner->answered || !key_fits;
    if (is_stranger && !fw_may_answer(&answers_[key_fits], now()))
        return count(EMX_CNT_DROP_ANSWER);
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
    const bool key_fits = msg.u.connect.key == key_;
    if (partner && key_fits)
        take_session(partner, session, msg.u.connect.start, false);
    emx_msg reply{};
    reply.type = EMX_CONNECT;
    reply.remote_ep = msg.remote_ep;
    reply.peer = msg.peer;
    reply.session = session;
    reply.u.connect.session = session_;
    reply.u.connect.start = partner ? partner->rx_match : 1;
    reply.u.connect.is_reply = 1;
    reply.u.connect.number = msg.u.connect.number;
    // A partner that made no offer gets none: it is a stranger, or older.
    reply.match = partner && agreed_version(own_offer(), msg.match) ? own_offer() : 0;
    reply.u.connect.status = key_fits ? EMX_CONNECT_OK : EMX_CONNECT_BAD_KEY;
    port_->send(reply, nullptr);
    if (!partner || !key_fits)
        return;
    partner->heard |= Partner::heard_frame;
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
        count(EMX_CNT_DROP_CONNECT);
}

namespace {

/// True if it is the number of one of our latest requests: a request that was repeated is answered twice.
bool asked_before(const Partner &partner, uint8_t number)
{
    constexpr uint8_t remembered = 16;
    return static_cast<uint8_t>(partner.connect_number - 1 - number) < remembered;
}

} // namespace

void Endpoint::on_connect_reply(const emx_msg &msg)
{
    sweep_partners();
    Partner *partner = partner_of(msg.peer, port_->peer_nic_id(msg.peer), msg.remote_ep);
    PendingConnect *connect = partner ? partner->connects : nullptr;
    while (connect && connect->number != msg.u.connect.number)
        connect = connect->next;
    uint8_t status = msg.u.connect.status;
    if (partner && !connect && asked_before(*partner, msg.u.connect.number))
        return count(EMX_CNT_DROP_SEQUENCE);
    if (!connect || (status != EMX_CONNECT_OK && status != EMX_CONNECT_BAD_KEY) ||
        msg.u.connect.session == EMX_SESSION_NONE || !keep_peer(partner))
        return count(EMX_CNT_DROP_CONNECT);
    partner->heard |= Partner::heard_frame;
    // A refusal tells the session, too.
    const bool other_life = partner->session != EMX_SESSION_NONE && partner->session != msg.u.connect.session;
    if (other_life && !partners_.has_index())
        return count(EMX_CNT_DROP_CONNECT_ROOM);
    if (other_life)
        partner = replace_partner(partner, code_of_end(partner));
    const emx_msg asked = connect->asked;
    if (status == EMX_CONNECT_BAD_KEY) {
        answer_asked(partner, asked, msg);
        partner->answered = partner->session != EMX_SESSION_NONE;
        complete_connect(partner, connect, MX_STATUS_BAD_KEY);
        return pump(partner);
    }
    const bool doubt = leaves_doubt(partner, msg.u.connect.session, msg.u.connect.start);
    partner->doubt_session = EMX_SESSION_NONE;
    if (doubt) {
        fail_incoming(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false); // it repeats nothing that we take
        drop_early(partner);
        partner->deaf_session = msg.u.connect.session;
        partner->named |= partner->is_known();
        partner->heard = Partner::heard_frame;
        count_from(partner, seq::next_session(partner->rx_match));
        connect->number = partner->connect_number++; // answers to what was asked before do not count
        return send_connect(partner, *connect);
    }
    take_session(partner, msg.u.connect.session, msg.u.connect.start, true);
    agree(partner, msg.match);
    partner->answered = true;
    complete_connect(partner, connect, MX_STATUS_SUCCESS);
    pump(partner);
    answer_asked(partner, asked, msg);
}

void Endpoint::drop_connect(Partner *partner, PendingConnect *connect)
{
    PendingConnect **link = &partner->connects;
    while (*link != connect)
        link = &(*link)->next;
    *link = connect->next;
    delete connect;
}

/// Whoever asked for it does not wait any longer. A peer whose own request we have taken is still to be
/// asked: what goes to it waits for the answer.
void Endpoint::abandon_connect(Partner *partner, PendingConnect *connect)
{
    drop_connect(partner, connect);
    if (partner->state == PartnerState::connected || partner->state == PartnerState::half_open)
        connect_back(partner);
}

void Endpoint::complete_connect(Partner *partner, PendingConnect *connect, int code)
{
    Request *request = connect->request;
    drop_connect(partner, connect);
    if (!request)
        return;
    if (code == MX_STATUS_SUCCESS) {
        request->partner = partner;
        partner->named = true;
    }
    complete(request, code);
}

void Endpoint::serve_connects(Partner *partner, uint64_t time)
{
    uint64_t limit = uint64_t(context_.conf().resends_max) * 500000000;
    for (PendingConnect *connect = partner->connects, *next; connect; connect = next) {
        next = connect->next;
        unsigned shift = std::min<unsigned>(connect->resends, 10);
        uint64_t interval = std::min<uint64_t>(uint64_t(context_.conf().resend_ms) << shift, 500) * 1000000;
        if (time - connect->first_ns > limit) {
            // An inquiry alone ends nothing: it may be for a forged frame, and the program may compute.
            if (!connect->inquiry || partner->rndv || partner->partial)
                return give_up(partner);
            drop_connect(partner, connect);
            continue;
        }
        if (time < connect->sent_ns + interval) {
            timer_ns_ = std::min(timer_ns_, connect->sent_ns + interval);
            continue;
        }
        ++connect->resends;
        count(EMX_CNT_RESEND_CONNECT);
        send_connect(partner, *connect);
    }
}

void Endpoint::serve_probe(Partner *partner, uint64_t time)
{
    // An announced message has no timer of its own once acknowledged: a peer that died since would go
    // unnoticed. A repeated connect is answered by a living peer and refused for a dead one.
    constexpr uint64_t period_ns = 500000000;
    if (Incoming *in = partner->partial) {
        // A living peer repeats what it knows to be missing; one that believes it delivered never will.
        if (in->waiting_ns == 0)
            in->waiting_ns = time;
        else if (time - in->waiting_ns > uint64_t(context_.conf().resends_max) * 500000000)
            return give_up(partner);
    }
    if ((!partner->rndv && !partner->partial) || partner->connects)
        return;
    if (partner->heard & Partner::heard_frame || partner->probe_ns == 0) {
        partner->heard &= Partner::heard_message;
        partner->probe_ns = time + period_ns;
    } else if (time >= partner->probe_ns) {
        partner->probe_ns = time + period_ns;
        start_connect(partner, key_, nullptr);
    }
    timer_ns_ = std::min(timer_ns_, partner->probe_ns);
}

} // namespace emx

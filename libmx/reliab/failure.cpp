// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Partners that die: refused, restarted, given up, or disconnected (wire specification, 8.6 and 11;
// API specification, section 7).
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstdio>

namespace emx {

namespace {

/// True if what is thrown away would leave a stranger waiting that counts on: for fragments of a message that
/// it has begun, or for the end of one of its own.
bool cuts_sends_short(const Partner *partner)
{
    for (const TxMessage *tx = partner->unacked; tx; tx = tx->next)
        if (tx->frames > 1)
            return true;
    for (const TxMessage *tx = partner->waiting; tx; tx = tx->next)
        if (tx->header.type == EMX_NOTIFY)
            return true;
    return false;
}

} // namespace

void Endpoint::fail_partner(Partner *partner, int code, bool drop_messages)
{
    if (partner->state == PartnerState::dead)
        return;
    take_acks(); // what the peer has is no failure
    partner->state = PartnerState::dead;
    partner->dead_code = code;
    tell_death(partner);
    partner->ack_owed = partner->ack_now = partner->answer_owed = false;
    partner->cut_short = cuts_sends_short(partner);
    fail_sends(partner, code);
    fail_connects(partner, code);
    partner->cut_short |= fail_incoming(partner, code, drop_messages);
    drop_early(partner);
    release_peer(partner);
    if (partner->is_blank())
        partners_.retire(partner);
}

void Endpoint::tell_death(const Partner *partner) const
{
    char text[128];
    std::snprintf(text, sizeof(text), "peer %012llx:%u: %s", static_cast<unsigned long long>(partner->nic_id),
                  unsigned{partner->remote_ep},
                  mx_strstatus(static_cast<mx_status_code_t>(partner->dead_code)));
    context_.tell(text, &board_, number());
}

void Endpoint::fail_sends(Partner *partner, int code)
{
    // Announced and acknowledged ones stand in the rndv list only, the rest in unacked or waiting.
    for (TxMessage *tx = partner->rndv, *next; tx; tx = next) {
        next = tx->rndv_next;
        end_rendezvous(tx, code, 0);
    }
    for (TxMessage **queue : {&partner->unacked, &partner->waiting}) {
        for (TxMessage *tx = *queue, *next; tx; tx = next) {
            next = tx->next;
            complete_send(tx, code, 0);
            drop_tx(tx);
        }
        *queue = nullptr;
    }
    partner->unacked_tail = partner->waiting_tail = nullptr;
    partner->frames_out = 0;
}

void Endpoint::fail_connects(Partner *partner, int code)
{
    while (partner->connects)
        complete_connect(partner, partner->connects, code);
}

/// Tells whether messages ended whose sender still waits for their end.
bool Endpoint::fail_incoming(Partner *partner, int code, bool drop_messages)
{
    bool cut_short = false;
    // Receives in transfer.
    requests_.each([&](Request *recv) {
        Incoming *in = recv->incoming;
        if (recv->kind != RequestKind::receive || !in || in->partner != partner)
            return;
        if (in->pulling)
            cancel_pull(in);
        finish_receive(in, code);
        cut_short = true;
    });
    // Messages nobody took yet: what is complete was delivered, and stays; the rest can never be.
    auto unfinished = [](const Incoming *in) { return in->rendezvous || !in->complete; };
    auto doomed = [&](const Incoming *in) {
        return in->partner == partner && (drop_messages || unfinished(in));
    };
    for (Incoming *in = unexpected_.front(), *next; in; in = next) {
        next = unexpected_.next(in);
        if (!doomed(in))
            continue;
        cut_short |= unfinished(in);
        unexpected_.remove(in);
        free_incoming(in);
    }
    Incoming *kept = nullptr, *kept_tail = nullptr;
    for (Incoming *in = accepted_, *next; in; in = next) {
        next = in->next;
        in->next = nullptr;
        if (doomed(in)) {
            cut_short |= unfinished(in);
            free_incoming(in);
            continue;
        }
        (kept_tail ? kept_tail->next : kept) = in;
        kept_tail = in;
    }
    accepted_ = kept;
    accepted_tail_ = kept_tail;
    // A partial message that is left is being discarded, or looked at by the handler.
    if (Incoming *in = partner->partial) {
        cut_short = true;
        unlink_partial(in);
        if (in->busy)
            in->orphan = true;
        else
            free_incoming(in);
    }
    if (pulls_waiting_)
        retry_pulls(); // those of others have their turn now
    return cut_short;
}

void Endpoint::give_up(Partner *partner) { fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false); }

void Endpoint::disconnect(Partner *partner)
{
    if (partner->self)
        return;
    fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, true);
}

void Endpoint::on_nack(const emx_msg &msg)
{
    static constexpr int codes[] = {0, MX_STATUS_BAD_ENDPOINT, MX_STATUS_ENDPOINT_CLOSED,
                                    MX_STATUS_BAD_SESSION};
    Partner *partner = find_partner(msg.peer, msg.remote_ep);
    uint8_t reason = msg.u.nack.reason;
    if (!partner || partner->state == PartnerState::dead || reason < EMX_NACK_BAD_ENDPOINT ||
        reason > EMX_NACK_BAD_SESSION)
        return count(EMX_CNT_DROP_NACK);
    int code = codes[reason];
    take_acks();
    // A refusal has no session: anyone may have sent it. That of an inquiry alone is proof.
    for (PendingConnect *connect = partner->connects; connect; connect = connect->next)
        if (connect->nonce != 0 && connect->nonce == msg.seq && code != MX_STATUS_BAD_SESSION)
            // No stray, even when it is not believed: the refusals of later copies would go on for ever.
            return believes_refusals(partner) ? fail_partner(partner, code, false) : count(EMX_CNT_DROP_NACK);
    for (TxMessage *tx = partner->unacked; tx; tx = tx->next)
        if (tx->header.seq == msg.seq)
            return static_cast<void>(inquire(partner, code));
    PendingConnect *connect = partner->connects;
    // A connect has number 0 and names no session of ours (11.1): all else is about a message to an older
    // life, or a guess.
    if (!connect || msg.seq != 0 || code == MX_STATUS_BAD_SESSION)
        return stray_nack(partner);
    if (partner->answered)
        inquire(partner, code);
    else if (partner->state != PartnerState::connecting || !connect->request)
        fail_partner(partner, code, false);
    else
        complete_connect(partner, connect, code);
}

/// Refusals of nothing that we sent may be guesses at the number of an inquiry: after some, none is believed
/// until they have ceased for a second. Numbers of later copies are no harder to guess.
bool Endpoint::believes_refusals(Partner *partner)
{
    constexpr uint8_t guesses_max = 8;
    constexpr uint64_t ceased_ns = 1000000000;
    if (now() - partner->stray_ns > ceased_ns)
        partner->strays = 0;
    return partner->strays < guesses_max;
}

void Endpoint::stray_nack(Partner *partner)
{
    if (believes_refusals(partner))
        ++partner->strays;
    partner->stray_ns = now();
    count(EMX_CNT_DROP_NACK);
}

void Endpoint::on_link(const emx_msg &msg)
{
    board_.up = msg.u.link.state == EMX_LINK_UP;
    if (msg.u.link.state != EMX_LINK_GONE)
        return; // what is under way is repeated until the link is back or the limit is reached
    gone_ = true;
    partners_.each([this](Partner *partner) {
        if (!partner->self && partner->state != PartnerState::dead)
            fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    });
}

void Endpoint::check_budgets(uint64_t time)
{
    if (timed_requests_ == 0)
        return;
    requests_.each([&](Request *request) {
        if (request->complete || request->expires_ns == 0)
            return;
        if (time < request->expires_ns) {
            timer_ns_ = std::min(timer_ns_, request->expires_ns);
            return;
        }
        if (request->kind == RequestKind::connect) {
            PendingConnect *connect = request->partner->connects;
            while (connect && connect->request != request)
                connect = connect->next;
            if (connect) {
                abandon_connect(request->partner, connect);
                complete(request, MX_STATUS_TIMEOUT);
            }
        } else if (request->kind == RequestKind::receive) {
            Incoming *in = request->incoming;
            if (!in || !in->pulling)
                return;
            cancel_pull(in);
            send_notify(in->partner, in->msg, 0);
            finish_receive(in, MX_STATUS_TIMEOUT);
        } else if (TxMessage *tx = request->tx) {
            // The packet keeps its number and goes on being repeated: a hole would block the direction.
            if (tx->has_window || tx->header.type == EMX_RNDV)
                end_rendezvous(tx, MX_STATUS_TIMEOUT, 0);
            else
                complete_send(tx, MX_STATUS_TIMEOUT, 0);
        }
    });
    if (pulls_waiting_)
        retry_pulls(); // one whose time was over had a turn
}

} // namespace emx

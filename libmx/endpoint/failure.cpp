// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Partners that die: refused, restarted, given up, or disconnected (wire specification, 8.6 and 11;
// API specification, section 7).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstdio>

namespace emx {

void Endpoint::fail_partner(Partner *partner, int code, bool drop_messages)
{
    if (partner->life.is_dead())
        return;
    take_acks(); // what the peer has is no failure
    partner->life.die(code);
    tell_death(partner);
    partner->receiver.forget_debt();
    partner->life.cut_short(partner->sender.is_midway());
    fail_sends(partner, code);
    fail_connects(partner, code);
    partner->life.cut_short(fail_incoming(partner, code, drop_messages));
    early_.drop(partner->receiver.early);
    release_peer(partner);
    if (partner->is_blank())
        partners_.retire(partner);
}

void Endpoint::tell_death(const Partner *partner) const
{
    char text[128];
    std::snprintf(text, sizeof(text), "peer %012llx:%u: %s", static_cast<unsigned long long>(partner->nic_id),
                  unsigned{partner->remote_ep},
                  mx_strstatus(static_cast<mx_status_code_t>(partner->life.dead_code())));
    instance_.tell(text, &identity_.board, number());
}

void Endpoint::fail_sends(Partner *partner, int code)
{
    if (partner->way.sure)
        take_back_sure(partner);
    // Announced and acknowledged ones stand in the rndv list only, the rest in unacked or waiting.
    for (TxMessage *tx = partner->sender.rndv, *next; tx; tx = next) {
        next = tx->rndv_next;
        end_rendezvous(tx, code, 0);
    }
    for (TxQueue *queue : {&partner->sender.unacked, &partner->sender.waiting})
        for (TxMessage *tx = queue->head, *next; tx; tx = next) {
            next = tx->next;
            complete_send(tx, code, 0);
            tx_pool_.bury(tx);
        }
    partner->sender.forget_queues();
}

void Endpoint::fail_connects(Partner *partner, int code)
{
    while (partner->connector.is_asking())
        complete_connect(partner, partner->connector.first(), code);
}

/// Ends receives in transfer; returns whether there were any.
bool Endpoint::fail_receives(Partner *partner, int code)
{
    bool any = false;
    requests_.each([&](Request *recv) {
        Incoming *in = recv->incoming;
        if (recv->kind != RequestKind::receive || !in || in->partner != partner)
            return;
        if (in->pulling)
            cancel_pull(in);
        finish_receive(in, code);
        any = true;
    });
    return any;
}

/// Drops messages that nobody took yet: what is complete was delivered, and stays, unless told otherwise; the
/// rest can never be. Returns whether any was unfinished.
bool Endpoint::drop_unfinished(Partner *partner, bool drop_messages)
{
    bool any = false;
    const auto doomed = [&](const Incoming *in) {
        return in->partner == partner && (drop_messages || in->unfinished());
    };
    for (Incoming *in = matcher_.first_unexpected(), *next; in; in = next) {
        next = Matcher::next_unexpected(in);
        if (!doomed(in))
            continue;
        any |= in->unfinished();
        matcher_.remove(in);
        free_incoming(in);
    }
    accepted_.remove_if(doomed, [&](Incoming *in) {
        any |= in->unfinished();
        free_incoming(in);
    });
    return any;
}

/// Returns whether messages ended whose sender still waits for their end.
bool Endpoint::fail_incoming(Partner *partner, int code, bool drop_messages)
{
    bool cut_short = fail_receives(partner, code);
    cut_short |= drop_unfinished(partner, drop_messages);
    // A partial message that is left is being discarded, or looked at by the handler.
    if (Incoming *in = partner->receiver.partial) {
        cut_short = true;
        unlink_partial(in);
        if (in->busy)
            in->orphan = true;
        else
            free_incoming(in);
    }
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
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    uint8_t reason = msg.u.nack.reason;
    if (!partner || partner->life.is_dead() || reason < EMX_NACK_BAD_ENDPOINT ||
        reason > EMX_NACK_BAD_SESSION)
        return drop(EMX_CNT_DROP_NACK);
    int code = codes[reason];
    take_acks();
    // A refusal has no session: anyone may have sent it. That of an inquiry alone is proof.
    for (PendingConnect *connect = partner->connector.first(); connect; connect = connect->next)
        if (connect->nonce != 0 && connect->nonce == msg.seq && code != MX_STATUS_BAD_SESSION)
            // No stray, even when it is not believed: the refusals of later copies would go on for ever.
            return partner->connector.believes_refusals(now()) ? fail_partner(partner, code, false)
                                                               : drop(EMX_CNT_DROP_NACK);
    for (TxMessage *tx = partner->sender.unacked.head; tx; tx = tx->next)
        if (tx->header.seq == msg.seq)
            return static_cast<void>(inquire(partner, code));
    PendingConnect *connect = partner->connector.first();
    // A connect has number 0 and names no session of ours (11.1): all else is about a message to an older
    // life, or a guess.
    if (!connect || msg.seq != 0 || code == MX_STATUS_BAD_SESSION)
        return stray_nack(partner);
    if (partner->sender.is_open())
        inquire(partner, code);
    else if (!partner->life.is_connecting() || !connect->request)
        fail_partner(partner, code, false);
    else
        complete_connect(partner, connect, code);
}

void Endpoint::stray_nack(Partner *partner)
{
    partner->connector.note_stray_refusal(now());
    drop(EMX_CNT_DROP_NACK);
}

void Endpoint::on_link(const emx_msg &msg)
{
    identity_.board.up = msg.u.link.state == EMX_LINK_UP;
    if (msg.u.link.state != EMX_LINK_GONE)
        return; // what is under way is repeated until the link is back or the limit is reached
    identity_.gone = true;
    partners_.each([this](Partner *partner) {
        if (!partner->self && !partner->life.is_dead())
            fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
    });
}

} // namespace emx

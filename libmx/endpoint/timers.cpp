// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Timers: repeats, connects, probes, delayed acks, and requests whose time is over.
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>
#include <cstdio>

namespace emx {

namespace {

constexpr uint64_t second_ns = 1000000000;
constexpr uint64_t worth_a_word_ns = 5 * second_ns;
constexpr unsigned resend_burst = 4;
constexpr unsigned resends_to_doubt = 16; // about 8 s
// Timers of thousands of partners shall not take all time.
constexpr unsigned rest_per_partner_ns = 500;

} // namespace

/// Once a partner: what was first sent then has been repeated in vain until now.
void Endpoint::warn_of_silence(Partner *partner, uint64_t since_ns, uint64_t time)
{
    if (time - since_ns < worth_a_word_ns || !partner->connector.tells_silence())
        return;
    const auto peer = static_cast<unsigned long long>(partner->nic_id);
    const unsigned seconds = static_cast<unsigned>((time - since_ns) / second_ns);
    const int limit = instance_.conf().resends_max / 2;
    char text[384];
    if (identity_.board.up)
        std::snprintf(
            text, sizeof(text),
            "endpoint %u of host %012llx has not answered for %u s: is its link up, does the host run, is "
            "the program there stopped? Messages to it wait, and fail after %d s (OMX_RESENDS_MAX)",
            unsigned{partner->remote_ep}, peer, seconds, limit);
    else
        std::snprintf(
            text, sizeof(text),
            "the link of %s is down here: plug it in, or ip link set %s up. Messages to host %012llx wait "
            "for it, and fail after %d s (OMX_RESENDS_MAX)",
            identity_.board.interface.c_str(), identity_.board.interface.c_str(), peer, limit);
    instance_.warn(text, &identity_.board, number());
}

void Endpoint::serve_connects(Partner *partner, uint64_t time)
{
    const uint64_t limit = uint64_t(instance_.conf().resends_max) * 500000000;
    const auto resend_ms = static_cast<uint64_t>(instance_.conf().resend_ms);
    for (PendingConnect *connect = partner->connector.first(), *next; connect; connect = next) {
        next = connect->next;
        const uint64_t interval = resend_interval_ns(resend_ms, connect->resends);
        if (time - connect->first_ns > limit) {
            // An inquiry alone ends nothing: it may be for a forged frame, and the program may compute.
            if (!connect->inquiry || partner->sender.rndv || partner->receiver.partial)
                return give_up(partner);
            partner->connector.drop(connect);
            continue;
        }
        if (time < connect->sent_ns + interval) {
            clock_.arm(connect->sent_ns + interval);
            continue;
        }
        ++connect->resends;
        count(EMX_CNT_RESEND_CONNECT);
        send_connect(partner, *connect);
        // An inquiry alone may be for a forged frame.
        if (!connect->inquiry || partner->sender.rndv || partner->receiver.partial)
            warn_of_silence(partner, connect->first_ns, time);
    }
}

void Endpoint::serve_probe(Partner *partner, uint64_t time)
{
    // An announced message has no timer of its own once acknowledged: a peer that died since would go
    // unnoticed. A repeated connect is answered by a living peer and refused for a dead one.
    constexpr uint64_t period_ns = 500000000;
    if (Incoming *in = partner->receiver.partial) {
        // A living peer repeats what it knows to be missing; one that believes it delivered never will.
        if (in->waiting_ns == 0)
            in->waiting_ns = time;
        else if (time - in->waiting_ns > uint64_t(instance_.conf().resends_max) * 500000000)
            return give_up(partner);
    }
    if ((!partner->sender.rndv && !partner->receiver.partial) || partner->connector.is_asking())
        return;
    if (partner->receiver.take_heard_frame() || partner->connector.probe_ns == 0) {
        partner->connector.probe_ns = time + period_ns;
    } else if (time >= partner->connector.probe_ns) {
        partner->connector.probe_ns = time + period_ns;
        start_connect(partner, identity_.key, nullptr);
    }
    clock_.arm(partner->connector.probe_ns);
}

void Endpoint::serve_resends(Partner *partner, uint64_t time)
{
    const uint64_t limit = uint64_t(instance_.conf().resends_max) * 500000000;
    const auto resend_ms = static_cast<uint64_t>(instance_.conf().resend_ms);
    TxMessage *tx = partner->sender.unacked.head;
    const uint32_t before = tx ? tx->resends : 0;
    for (unsigned burst = 0; tx && burst < resend_burst; tx = tx->next, ++burst) {
        if (time > tx->first_ns + limit)
            return give_up(partner);
        if (time < tx->resend_due(resend_ms))
            break;
        repeat(tx);
    }
    // Open-MX acknowledges again for the last number before its gap alone (8.2): the newest, if only the ack
    // was lost, or any other, so that each gets its turn.
    if (tx && time >= partner->sender.unacked.tail->resend_due(resend_ms))
        repeat(partner->sender.unacked.tail);
    for (unsigned burst = 0; tx && burst < resend_burst; ++burst) {
        TxMessage *longest = tx;
        for (TxMessage *t = tx; t; t = t->next)
            if (t->sent_ns < longest->sent_ns)
                longest = t;
        if (time < longest->resend_due(resend_ms))
            break;
        repeat(longest);
    }
    if (!partner->sender.unacked.head)
        return;
    if (before != partner->sender.unacked.head->resends)
        warn_of_silence(partner, partner->sender.unacked.head->first_ns, time);
    // Whoever keeps us at another index than we heard last drops all in silence; a connect's answer names
    // the right one (6.1).
    if (before != partner->sender.unacked.head->resends &&
        partner->sender.unacked.head->resends % resends_to_doubt == 0 && !partner->connector.is_asking())
        start_connect(partner, identity_.key, nullptr);
    clock_.arm(partner->sender.unacked.head->resend_due(resend_ms));
}

/// The delayed ack, when no message carried it.
void Endpoint::serve_ack(Partner *partner, uint64_t time)
{
    const Receiver &receiver = partner->receiver;
    if (!receiver.owes_ack() || receiver.ack_since_ns == 0)
        return;
    const uint64_t due = receiver.ack_since_ns + uint64_t(instance_.conf().ack_delay_ms) * 1000000;
    if (time >= due)
        send_ack(partner);
    else
        clock_.arm(due);
}

void Endpoint::check_budgets(uint64_t time)
{
    if (!completions_.any_deadline())
        return;
    requests_.each([&](Request *request) {
        if (request->complete || request->expires_ns == 0)
            return;
        if (time < request->expires_ns)
            clock_.arm(request->expires_ns);
        else
            time_out(request);
    });
    retry_pulls(); // one whose time was over had a turn
}

void Endpoint::time_out(Request *request)
{
    if (request->kind == RequestKind::connect) {
        if (PendingConnect *connect = request->partner->connector.find(request)) {
            abandon_connect(request->partner, connect);
            completions_.complete(request, MX_STATUS_TIMEOUT);
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
}

void Endpoint::serve_timers(uint64_t time)
{
    take_acks();
    clock_.disarm();
    uint64_t rest_ns = 0;
    partners_.each_active([&](Partner *partner) {
        rest_ns += rest_per_partner_ns;
        if (partner->connector.is_asking())
            serve_connects(partner, time);
        if (!partner->sender.unacked.empty())
            serve_resends(partner, time);
        ask_when_silent(partner, time);
        serve_probe(partner, time);
        serve_ack(partner, time);
        if (!partner->busy())
            partners_.deactivate(partner);
    });
    check_budgets(time);
    clock_.not_before(time + rest_ns);
}

uint64_t Endpoint::next_deadline(uint64_t time)
{
    if (acks_.any_unstamped())
        stamp_acks(time);
    if (clock_.timer_ns() <= time)
        clock_.hurry(); // the next pass serves it
    return std::min(clock_.timer_ns(), port_->deadline_ns());
}

} // namespace emx

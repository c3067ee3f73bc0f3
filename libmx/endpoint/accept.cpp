// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Accept: the first stage of receiving. Takes packets in the order of their numbers, reassembles MEDIUM
// messages, keeps what came early, and hands messages to the match stage (wire specification, 8.3, 9).
#include "driver/base/probe.hpp"
#include "driver/core/fw_pack.h"
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <memory>

namespace emx {

void Endpoint::accept(const emx_msg &msg)
{
    if (msg.type == EMX_TINY || msg.type == EMX_SMALL) [[likely]]
        return on_sequenced(msg);
    accept_other(msg);
}

void Endpoint::accept_other(const emx_msg &msg)
{
    switch (msg.type) {
    case EMX_MEDIUM:
    case EMX_X_MEDIUM:
    case EMX_RNDV:
    case EMX_NOTIFY: return on_sequenced(msg);
    case EMX_TRUC: return on_truc(msg);
    case EMX_CONNECT:
        if (msg.u.connect.is_reply)
            return on_connect_reply(msg); // while lingering, too: a NOTIFY may wait for it
        if (!gate_.is_lingering())
            on_connect_request(msg);
        return;
    case EMX_X_REPORT: return on_report(msg);
    case EMX_NACK_LIB: return on_nack(msg);
    case EMX_NACK_MCP: return on_answer(msg);
    case EMX_X_GROUP: return on_group(msg);
    case EMX_X_PACK: return on_pack(msg);
    case EMX_EV_PULL_DONE: return on_pull_done(msg);
    case EMX_EV_LINK: return on_link(msg);
    case EMX_EV_SURE_END: return on_sure_end(msg);
    case EMX_EV_SURE_ROOM: return on_sure_room(msg);
    default: return; // events for others (raw endpoint)
    }
}

/// The usual case without any bookkeeping: one frame, a receive waits, nothing before it is unmatched.
inline bool Endpoint::fast_receive(Partner *partner, const emx_msg &msg)
{
    if (!gate_.may_match() || !accepted_.empty() || msg.type == EMX_RNDV || msg.data_len != msg.msg_len)
        return false;
    Request *recv = matcher_.take(msg.match);
    if (!recv) [[unlikely]]
        return false;
    EMX_PROBE(4, matched, recv, msg.match, msg.msg_len, partner->address.stuff[0]);
    uint64_t length = std::min<uint64_t>(msg.data_len, recv->room);
    recv->segments.fill(reinterpret_cast<const std::byte *>(msg.data), length);
    complete_receive(recv, msg, partner, static_cast<uint32_t>(length),
                     recv->room < msg.msg_len ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
    return true;
}

void Endpoint::deliver(Partner *partner, const emx_msg &msg)
{
    partner->receiver.next = seq::next(partner->receiver.next);
    if (msg.type == EMX_NOTIFY) [[unlikely]]
        return on_notify(partner, msg);
    if (!fast_receive(partner, msg)) [[unlikely]]
        hold(partner, msg);
}

/// The message bears our session, which only those know that hear us.
bool Endpoint::opens(Partner *partner, const emx_msg &msg)
{
    return partner->life.is_half_open() && seq::same_session(msg.seq, partner->receiver.done) &&
           seq::same_session(msg.ack, partner->sender.next) && keep_peer(partner);
}

/// The sender of a packet with a number, from which messages may be taken; nullptr: none may.
[[gnu::always_inline]] inline Partner *Endpoint::sequenced_from(const emx_msg &msg)
{
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || (!partner->life.is_connected() && !opens(partner, msg))) [[unlikely]] {
        drop(EMX_CNT_DROP_PARTNER);
        return nullptr;
    }
    if (!seq::same_session(msg.seq, partner->receiver.done) ||
        !seq::same_session(msg.ack, partner->sender.next)) [[unlikely]] {
        drop(EMX_CNT_DROP_SEQUENCE);
        return nullptr;
    }
    partner->receiver.heard =
        Receiver::heard_frame | Receiver::heard_message; // a store, as it must be anyway
    acks_.note(partner, msg.ack);
    // Lingering, nobody is left to take a message; unacknowledged, it is refused once we are closed.
    return gate_.is_lingering() ? nullptr : partner;
}

[[gnu::always_inline]] inline void Endpoint::take_numbered(Partner *partner, const emx_msg &msg)
{
    uint16_t distance = seq::distance(msg.seq, partner->receiver.done);
    uint16_t open = seq::distance(partner->receiver.next, partner->receiver.done);
    ++partner->receiver.frames_in;
    // Messages behind a MEDIUM wait for its last fragment: programs take a message for the sign that those
    // sent before are here, even when nobody tells them so (API 3.8, mx_forget).
    if (distance != open || partner->receiver.partial) [[unlikely]] {
        if (distance >= open)
            return out_of_turn(partner, msg, distance - open);
        fragment_for(partner, msg);
    } else {
        deliver(partner, msg);
    }
    if (partner->receiver.early) [[unlikely]]
        drain_early(partner);
}

void Endpoint::on_sequenced(const emx_msg &msg)
{
    Partner *partner = sequenced_from(msg);
    if (!partner) [[unlikely]]
        return;
    take_numbered(partner, msg);
    update_done(partner);
}

/// Each message as if it had come alone, but for the ack, which is owed for all of them together.
void Endpoint::on_pack(const emx_msg &msg)
{
    Partner *partner = sequenced_from(msg);
    if (!partner)
        return;
    fw_unpack one;
    fw_unpack_begin(&one, &msg);
    // The handler may disconnect the partner.
    unpacking_ = true;
    while (partner->life.is_connected() && fw_unpack_next(&one))
        take_numbered(partner, one.msg);
    unpacking_ = false;
    update_done(partner);
}

/// Takes and consumes a packet by a sure way (sure.cpp), and what lies behind it: each costs less than the
/// call that asks for it.
void Endpoint::take_sure(const emx_msg *msg)
{
    constexpr unsigned run = 16;
    for (unsigned i = 1; msg; ++i) {
        if (msg->type & EMX_EV_SURE) [[likely]]
            on_sure(*msg);
        else
            accept(*msg);
        if (i == run || gate_.is_closed()) [[unlikely]]
            return port_->consume();
        msg = port_->next_sure();
    }
}

/// Nothing is before it, and nothing is owed for it.
inline void Endpoint::on_sure(const emx_msg &msg)
{
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || !partner->life.is_connected() || partner->session != msg.session ||
        msg.seq != partner->receiver.next || partner->receiver.partial || gate_.is_lingering()) [[unlikely]]
        return port_->refuse_sure(); // nobody is left to take it, or it is of an older life
    partner->receiver.heard = Receiver::heard_frame | Receiver::heard_message;
    if (msg.ack != partner->sender.ack_seen) [[unlikely]]
        acks_.note(partner, msg.ack);
    partner->receiver.next = partner->receiver.done = seq::next(msg.seq);
    if (msg.type > (EMX_EV_SURE | EMX_MEDIUM) || !fast_receive(partner, msg)) [[unlikely]]
        hold_sure(partner, msg);
}

void Endpoint::hold_sure(Partner *partner, const emx_msg &msg)
{
    if (msg.type != (EMX_EV_SURE | EMX_NOTIFY) && matcher_.is_bounded() && is_unwelcome(msg)) {
        partner->receiver.next = partner->receiver.done = msg.seq;
        return port_->refuse_sure();
    }
    emx_msg packet = msg;
    packet.type = static_cast<uint8_t>(packet.type & ~EMX_EV_SURE);
    if (packet.type == EMX_NOTIFY)
        on_notify(partner, packet);
    else
        hold(partner, packet);
}

/// A packet `ahead` numbers beyond the next one: those long received are so by nearly all numbers.
void Endpoint::out_of_turn(Partner *partner, const emx_msg &msg, unsigned ahead)
{
    if (ahead <= early_window)
        return store_early(partner, msg);
    --partner->receiver.frames_in;
    drop(EMX_CNT_DROP_SEQUENCE);
    const uint16_t distance = seq::distance(msg.seq, partner->receiver.done);
    if (distance > seq::number_mask / 2) // our ack was lost
        owe_ack(partner);
    if (distance == seq::just_before)
        hurry_ack(partner);
}

/// A message that cannot be received at once: on to the match stage, or until its fragments are here.
void Endpoint::hold(Partner *partner, const emx_msg &msg)
{
    if (matcher_.is_bounded() && is_unwelcome(msg)) [[unlikely]] {
        partner->receiver.next = msg.seq; // not taken: its sender repeats it
        return;
    }
    Incoming *in = incoming_.make(partner, msg);
    in->seq = msg.seq;
    in->rendezvous = msg.type == EMX_RNDV;
    matcher_.charge(in);
    if (!in->rendezvous && msg.data_len == msg.msg_len) {
        in->complete = true;
        in->view = reinterpret_cast<const std::byte *>(msg.data);
        return stage(in);
    }
    if (!in->rendezvous) {
        in->partial = true;
        partner->receiver.partial = in;
        if (partner->way.x_datagram_bytes && Way::pays_datagrams(msg.msg_len, msg.data_len))
            in->by_datagrams = port_->expect_fragments(msg.peer, msg.remote_ep, partner->session);
        partners_.activate(partner); // its sender is looked after until all is here
        clock_.arm(0);
        bool bound = bind_first(in);
        add_fragment(in, msg);
        if (bound)
            return;
    }
    stage(in);
}

/// The program wants no more unexpected data, and no receive waits for this message. What is staged may take
/// the receive that seems to wait for it.
bool Endpoint::is_unwelcome(const emx_msg &msg)
{
    return matcher_.is_full() && (!accepted_.empty() || !matcher_.is_awaited(msg.match));
}

/// A receive that waits takes a MEDIUM before its first fragment is stored, which saves a copy.
bool Endpoint::bind_first(Incoming *in)
{
    if (!gate_.may_match() || !accepted_.empty())
        return false;
    Request *recv = matcher_.take(in->match);
    if (!recv)
        return false;
    bind(in, recv);
    return true;
}

void Endpoint::fragment_for(Partner *partner, const emx_msg &msg)
{
    Incoming *in = partner->receiver.partial;
    if (!in || in->seq != msg.seq || !is_medium(msg.type))
        return; // a repeat of something complete
    if (msg.match != in->msg.match)
        return drop(EMX_CNT_DROP_CONTENT);
    add_fragment(in, msg);
}

void Endpoint::add_fragment(Incoming *in, const emx_msg &msg)
{
    int fresh = fw_reasm_add(&in->reasm, msg.msg_len, msg.u.medium.frag, msg.u.medium.position, msg.data_len);
    if (fresh < 0)
        return drop(EMX_CNT_DROP_CONTENT);
    if (fresh == 0)
        return;
    in->waiting_ns = 0;
    in->store(msg);
    if (in->reasm.received < in->reasm.msg_len) {
        if (msg.u.medium.position + msg.data_len == msg.msg_len && in->partner->way.takes_reports())
            send_report(in->partner, false); // its last fragment came before another
        return;
    }
    in->complete = true;
    unlink_partial(in);
    if (in->recv)
        consume(in);
    else if (in->discard)
        free_incoming(in);
}

void Endpoint::store_early(Partner *partner, const emx_msg &msg)
{
    switch (early_.store(partner->receiver.early, msg)) {
    case EarlyStore::Stored::no_room: return drop(EMX_CNT_DROP_SEQUENCE);
    case EarlyStore::Stored::known: return;
    case EarlyStore::Stored::kept: break;
    }
    // Something before it is missing: say so at once, and now and then while more arrives.
    if (partner->receiver.early->count % 4 != 1 || !partner->way.takes_reports())
        return;
    if (!unpacking_)
        send_report(partner, false);
    else if (!partner->receiver.owes_report)
        owe_answer(partner); // one for all messages of the frame
}

void Endpoint::drain_early(Partner *partner)
{
    Receiver &receiver = partner->receiver;
    // The handler may disconnect the partner, which drops the packets: look afresh each time.
    while (receiver.early && !receiver.partial && partner->life.is_connected()) {
        EarlyPacket *list = EarlyStore::take(*receiver.early, receiver.next);
        if (!list)
            return;
        for (bool first = true; list; first = false) {
            const std::unique_ptr<EarlyPacket> packet = early_.pop(list, receiver.early.get());
            ++receiver.frames_in;
            if (!partner->life.is_connected())
                continue;
            if (first)
                deliver(partner, packet->msg);
            else
                fragment_for(partner, packet->msg);
        }
        if (receiver.early && receiver.early->count == 0)
            receiver.early.reset();
    }
}

void Endpoint::update_done(Partner *partner)
{
    if (!partner->life.is_connected()) [[unlikely]]
        return;
    uint16_t done = partner->receiver.next;
    if (partner->receiver.partial) [[unlikely]]
        done = partner->receiver.partial->seq; // NOLINT: who frees a partial message has unlinked it
    if (done == partner->receiver.done) [[unlikely]]
        return;
    partner->receiver.done = done;
    owe_ack(partner);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Accept: the first stage of receiving. Takes packets in the order of their numbers, reassembles MEDIUM
// messages, keeps what came early, and hands messages to the match stage (wire specification, 8.3, 9).
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstring>
#include <utility>

namespace emx {

namespace {

// Packets that come early are repeated if they are not kept. Of one partner twice the frames that 255 numbers
// bear when each is one; and bytes of all partners together.
constexpr unsigned early_packets_max = 512;
constexpr std::size_t early_bytes_max = std::size_t{32} << 20;

std::size_t size_of(const EarlyPacket &packet) { return sizeof packet + packet.msg.data_len; }

} // namespace

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
        if (!lingering_)
            on_connect_request(msg);
        return;
    case EMX_X_REPORT: return on_report(msg);
    case EMX_NACK_LIB: return on_nack(msg);
    case EMX_NACK_MCP: return on_answer(msg);
    case EMX_EV_PULL_DONE: return on_pull_done(msg);
    case EMX_EV_LINK: return on_link(msg);
    default: return; // events for others (raw endpoint)
    }
}

/// The usual case without any bookkeeping: one frame, a receive waits, nothing before it is unmatched.
inline bool Endpoint::fast_receive(Partner *partner, const emx_msg &msg)
{
    if (staging_ || accepted_ || msg.type == EMX_RNDV || msg.data_len != msg.msg_len || in_handler_)
        return false;
    Request *recv = posted_.find(msg.match);
    if (!recv) [[unlikely]]
        return false;
    posted_.remove(recv);
    uint64_t length = std::min<uint64_t>(msg.data_len, recv->room);
    scatter(recv->segments.view(), 0, reinterpret_cast<const std::byte *>(msg.data), length);
    complete_receive(recv, msg, partner, static_cast<uint32_t>(length),
                     recv->room < msg.msg_len ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
    return true;
}

inline void Endpoint::deliver(Partner *partner, const emx_msg &msg)
{
    partner->rx_match = seq::next(partner->rx_match);
    if (msg.type == EMX_NOTIFY) [[unlikely]]
        return on_notify(partner, msg);
    if (!fast_receive(partner, msg)) [[unlikely]]
        hold(partner, msg);
}

/// The message bears our session, which only those know that hear us.
bool Endpoint::opens(Partner *partner, const emx_msg &msg)
{
    return partner->state == PartnerState::half_open && seq::same_session(msg.seq, partner->rx_done) &&
           seq::same_session(msg.ack, partner->tx_next) && keep_peer(partner);
}

void Endpoint::on_sequenced(const emx_msg &msg)
{
    Partner *partner = find_partner(msg.peer, msg.remote_ep);
    if (!partner || (partner->state != PartnerState::connected && !opens(partner, msg))) [[unlikely]]
        return count(EMX_CNT_DROP_PARTNER);
    if (!seq::same_session(msg.seq, partner->rx_done) || !seq::same_session(msg.ack, partner->tx_next))
        [[unlikely]]
        return count(EMX_CNT_DROP_SEQUENCE);
    partner->heard = Partner::heard_frame | Partner::heard_message; // a store, as it must be anyway
    note_ack(partner, msg.ack);
    if (lingering_) [[unlikely]]
        return; // nobody is left to take a message; unacknowledged, it is refused once we are closed
    uint16_t distance = seq::distance(msg.seq, partner->rx_done);
    uint16_t open = seq::distance(partner->rx_match, partner->rx_done);
    ++partner->frames_in;
    // Messages behind a MEDIUM wait for its last fragment: programs take a message for the sign that those
    // sent before are here, even when nobody tells them so (API 3.8, mx_forget).
    if (distance != open || partner->partial) [[unlikely]] {
        if (distance >= open)
            return out_of_turn(partner, msg, distance - open);
        fragment_for(partner, msg);
    } else {
        deliver(partner, msg);
    }
    if (partner->early) [[unlikely]]
        drain_early(partner);
    update_done(partner);
}

/// A packet `ahead` numbers beyond the next one: those long received are so by nearly all numbers.
void Endpoint::out_of_turn(Partner *partner, const emx_msg &msg, unsigned ahead)
{
    if (ahead <= early_window)
        return store_early(partner, msg);
    --partner->frames_in;
    count(EMX_CNT_DROP_SEQUENCE);
    const uint16_t distance = seq::distance(msg.seq, partner->rx_done);
    if (distance > seq::number_mask / 2) // our ack was lost
        owe_ack(partner);
    if (distance == seq::just_before)
        ack_soon(partner);
}

/// A message that cannot be received at once: on to the match stage, or until its fragments are here.
void Endpoint::hold(Partner *partner, const emx_msg &msg)
{
    if (unexp_max_ != 0 && is_unwelcome(msg)) [[unlikely]] {
        partner->rx_match = msg.seq; // not taken: its sender repeats it
        return;
    }
    Incoming *in = new_incoming(partner, msg);
    in->seq = msg.seq;
    in->rendezvous = msg.type == EMX_RNDV;
    if (unexp_max_ != 0) [[unlikely]]
        unexp_bytes_ += in->held = sizeof *in + (in->rendezvous ? 0 : msg.msg_len);
    if (!in->rendezvous && msg.data_len == msg.msg_len) {
        in->complete = true;
        in->view = reinterpret_cast<const std::byte *>(msg.data);
        return stage(in);
    }
    if (!in->rendezvous) {
        in->partial = true;
        partner->partial = in;
        activate(partner); // its sender is looked after until all is here
        timer_ns_ = 0;
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
    return unexp_bytes_ >= unexp_max_ && (accepted_ || !posted_.find(msg.match));
}

/// It is unexpected no longer.
void Endpoint::no_longer_held(Incoming *in) { unexp_bytes_ -= std::exchange(in->held, 0); }

/// A receive that waits takes a MEDIUM before its first fragment is stored, which saves a copy.
bool Endpoint::bind_first(Incoming *in)
{
    if (staging_ || accepted_ || in_handler_)
        return false;
    Request *recv = posted_.find(in->match);
    if (!recv)
        return false;
    posted_.remove(recv);
    bind(in, recv);
    return true;
}

Incoming *Endpoint::new_incoming(Partner *partner, const emx_msg &msg)
{
    auto *in = new Incoming;
    in->partner = partner;
    in->msg = msg;
    in->match = msg.match;
    ++incoming_alive_;
    return in;
}

void Endpoint::free_incoming(Incoming *in)
{
    if (in->held) [[unlikely]]
        no_longer_held(in);
    if (in->partial) [[unlikely]]
        unlink_partial(in);
    if (in->pull_waits) [[unlikely]] {
        Incoming **link = &pulls_waiting_;
        pulls_waiting_tail_ = nullptr;
        while (*link) {
            if (*link == in) {
                *link = in->next;
                continue;
            }
            pulls_waiting_tail_ = *link;
            link = &(*link)->next;
        }
    }
    --incoming_alive_;
    delete in;
}

void Endpoint::unlink_partial(Incoming *in)
{
    in->partner->partial = nullptr;
    in->partial = false;
}

void Endpoint::fragment_for(Partner *partner, const emx_msg &msg)
{
    Incoming *in = partner->partial;
    if (!in || in->seq != msg.seq || !is_medium(msg.type))
        return; // a repeat of something complete
    if (msg.match != in->msg.match)
        return count(EMX_CNT_DROP_CONTENT);
    add_fragment(in, msg);
}

void Endpoint::add_fragment(Incoming *in, const emx_msg &msg)
{
    int fresh = fw_reasm_add(&in->reasm, msg.msg_len, msg.u.medium.frag, msg.u.medium.position, msg.data_len);
    if (fresh < 0)
        return count(EMX_CNT_DROP_CONTENT);
    if (fresh == 0)
        return;
    in->waiting_ns = 0;
    const auto *data = reinterpret_cast<const std::byte *>(msg.data);
    if (in->recv && !in->storage) {
        uint64_t position = msg.u.medium.position;
        if (position < in->recv->room)
            scatter(in->recv->segments.view(), position, data,
                    std::min<uint64_t>(msg.data_len, in->recv->room - position));
    } else if (!in->discard) {
        if (!in->storage)
            in->storage = std::make_unique<std::byte[]>(msg.msg_len);
        std::memcpy(in->storage.get() + msg.u.medium.position, data, msg.data_len);
    }
    if (in->reasm.received < in->reasm.msg_len) {
        if (msg.u.medium.position + msg.data_len == msg.msg_len && in->partner->takes_reports())
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
    if (early_bytes_ >= early_bytes_max || (partner->early && partner->early->count >= early_packets_max))
        return count(EMX_CNT_DROP_SEQUENCE);
    if (!partner->early)
        partner->early = std::make_unique<EarlyPackets>();
    EarlyPacket **link = &partner->early->slot[msg.seq & 0xff];
    for (; *link; link = &(*link)->next) {
        const emx_msg &kept = (*link)->msg;
        bool fragment = is_medium(kept.type) && is_medium(msg.type);
        if (!fragment || kept.u.medium.frag == msg.u.medium.frag)
            return; // stored already
    }
    auto *packet = new EarlyPacket;
    packet->msg = msg;
    if (msg.data_len && msg.type != EMX_RNDV && msg.type != EMX_NOTIFY) {
        packet->data = std::make_unique<std::byte[]>(msg.data_len);
        std::memcpy(packet->data.get(), reinterpret_cast<const void *>(msg.data), msg.data_len);
        packet->msg.data = reinterpret_cast<uint64_t>(packet->data.get());
    }
    *link = packet;
    early_bytes_ += size_of(*packet);
    // Something before it is missing: say so at once, and now and then while more arrives.
    if (++partner->early->count % 4 == 1 && partner->takes_reports())
        send_report(partner, false);
}

void Endpoint::drain_early(Partner *partner)
{
    // The handler may disconnect the partner, which drops the packets: look afresh each time.
    while (partner->early && !partner->partial && partner->state == PartnerState::connected) {
        EarlyPacket *&slot = partner->early->slot[partner->rx_match & 0xff];
        if (!slot)
            return;
        EarlyPacket *list = slot;
        slot = nullptr;
        bool first = true;
        while (list) {
            std::unique_ptr<EarlyPacket> packet(list);
            list = packet->next;
            early_bytes_ -= size_of(*packet);
            if (partner->early)
                --partner->early->count;
            ++partner->frames_in;
            if (partner->state == PartnerState::connected) {
                if (first)
                    deliver(partner, packet->msg);
                else
                    fragment_for(partner, packet->msg);
            }
            first = false;
        }
        if (partner->early && partner->early->count == 0)
            partner->early.reset();
    }
}

void Endpoint::drop_early(Partner *partner)
{
    if (!partner->early)
        return;
    for (EarlyPacket *packet : partner->early->slot)
        while (packet) {
            EarlyPacket *next = packet->next;
            early_bytes_ -= size_of(*packet);
            delete packet;
            packet = next;
        }
    partner->early.reset();
}

void Endpoint::update_done(Partner *partner)
{
    if (partner->state != PartnerState::connected) [[unlikely]]
        return;
    uint16_t done = partner->rx_match;
    if (partner->partial) [[unlikely]]
        done = partner->partial->seq; // NOLINT: who frees a partial message has unlinked it
    if (done == partner->rx_done) [[unlikely]]
        return;
    partner->rx_done = done;
    owe_ack(partner);
}

} // namespace emx

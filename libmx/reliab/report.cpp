// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reports of the EtherMX extension: what is here in spite of a gap, and the repeat of what is not, in a
// round trip instead of half a second (docs/protocol.md). They only ever hasten repeats: the timers stay.
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstring>

namespace emx {

namespace {

constexpr unsigned state_numbers = 128; // that the bits of a report stand for
constexpr int overtaking = 3; // what so many numbers have passed is lost, not late

void set_bit(emx_w_x_state &state, unsigned i) { state.here[i / 8] |= static_cast<uint8_t>(1u << i % 8); }
bool has_bit(const emx_w_x_state &state, unsigned i) { return state.here[i / 8] >> i % 8 & 1; }

int highest_bit(const emx_w_x_state &state)
{
    for (int i = state_numbers - 1; i >= 0; --i)
        if (has_bit(state, static_cast<unsigned>(i)))
            return i;
    return -1;
}

/// Bits of the fragments of a message that came early; 0 when it is whole.
uint32_t early_fragments(const EarlyPacket *list)
{
    uint32_t bits = 0, bytes = 0;
    for (const EarlyPacket *p = list; p; p = p->next) {
        if (!is_medium(p->msg.type))
            return 0;
        bits |= 1u << p->msg.u.medium.frag;
        bytes += p->msg.data_len;
    }
    return bytes < list->msg.msg_len ? bits : 0;
}

/// Fills in what came behind rx_done; false when there is nothing.
bool describe_early(const Partner *partner, emx_w_x_state &state)
{
    if (partner->receiver.partial)
        state.frags = emx_put32(partner->receiver.partial->reasm.frags);
    if (!partner->receiver.early)
        return partner->receiver.partial;
    uint16_t number = partner->receiver.done;
    for (unsigned i = 0; i < state_numbers; ++i) {
        number = seq::next(number);
        const EarlyPacket *list = partner->receiver.early->slot[number & 0xff];
        if (!list || list->msg.seq != number)
            continue;
        const uint32_t fragments = early_fragments(list);
        if (fragments == 0) {
            set_bit(state, i);
        } else if (emx_get32(state.other_frags) == 0) {
            state.other = emx_put16(number);
            state.other_frags = emx_put32(fragments);
        }
    }
    return true;
}

} // namespace

void Endpoint::send_report(Partner *partner, bool ask)
{
    struct {
        std::byte headroom[send_headroom];
        emx_w_x_state state;
    } frame{};
    emx_msg msg{};
    msg.type = EMX_X_REPORT;
    msg.remote_ep = partner->remote_ep;
    msg.peer = partner->peer;
    msg.session = partner->session;
    msg.ack = partner->receiver.done;
    msg.seq = partner->sender.next;
    msg.data_len = describe_early(partner, frame.state) ? EMX_X_STATE_LEN : 0;
    msg.u.report.counter = ++partner->counters.report_tx;
    msg.u.report.echo = partner->counters.report_rx;
    msg.u.report.room = static_cast<uint16_t>(context_.conf().window_frames);
    msg.u.report.ask = ask;
    port_->send(msg, reinterpret_cast<std::byte *>(&frame.state));
    port_->flush(); // the state is on the stack
    partner->receiver.owes_report = false;
    partner->receiver.acknowledged();
}

void Endpoint::on_report(const emx_msg &msg)
{
    if (!context_.conf().extension)
        return count(EMX_CNT_DROP_EXTENSION);
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || !partner->life.is_connected())
        return count(EMX_CNT_DROP_PARTNER);
    if (!seq::same_session(msg.ack, partner->sender.next) ||
        msg.u.report.counter <= partner->counters.report_rx)
        return count(EMX_CNT_DROP_SEQUENCE);
    partner->counters.report_rx = msg.u.report.counter;
    partner->receiver.heard_a_frame();
    emx_w_x_state state{};
    if (msg.data_len)
        std::memcpy(&state, reinterpret_cast<const void *>(msg.data),
                    std::min<std::size_t>(msg.data_len, sizeof state));
    acks_.note(partner, msg.ack);
    take_acks();
    if (!partner->life.is_connected())
        return;
    const uint64_t asked_ns = partner->sender.take_answer(msg.u.report.echo, now());
    if (msg.data_len || asked_ns)
        repeat_missing(partner, msg.ack, state, asked_ns);
    if (msg.u.report.ask && partner->way.takes_reports() && !gate_.is_lingering())
        owe_answer(partner);
}

/// Repeats what others have overtaken, or a question of that time (0: none), but for the fragments that
/// are there.
void Endpoint::repeat_missing(Partner *partner, uint16_t ack, const emx_w_x_state &state, uint64_t asked_ns)
{
    const RoundTrip &round_trip = partner->sender.round_trip;
    const int newest = highest_bit(state);
    const uint64_t time = now();
    for (TxMessage *tx = partner->sender.unacked.head; tx; tx = tx->next) {
        const uint16_t distance = seq::distance(tx->header.seq, ack);
        if (distance > state_numbers)
            return;
        const int place = distance - 1; // of its bit; the ack's number has none
        if (place >= 0 && has_bit(state, static_cast<unsigned>(place)))
            continue;
        uint32_t here = 0;
        if (distance == 0)
            here = emx_get32(state.frags);
        else if (tx->header.seq == emx_get16(state.other))
            here = emx_get32(state.other_frags);
        const bool asked = tx->sent_ns + round_trip.disorder_ns() < asked_ns;
        const bool overtaken = place < newest || here >> (tx->frames - 1) & 1;
        if (!overtaken && !asked)
            continue; // nothing tells that it is lost; the rest of its fragments may be under way
        const uint64_t age = time - tx->sent_ns;
        const bool lost = newest - place >= overtaking || age > round_trip.lateness_ns();
        // Some never arrive, as on a link that takes no frames so long: ever more rarely.
        if (tx->hurried ? age > round_trip.patience_ns(tx->hurried - 1u) : asked || lost) {
            partner->sender.flight.halve(tx->header.seq, partner->sender.next);
            repeat_lost(tx, here);
        }
    }
}

} // namespace emx

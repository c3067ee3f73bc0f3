// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Repeats what a report shows to be lost, in a round trip instead of half a second (docs/protocol.md).
// Reports only ever hasten repeats: the timers stay.
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/report_state.hpp"
#include "libmx/reliab/sequence.hpp"

#include <algorithm>
#include <cstring>

namespace emx {

namespace {

constexpr int overtaking = 3; // what so many frames have passed is lost, not late

/// Counts the frames that left before that of the message `place` bits beyond the ack's number.
int frames_before(const TxQueue &unacked, uint16_t ack, int place)
{
    int frames = 0;
    for (const TxMessage *tx = unacked.head; tx; tx = tx->next) {
        const uint16_t distance = seq::distance(tx->header.seq, ack);
        if (distance > state_numbers || distance - 1 >= place)
            break;
        frames += !tx->shares_frame;
    }
    return frames;
}

} // namespace

void Endpoint::on_report(const emx_msg &msg)
{
    if (!instance_.conf().extension)
        return drop(EMX_CNT_DROP_EXTENSION);
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || !partner->life.is_connected())
        return drop(EMX_CNT_DROP_PARTNER);
    if (!seq::same_session(msg.ack, partner->sender.next) ||
        msg.u.report.counter <= partner->counters.report_rx)
        return drop(EMX_CNT_DROP_SEQUENCE);
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
    const int newest_frame = frames_before(partner->sender.unacked, ack, newest);
    int next_frame = 0;
    for (TxMessage *tx = partner->sender.unacked.head; tx; tx = tx->next) {
        const int frame = next_frame;
        next_frame += !tx->shares_frame;
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
        const bool lost = newest_frame - frame >= overtaking || age > round_trip.lateness_ns();
        // Some never arrive, as on a link that takes no frames so long: ever more rarely.
        if (tx->hurried ? age > round_trip.patience_ns(tx->hurried - 1u) : asked || lost) {
            partner->sender.flight.halve(tx->header.seq, partner->sender.next);
            repeat_lost(tx, here);
        }
    }
}

} // namespace emx

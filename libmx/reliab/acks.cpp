// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Acknowledgements: owed, sent by themselves when no message carries them, and taken (wire
// specification, 8.2).
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <utility>

namespace emx {

void Endpoint::note_ack(Partner *partner, uint16_t ack)
{
    if (!seq::acks(ack, partner->ack_seen, partner->tx_next)) [[unlikely]]
        return;
    partner->ack_seen = ack;
    if (!partner->ack_listed) [[likely]] {
        partner->ack_listed = true;
        partner->acked_next = std::exchange(acked_, partner);
    }
}

/// Acts upon the acks that messages carried: in a pass that finds nothing else to do, so that a message is
/// not held up by what its predecessors leave behind, and before anyone asks what is acknowledged.
void Endpoint::take_acks()
{
    while (Partner *partner = acked_) {
        acked_ = partner->acked_next;
        partner->ack_listed = false;
        if (partner->state == PartnerState::connected) [[likely]]
            on_ack(partner, partner->ack_seen);
    }
}

void Endpoint::owe_ack(Partner *partner)
{
    partner->ack_owed = true;
    activate(partner);
    auto owed = seq::distance(partner->rx_done, partner->rx_acked);
    // Half of the sender's window of frames: waiting for the delayed ack would stall long messages.
    auto half_window = static_cast<uint32_t>(context_.conf().window_frames) / 2;
    if (owed >= context_.conf().notacked_max || partner->frames_in >= half_window) [[unlikely]]
        ack_soon(partner);
    else if (partner->ack_since_ns == 0 && !partner->stamp_listed) {
        partner->stamp_listed = true;
        partner->unstamped_next =
            std::exchange(unstamped_, partner); // the next empty poll reads the clock; the fast path does not
    }
}

void Endpoint::ack_soon(Partner *partner)
{
    partner->ack_now = true;
    due_acks_.push_back(partner);
}

void Endpoint::hurry_acks()
{
    // The application is away: no message will come soon to carry them, and senders wait 50 ms at most.
    for (Partner *partner = unstamped_; partner; partner = partner->unstamped_next)
        if (partner->ack_owed)
            ack_soon(partner);
}

void Endpoint::stamp_acks(uint64_t time)
{
    uint64_t delay = uint64_t(context_.conf().ack_delay_ms) * 1000000;
    while (Partner *partner = unstamped_) {
        unstamped_ = partner->unstamped_next;
        partner->stamp_listed = false;
        if (!partner->ack_owed || partner->ack_since_ns)
            continue;
        partner->ack_since_ns = time;
        timer_ns_ = std::min(timer_ns_, time + delay);
    }
}

void Endpoint::send_due_acks()
{
    for (Partner *partner : due_acks_)
        if (partner->ack_now || partner->answer_owed)
            send_ack(partner);
    due_acks_.clear();
}

void Endpoint::send_ack(Partner *partner)
{
    if (partner->answer_owed) [[unlikely]]
        return send_report(partner, false);
    emx_msg msg{};
    msg.type = EMX_TRUC;
    msg.remote_ep = partner->remote_ep;
    msg.peer = partner->peer;
    msg.session = partner->session;
    msg.ack = partner->rx_done;
    msg.u.truc.counter = ++partner->ack_counter_tx;
    port_->send(msg, nullptr);
    acknowledged(partner);
}

/// Nothing is owed for what has come until now.
void Endpoint::acknowledged(Partner *partner)
{
    partner->rx_acked = partner->rx_done;
    partner->ack_owed = partner->ack_now = false;
    partner->ack_since_ns = 0;
    partner->frames_in = 0;
}

void Endpoint::on_truc(const emx_msg &msg)
{
    Partner *partner = find_partner(msg.peer, msg.remote_ep);
    if (!partner || partner->state != PartnerState::connected)
        return count(EMX_CNT_DROP_PARTNER);
    if (!seq::same_session(msg.ack, partner->tx_next) || msg.u.truc.counter <= partner->ack_counter_rx)
        return count(EMX_CNT_DROP_SEQUENCE);
    partner->ack_counter_rx = msg.u.truc.counter;
    partner->heard |= Partner::heard_frame;
    note_ack(partner, msg.ack);
    take_acks();
}

} // namespace emx

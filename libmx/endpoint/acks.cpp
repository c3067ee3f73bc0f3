// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Acknowledgements: owed, and sent by themselves when no message carries them (wire specification, 8.2).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

void Endpoint::owe_ack(Partner *partner)
{
    partner->receiver.owe();
    partners_.activate(partner);
    auto owed = seq::distance(partner->receiver.done, partner->receiver.acked);
    // Half of the sender's window of frames: waiting for the delayed ack would stall long messages.
    auto half_window = static_cast<uint32_t>(instance_.conf().window_frames) / 2;
    if (owed >= acks_.messages_per_ack() || partner->receiver.frames_in >= half_window) [[unlikely]]
        hurry_ack(partner);
    else
        acks_.stamp_later(partner);
}

/// An ack that is owed leaves at the end of the pass.
void Endpoint::hurry_ack(Partner *partner)
{
    partner->receiver.owe_now();
    acks_.send_soon(partner);
}

void Endpoint::stamp_acks(uint64_t time)
{
    if (acks_.stamp(time))
        clock_.arm(time + uint64_t(instance_.conf().ack_delay_ms) * 1000000);
}

void Endpoint::send_due_acks()
{
    acks_.send_due([this](Partner *partner) { send_ack(partner); });
}

void Endpoint::send_ack(Partner *partner)
{
    if (partner->receiver.owes_report) [[unlikely]]
        return send_report(partner, false);
    emx_msg msg{};
    msg.type = EMX_TRUC;
    msg.remote_ep = partner->remote_ep;
    msg.peer = partner->peer;
    msg.session = partner->session;
    msg.ack = partner->receiver.done;
    msg.u.truc.counter = ++partner->counters.ack_tx;
    port_->send(msg, nullptr);
    partner->receiver.acknowledged();
}

void Endpoint::on_truc(const emx_msg &msg)
{
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || !partner->life.is_connected())
        return drop(EMX_CNT_DROP_PARTNER);
    if (!seq::same_session(msg.ack, partner->sender.next) || msg.u.truc.counter <= partner->counters.ack_rx)
        return drop(EMX_CNT_DROP_SEQUENCE);
    partner->counters.ack_rx = msg.u.truc.counter;
    partner->receiver.heard_a_frame();
    acks_.note(partner, msg.ack);
    take_acks();
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reports of the EtherMX extension: what is here in spite of a gap (docs/protocol.md).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/report_state.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

namespace {

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
    msg.u.report.room = static_cast<uint16_t>(instance_.conf().window_frames);
    msg.u.report.ask = ask;
    port_->send(msg, reinterpret_cast<std::byte *>(&frame.state));
    port_->flush(); // the state is on the stack
    partner->receiver.owes_report = false;
    partner->receiver.acknowledged();
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequenced sending: numbers, the window, acknowledgement, repeats (wire specification, 8.1 to 8.5).
#include "driver/base/probe.hpp"
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/frames.hpp"
#include "libmx/reliab/sequence.hpp"

#include <algorithm>

namespace emx {

namespace {

void tell_resent([[maybe_unused]] const TxMessage *tx)
{
    EMX_PROBE(5, resent, tx->header.type, tx->header.seq, tx->header.msg_len, tx->partner->address.stuff[0],
              tx->resends + tx->hurried);
}

} // namespace

inline void Endpoint::transmit(TxMessage *tx)
{
    Partner *partner = tx->partner;
    emx_msg &msg = tx->header;
    msg.session = partner->session;
    msg.ack = partner->receiver.done;
    if (msg.type > EMX_SMALL) [[unlikely]]
        transmit_other(tx);
    else
        port_->send(msg, tx->buffer + send_headroom);
    tx->sent_ns = now();
    partner->receiver.acknowledged();
}

void Endpoint::number_and_send(TxMessage *tx)
{
    Partner *partner = tx->partner;
    partner->sender.number(tx);
    partners_.activate(partner);
    transmit(tx);
    tx->first_ns = tx->sent_ns;
    clock_.arm(tx->sent_ns + partner->sender.patience_ns);
}

void Endpoint::enqueue(TxMessage *tx)
{
    Partner *partner = tx->partner;
    if (partner->lists.acked && !partner->may_send(tx))
        take_acks();
    if (partner->sender.waiting.empty() && partner->may_send(tx) && give_window(tx)) [[likely]]
        return number_and_send(tx);
    partner->sender.waiting.push_back(tx);
    partners_.activate(partner);
    if (partner->sender.flight.narrowed())
        ask_for_room(partner);
}

void Endpoint::pump(Partner *partner)
{
    Sender &sender = partner->sender;
    if (!sender.waiting.empty())
        sender.flight.widen(sender.oldest, sender.next);
    while (TxMessage *tx = sender.waiting.head) {
        const bool withdrawn = tx->is_withdrawn();
        if (!withdrawn && (!partner->may_send(tx) || !give_window(tx)))
            return sender.flight.narrowed() ? ask_for_room(partner) : void();
        sender.waiting.pop_front();
        if (withdrawn)
            tx_pool_.bury(tx);
        else
            number_and_send(tx);
    }
}

bool Endpoint::take_window(TxMessage *tx)
{
    if (tx->has_window)
        return true;
    if (windows_.is_full())
        return false;
    windows_.take(tx);
    const Request *request = tx->request;
    EMX_PROBE(3, rendezvous_started, request, request->msg_length, tx->partner->address.stuff[0]);
    port_->open_window(tx->header.u.window.id, tx->header.u.window.tag, tx->partner->peer,
                       tx->partner->remote_ep, request->segments.view(), request->msg_length);
    return true;
}

/// Transmits every packet type but TINY and SMALL.
void Endpoint::transmit_other(TxMessage *tx)
{
    if (tx->partner->way.dialect == Way::Dialect::unknown) [[unlikely]]
        ask_dialect(tx->partner, tx->header.type);
    if (is_medium(tx->header.type)) [[likely]]
        transmit_fragments(tx);
    else
        port_->send(tx->header, nullptr);
}

/// A message leaves in datagrams once; what is repeated may have been lost there.
void Endpoint::choose_datagrams(const TxMessage *tx)
{
    const unsigned times = tx->resends + tx->hurried;
    if (times == 0)
        port_->begin_fragments(tx->partner->peer, tx->partner->remote_ep);
    else if (times == 1)
        port_->repeat_fragments(tx->partner->peer, tx->partner->remote_ep);
}

/// `here`: bits of the fragments that need not be sent.
void Endpoint::transmit_fragments(TxMessage *tx, uint32_t here)
{
    emx_msg &msg = tx->header;
    if (tx->partner->way.goes_by_datagrams(msg.msg_len) && msg.type == EMX_X_MEDIUM)
        choose_datagrams(tx);
    // Repeats start at another fragment each time: a receiver whose queue holds fewer frames than the
    // message has would otherwise lose the same ones for ever.
    uint32_t i = tx->resends * 5u % tx->frames;
    for (uint32_t n = 0; n < tx->frames; ++n, i = (i + 1) % tx->frames) {
        if (here >> i & 1)
            continue;
        msg.u.medium.frag = static_cast<uint8_t>(i);
        msg.u.medium.position = i * tx->frame_data;
        msg.data_len = std::min(msg.msg_len - msg.u.medium.position, tx->frame_data);
        std::byte *payload = frame_at(tx, i);
        if (msg.type == EMX_X_MEDIUM && tx->partner->way.summed) {
            msg.u.medium.summed = 1;
            msg.u.medium.crc = fw_crc32c(0, payload, msg.data_len);
        }
        port_->send(msg, payload);
    }
    if (tx->frames > 1)
        port_->flush();
}

void Endpoint::repeat(TxMessage *tx)
{
    ++tx->resends;
    count(EMX_CNT_RESEND_MESSAGE);
    tell_resent(tx);
    transmit(tx);
}

/// A repeat before its timer ends, without the fragments that are known to be there.
void Endpoint::repeat_lost(TxMessage *tx, uint32_t here)
{
    tx->hurried = static_cast<uint8_t>(std::min(tx->hurried + 1, 255));
    tx->partner->sender.question.since_ns = now();
    count(EMX_CNT_RESEND_MESSAGE);
    tell_resent(tx);
    if (!is_medium(tx->header.type))
        return transmit(tx);
    tx->header.session = tx->partner->session;
    tx->header.ack = tx->partner->receiver.done;
    transmit_fragments(tx, here);
    tx->sent_ns = now();
}

void Endpoint::on_ack(Partner *partner, uint16_t ack)
{
    if (!partner->sender.acknowledge(ack, [this](TxMessage *tx) { finish_acked(tx); })) [[unlikely]]
        return;
    if (!partner->sender.waiting.empty()) [[unlikely]]
        pump(partner);
}

/// Acts upon the acks that messages carried: in a pass that finds nothing else to do, so that a message is
/// not held up by what its predecessors leave behind, and before anyone asks what is acknowledged.
void Endpoint::take_acks()
{
    acks_.take([this](Partner *partner) {
        if (partner->life.is_connected()) [[likely]]
            on_ack(partner, partner->sender.ack_seen);
    });
}

void Endpoint::finish_acked(TxMessage *tx)
{
    tx->acked = true;
    if (tx->header.type == EMX_RNDV && !tx->notified) [[unlikely]]
        return;
    if (tx->request) [[unlikely]]
        complete_send(tx, MX_STATUS_SUCCESS, tx->header.msg_len);
    tx_pool_.bury(tx);
}

void Endpoint::complete_send(TxMessage *tx, int code, uint32_t xfer_length)
{
    Request *request = tx->request;
    if (!request) {
        if (tx->zombie && code != MX_STATUS_SUCCESS)
            completions_.lose(code);
        return;
    }
    tx->request = nullptr;
    request->tx = nullptr;
    request->xfer_length = xfer_length;
    completions_.complete(request, code);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequenced sending: numbers, the window, acknowledgement, resends (wire specification, 8.1 to 8.5).
#include "libmx/endpoint.hpp"
#include "libmx/proto/frames.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

namespace {

constexpr unsigned resend_burst = 4;
constexpr unsigned resends_to_doubt = 16; // about 8 s

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

/// `here`: bits of the fragments that need not be sent.
void Endpoint::transmit_fragments(TxMessage *tx, uint32_t here)
{
    emx_msg &msg = tx->header;
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

/// A repeat before its timer ends, without the fragments that are known to be there.
void Endpoint::repeat_lost(TxMessage *tx, uint32_t here)
{
    tx->hurried = static_cast<uint8_t>(std::min(tx->hurried + 1, 255));
    tx->partner->sender.question.since_ns = now();
    count(EMX_CNT_RESEND_MESSAGE);
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

void Endpoint::repeat(TxMessage *tx)
{
    ++tx->resends;
    count(EMX_CNT_RESEND_MESSAGE);
    transmit(tx);
}

void Endpoint::serve_resends(Partner *partner, uint64_t time)
{
    const uint64_t limit = uint64_t(context_.conf().resends_max) * 500000000;
    const auto resend_ms = static_cast<uint64_t>(context_.conf().resend_ms);
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
    // Whoever keeps us at another index than we heard last drops all in silence; a connect's answer names
    // the right one (6.1).
    if (before != partner->sender.unacked.head->resends &&
        partner->sender.unacked.head->resends % resends_to_doubt == 0 && !partner->connector.is_asking())
        start_connect(partner, identity_.key, nullptr);
    clock_.arm(partner->sender.unacked.head->resend_due(resend_ms));
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequenced sending: numbers, the window, acknowledgement, resends (wire specification, 8.1 to 8.5).
#include "libmx/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

namespace {

// Receivers keep 255 numbers beyond the next one; more in flight would be dropped after one loss (8.5).
constexpr uint16_t numbers_out_max = 250;
constexpr unsigned resend_burst = 4;
constexpr unsigned resends_to_doubt = 16; // about 8 s

bool takes_window(const TxMessage *tx) { return tx->header.type != EMX_NOTIFY; }

} // namespace

bool Endpoint::may_send(const Partner *partner, const TxMessage *tx) const
{
    if (partner->state != PartnerState::connected || !partner->answered) [[unlikely]]
        return false;
    if (seq::distance(partner->tx_next, partner->tx_oldest) >= numbers_out_max) [[unlikely]]
        return false;
    if (partner->frames_out + tx->frames <= partner->flight.limit) [[likely]]
        return true;
    return partner->frames_out == 0;
}

inline void Endpoint::transmit(TxMessage *tx)
{
    Partner *partner = tx->partner;
    emx_msg &msg = tx->header;
    msg.session = partner->session;
    msg.ack = partner->rx_done;
    if (msg.type > EMX_SMALL) [[unlikely]]
        transmit_other(tx);
    else
        port_->send(msg, tx->buffer + send_headroom);
    tx->sent_ns = now();
    partner->rx_acked = partner->rx_done;
    partner->ack_owed = partner->ack_now = false;
    partner->ack_since_ns = 0;
    partner->frames_in = 0;
}

void Endpoint::number_and_send(TxMessage *tx)
{
    Partner *partner = tx->partner;
    tx->header.seq = partner->tx_next;
    partner->tx_next = seq::next(partner->tx_next);
    partner->sent_any = true;
    if (takes_window(tx)) [[likely]]
        partner->frames_out += tx->frames;
    (partner->unacked_tail ? partner->unacked_tail->next : partner->unacked) = tx;
    partner->unacked_tail = tx;
    if (tx->header.type == EMX_RNDV) [[unlikely]] {
        tx->rndv_next = partner->rndv;
        if (partner->rndv)
            partner->rndv->rndv_prev = tx;
        partner->rndv = tx;
    }
    activate(partner);
    transmit(tx);
    tx->first_ns = tx->sent_ns;
    timer_ns_ = std::min(timer_ns_, tx->sent_ns + partner->patience_ns);
}

void Endpoint::enqueue(TxMessage *tx)
{
    Partner *partner = tx->partner;
    if (partner->ack_listed && !may_send(partner, tx))
        take_acks();
    if (!partner->waiting && may_send(partner, tx) && give_window(tx)) [[likely]]
        return number_and_send(tx);
    (partner->waiting_tail ? partner->waiting_tail->next : partner->waiting) = tx;
    partner->waiting_tail = tx;
    activate(partner);
    if (partner->flight.narrowed())
        ask_for_room(partner);
}

void Endpoint::pump(Partner *partner)
{
    if (partner->waiting)
        partner->flight.widen(partner->tx_oldest, partner->tx_next);
    while (TxMessage *tx = partner->waiting) {
        bool withdrawn = tx->header.type == EMX_RNDV && !tx->request && tx->notified;
        if (!withdrawn && (!may_send(partner, tx) || !give_window(tx)))
            return partner->flight.narrowed() ? ask_for_room(partner) : void();
        partner->waiting = tx->next;
        if (!partner->waiting)
            partner->waiting_tail = nullptr;
        tx->next = nullptr;
        if (withdrawn)
            drop_tx(tx);
        else
            number_and_send(tx);
    }
}

/// Transmits every packet type but TINY and SMALL.
void Endpoint::transmit_other(TxMessage *tx)
{
    if (!tx->partner->dialect_known) [[unlikely]]
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
        std::byte *payload = tx->buffer + i * (send_headroom + tx->frame_data) + send_headroom;
        if (msg.type == EMX_X_MEDIUM && tx->partner->summed) {
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
    tx->partner->question.since_ns = now();
    count(EMX_CNT_RESEND_MESSAGE);
    if (!is_medium(tx->header.type))
        return transmit(tx);
    tx->header.session = tx->partner->session;
    tx->header.ack = tx->partner->rx_done;
    transmit_fragments(tx, here);
    tx->sent_ns = now();
}

uint64_t Endpoint::resend_due(const TxMessage *tx) const
{
    unsigned shift = std::min<unsigned>(tx->resends, 10);
    uint64_t interval_ms = std::min<uint64_t>(uint64_t(context_.conf().resend_ms) << shift, 500);
    return tx->sent_ns + interval_ms * 1000000;
}

void Endpoint::on_ack(Partner *partner, uint16_t ack)
{
    if (!seq::acks(ack, partner->tx_oldest, partner->tx_next)) [[unlikely]]
        return;
    partner->tx_oldest = ack;
    while (TxMessage *tx = partner->unacked) {
        uint16_t behind = seq::distance(ack, tx->header.seq);
        if (behind == 0 || behind > seq::number_mask / 2)
            break;
        partner->unacked = tx->next;
        if (!partner->unacked) [[likely]]
            partner->unacked_tail = nullptr;
        tx->next = nullptr;
        if (takes_window(tx)) [[likely]]
            partner->frames_out -= tx->frames;
        finish_acked(tx);
    }
    if (partner->waiting) [[unlikely]]
        pump(partner);
}

void Endpoint::finish_acked(TxMessage *tx)
{
    tx->acked = true;
    if (tx->header.type == EMX_RNDV && !tx->notified) [[unlikely]]
        return;
    if (tx->request) [[unlikely]]
        complete_send(tx, MX_STATUS_SUCCESS, tx->header.msg_len);
    drop_tx(tx);
}

void Endpoint::drop_tx(TxMessage *tx)
{
    zombie_gone(tx);
    tx_pool_.release(tx);
}

void Endpoint::zombie_gone(TxMessage *tx)
{
    if (tx->zombie) [[likely]]
        --zombies_;
    tx->zombie = false;
}

void Endpoint::complete_send(TxMessage *tx, int code, uint32_t xfer_length)
{
    Request *request = tx->request;
    if (!request) {
        if (tx->zombie && code != MX_STATUS_SUCCESS)
            lost(code);
        return;
    }
    tx->request = nullptr;
    request->tx = nullptr;
    request->xfer_length = xfer_length;
    complete(request, code);
}

void Endpoint::serve_resends(Partner *partner, uint64_t time)
{
    uint64_t limit = uint64_t(context_.conf().resends_max) * 500000000;
    TxMessage *tx = partner->unacked;
    const uint32_t before = tx ? tx->resends : 0;
    auto repeat = [&](TxMessage *message) {
        ++message->resends;
        count(EMX_CNT_RESEND_MESSAGE);
        transmit(message);
    };
    for (unsigned burst = 0; tx && burst < resend_burst; tx = tx->next, ++burst) {
        if (time > tx->first_ns + limit)
            return give_up(partner);
        if (time < resend_due(tx))
            break;
        repeat(tx);
    }
    // Open-MX acknowledges again for the last number before its gap alone (8.2): the newest, if only the ack
    // was lost, or any other, so that each gets its turn.
    if (tx && time >= resend_due(partner->unacked_tail))
        repeat(partner->unacked_tail);
    for (unsigned burst = 0; tx && burst < resend_burst; ++burst) {
        TxMessage *longest = tx;
        for (TxMessage *t = tx; t; t = t->next)
            if (t->sent_ns < longest->sent_ns)
                longest = t;
        if (time < resend_due(longest))
            break;
        repeat(longest);
    }
    if (!partner->unacked)
        return;
    // Whoever keeps us at another index than we heard last drops all in silence; a connect's answer names
    // the right one (6.1).
    if (before != partner->unacked->resends && partner->unacked->resends % resends_to_doubt == 0 &&
        !partner->connects)
        start_connect(partner, key_, nullptr);
    timer_ns_ = std::min(timer_ns_, resend_due(partner->unacked));
}

} // namespace emx

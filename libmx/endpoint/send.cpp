// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequenced sending: numbers, the window, acknowledgement, repeats (wire specification, 8.1 to 8.5).
#include "driver/base/probe.hpp"
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/frames.hpp"
#include "libmx/reliab/sequence.hpp"

#include <algorithm>
#include <array>

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
    if (partner->lists.acked && !partner->may_leave(tx))
        take_acks();
    if (partner->sender.waiting.empty() && partner->may_leave(tx) && give_window(tx)) [[likely]]
        return number_and_send(tx);
    line_up(tx);
}

/// Puts a message behind those that wait, for room or for others to share a frame with.
void Endpoint::line_up(TxMessage *tx)
{
    Partner *partner = tx->partner;
    const bool shares = partner->may_share(tx);
    if (shares && partner->sender.held_bytes + bytes_in_pack(tx) > partner->way.pack_bytes)
        pump(partner); // those before it fill a frame
    partner->sender.waiting.push_back(tx);
    partners_.activate(partner);
    if (!shares || !hold(partner, tx))
        pump(partner);
}

void Endpoint::pump(Partner *partner)
{
    Sender &sender = partner->sender;
    sender.held = sender.held_bytes = 0;
    if (partner->way.local && (partner->way.sure || waits_for_sure(partner)))
        return pump_sure(partner);
    if (!sender.waiting.empty())
        sender.flight.widen(sender.oldest, sender.next);
    while (TxMessage *tx = sender.waiting.head) {
        const bool withdrawn = tx->is_withdrawn();
        if (!withdrawn && (!partner->may_send(tx) || !give_window(tx)))
            return sender.flight.narrowed() ? ask_for_room(partner) : void();
        const bool shares = partner->may_share(tx) && tx->next && partner->may_share(tx->next);
        if (shares && sender.numbers_left() > 1) {
            send_pack(partner);
            continue;
        }
        sender.waiting.pop_front();
        if (withdrawn)
            tx_pool_.bury(tx);
        else
            number_and_send(tx);
    }
}

void Endpoint::flush_held()
{
    holds_ = false;
    slot_.held_since_ns.store(0, std::memory_order_relaxed);
    for (Partner *partner : held_)
        partner->sender.holds = false;
    for (Partner *partner : held_)
        if (partner->life.is_connected())
            pump(partner);
    held_.clear();
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
    // Messages that wait for others to share a frame with go on doing so.
    if (!partner->sender.waiting.empty() && !partner->sender.holds) [[unlikely]]
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

// ---- within the host, by a sure way (sure.cpp)

/// Everything but the acks is there for a switch. A program may want sends to complete by acks alone.
bool Endpoint::may_become_sure(const Partner *to)
{
    return to->life.is_connected() && to->sender.is_open() && !to->way.summed &&
           instance_.conf().zombies_max > 0 && port_->begin_sure(to->peer, to->remote_ep, to->session);
}

/// Messages wait for acks. In a stream that never pauses there would be no time for the switch: what waits
/// stays back until all that was sent is acknowledged.
bool Endpoint::waits_for_sure(Partner *partner)
{
    if (partner->sender.waiting.empty() || !may_become_sure(partner))
        return false;
    if (partner->sender.unacked.empty())
        partner->way.sure = true;
    else
        ask_for_room(partner);
    return true;
}

/// False: there is no room now. `posted`: the call that posted it is still under way, so its memory may be
/// read at once, as that of eager messages is.
bool Endpoint::write_sure(TxMessage *tx, bool posted)
{
    Partner *to = tx->partner;
    std::array<Segment, EMX_FRAGS_MAX> pieces;
    const bool eager = tx->header.type != EMX_RNDV && tx->header.type != EMX_NOTIFY;
    const uint32_t frames = eager ? tx->frames : 0;
    for (uint32_t i = 0, left = tx->header.msg_len; i < frames; ++i) {
        const uint32_t bytes = frames == 1 ? left : std::min(left, tx->frame_data);
        pieces[i] = {frame_at(tx, i), bytes};
        left -= bytes;
    }
    tx->header.seq = to->sender.next;
    tx->header.ack = to->receiver.done;
    tx->header.session = to->session;
    emx_msg msg = tx->header;
    msg.data_len = 0;
    if (eager)
        msg.type = eager_type(msg.msg_len);
    else if (posted && msg.type == EMX_RNDV)
        return port_->send_sure(msg, tx->request->segments.view());
    return port_->send_sure(msg, {pieces.data(), frames});
}

/// Writes what waits, in its order, as long as there is room. `posted` is the newest.
void Endpoint::pump_sure(Partner *partner, const TxMessage *posted)
{
    while (TxMessage *tx = partner->way.sure ? partner->sender.waiting.head : nullptr) {
        const bool withdrawn = tx->is_withdrawn();
        if (!withdrawn && (!give_window(tx) || !write_sure(tx, tx == posted)))
            return;
        partner->sender.waiting.pop_front();
        if (!withdrawn)
            number_sure(tx);
        if (!withdrawn && tx->header.type == EMX_RNDV)
            continue;
        complete_send(tx, MX_STATUS_SUCCESS, tx->header.msg_len);
        tx_pool_.bury(tx);
    }
}

/// It was written: only an announcement has a future.
void Endpoint::number_sure(TxMessage *tx)
{
    Partner *partner = tx->partner;
    const bool announced = tx->header.type == EMX_RNDV;
    partner->sender.number_sure(announced ? tx : nullptr);
    partner->receiver.acknowledged();
    if (!announced)
        return;
    tx->acked = true;
    partners_.activate(partner); // whether it lives is asked until the NOTIFY comes
    clock_.arm(now() + partner->sender.patience_ns);
}

void Endpoint::enqueue_sure(TxMessage *tx)
{
    tx->partner->sender.waiting.push_back(tx);
    partners_.activate(tx->partner);
    pump_sure(tx->partner, tx);
}

/// A NOTIFY frees things, and so goes before messages that have no number yet.
void Endpoint::notify_sure(TxMessage *tx)
{
    tx->partner->sender.waiting.push_behind_own_type(tx);
    partners_.activate(tx->partner);
    pump_sure(tx->partner);
}

void Endpoint::on_sure_room(const emx_msg &msg)
{
    if (Partner *partner = partners_.find(msg.peer, msg.remote_ep))
        pump_sure(partner);
}

} // namespace emx

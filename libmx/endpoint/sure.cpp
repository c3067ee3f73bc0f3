// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages within a host, once the way there is sure: they have numbers, and nothing else of what makes
// frames reliable. Their copy is the ring itself: what the receiver leaves in it when it goes comes back, and
// is sent in frames, whose refusal says why (docs/decisions/0031-rings-need-no-acks.md).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/frames.hpp"
#include "libmx/reliab/sequence.hpp"

namespace emx {

/// The one switch from frames: when everything before is acknowledged, and nothing waits.
bool Endpoint::begin_sure(Partner *to)
{
    if (!to->sender.unacked.empty() || !to->sender.waiting.empty() || !may_become_sure(to))
        return false;
    to->way.sure = true;
    return true;
}

/// There is no room: the one case in which a message is copied apart. With many such it completes when it is
/// written.
void Endpoint::queue_sure(Request *request, std::span<const Segment> segments, uint32_t bytes, Partner *to)
{
    TxMessage *tx = copy_eager(segments, bytes, to, request->match);
    request->buffered = true;
    if (tx_pool_.make_zombie(tx, static_cast<uint32_t>(instance_.conf().zombies_max))) {
        request->xfer_length = bytes;
        completions_.complete(request, MX_STATUS_SUCCESS);
    } else {
        tx->request = request;
        request->tx = tx;
    }
    enqueue_sure(tx);
}

/// An eager message in frames of its own.
TxMessage *Endpoint::copy_eager(std::span<const Segment> segments, uint32_t bytes, Partner *to,
                                uint64_t match)
{
    TxMessage *tx;
    if (bytes > EMX_SMALL_MAX) {
        tx = make_medium(tx_pool_, segments, bytes, to->way);
    } else {
        tx = tx_pool_.allocate(static_cast<uint32_t>(send_headroom) + bytes);
        tx->header = emx_msg{};
        tx->header.type = eager_type(bytes);
        gather(tx->buffer + send_headroom, segments, 0, bytes);
    }
    tx->partner = to;
    tx->header.remote_ep = to->remote_ep;
    tx->header.peer = to->peer;
    tx->header.match = match;
    tx->header.msg_len = tx->header.data_len = bytes;
    return tx;
}

/// A packet that comes back, as it would stand among the unacknowledged ones if it had gone as a frame.
TxMessage *Endpoint::restore_sure(Partner *partner, const emx_msg &msg)
{
    if (msg.type != EMX_RNDV && msg.type != EMX_NOTIFY) {
        const Segment whole{reinterpret_cast<std::byte *>(msg.data), msg.msg_len};
        TxMessage *tx = copy_eager({&whole, 1}, msg.msg_len, partner, msg.match);
        tx_pool_.make_zombie(tx, UINT32_MAX); // its request is complete
        return tx;
    }
    for (TxMessage *tx = partner->sender.rndv; tx; tx = tx->rndv_next)
        if (msg.type == EMX_RNDV && tx->header.seq == msg.seq) {
            tx->acked = false;
            return tx;
        }
    TxMessage *tx = tx_pool_.allocate(0);
    tx->partner = partner;
    tx->notified = msg.type == EMX_RNDV; // its request has ended, its number has to come all the same
    tx->header = emx_msg{};
    tx->header.type = msg.type;
    tx->header.remote_ep = partner->remote_ep;
    tx->header.peer = partner->peer;
    tx->header.match = msg.match;
    tx->header.msg_len = msg.msg_len;
    tx->header.u.window = msg.u.window;
    return tx;
}

/// The way ends: what the receiver has not taken is unacknowledged from now on. False: that is not what was
/// written.
bool Endpoint::take_back_sure(Partner *partner)
{
    Sender &sender = partner->sender;
    partner->way.sure = false;
    bool good = true;
    const uint64_t time = now();
    uint16_t number = sender.next;
    uint32_t count = 0;
    port_->take_back(partner->peer, partner->remote_ep, [&](const emx_msg &msg) {
        if (sender.unacked.empty())
            number = msg.seq;
        const bool is_eager = msg.type != EMX_RNDV && msg.type != EMX_NOTIFY; // those name large messages
        // More than there are numbers could not be told apart any more.
        good = good && ++count <= seq::number_mask && msg.seq == number &&
               (!is_eager || msg.msg_len <= eager_most);
        if (!good)
            return;
        TxMessage *tx = restore_sure(partner, msg);
        tx->header.seq = number;
        tx->first_ns = tx->sent_ns = time;
        number = seq::next(number);
        sender.take_back(tx);
    });
    return good && number == sender.next;
}

} // namespace emx

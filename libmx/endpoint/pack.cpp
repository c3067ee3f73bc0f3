// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Several short messages in one frame (docs/protocol.md, X PACK; decision 32). The first messages to a
// partner leave as they are posted. While more than a few frames to it are not acknowledged, further ones
// wait until a frame is full or the program returns from any call but a send; should it make none, whoever
// watches sends them.
#include "driver/core/fw_pack.h"
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace emx {

namespace {

// A frame for a longer stream is full before its bytes are: the receiver works on it while the next is made.
constexpr uint32_t messages_in_full = 64;

} // namespace

/// A session has just agreed: short messages to it may share frames, if it takes them.
void Endpoint::choose_packs(Partner *partner)
{
    const int after = instance_.conf().pack_after;
    if (after == 0 || !(emx_offer_features(partner->way.offer) & EMX_X_PACKS) ||
        port_->peer_is_local(partner->peer))
        return;
    const uint32_t bytes = std::min(port_->pack_bytes(), fw_x_pack_max(emx_offer_frame(partner->way.offer)));
    if (bytes < 2 * (FW_PACKED_HEADER + EMX_SMALL_MAX))
        return;
    partner->way.pack_bytes = bytes;
    partner->way.packed_max = EMX_SMALL_MAX;
    if (emx_offer_features(partner->way.offer) & EMX_X_LONG_PACKS)
        partner->way.packed_max = std::min(static_cast<uint32_t>(instance_.conf().pack_longest),
                                           bytes / 2 - FW_PACKED_HEADER); // two fit
    if (pack_.size() < send_headroom + bytes)
        pack_.resize(send_headroom + bytes);
    if (instance_.has_watcher())
        partner->sender.flight.hold_beyond(static_cast<uint16_t>(after));
}

/// False: what waits is to be sent, as far as there is room, since it fills a frame or nobody would send it
/// in time.
bool Endpoint::hold(Partner *partner, const TxMessage *tx)
{
    Sender &sender = partner->sender;
    ++sender.held;
    sender.held_bytes += bytes_in_pack(tx);
    if (sender.held >= messages_in_full || sender.held_bytes + bytes_in_pack(tx) > partner->way.pack_bytes) {
        clock_.charge_sends();
        return false;
    }
    if (sender.holds) {
        clock_.excuse_send();
        return true;
    }
    if (gate_.is_lingering() || (!holds_ && !instance_.watch_held(slot_, now())))
        return false;
    sender.holds = holds_ = true;
    held_.push_back(partner);
    return true;
}

/// Sends the leading messages of the queue in one frame: two or more that are short. There is room for a
/// frame.
void Endpoint::send_pack(Partner *partner)
{
    Sender &sender = partner->sender;
    const uint32_t most = sender.numbers_left();
    std::byte *payload = pack_.data() + send_headroom;
    emx_msg msg{};
    msg.seq = sender.next;
    TxMessage *const first = sender.waiting.head;
    TxMessage *last = nullptr;
    while (TxMessage *tx = sender.waiting.head) {
        if (!partner->may_share(tx) || msg.u.pack.count >= most ||
            msg.data_len + bytes_in_pack(tx) > partner->way.pack_bytes)
            break;
        last = sender.waiting.pop_front();
        fw_pack_put(payload + msg.data_len, &tx->header);
        std::memcpy(payload + msg.data_len + FW_PACKED_HEADER, tx->buffer + send_headroom,
                    tx->header.msg_len);
        msg.data_len += bytes_in_pack(tx);
        ++msg.u.pack.count;
        tx->shares_frame = true;
        sender.number(tx);
    }
    if (!last)
        __builtin_unreachable(); // for clang-tidy: the caller has seen two that fit
    last->shares_frame = false; // it stands for the frame: acks are for all before a number
    ++sender.frames_out;
    msg.type = EMX_X_PACK;
    msg.remote_ep = partner->remote_ep;
    msg.peer = partner->peer;
    msg.session = partner->session;
    msg.ack = partner->receiver.done;
    if (emx_offer_features(partner->way.offer) & EMX_X_SUMS) { // also where it takes no X MEDIUM
        msg.u.pack.summed = 1;
        msg.u.pack.crc = fw_crc32c(0, payload, msg.data_len);
    }
    if (port_->send(msg, payload))
        emx_count(&port_->counters(), EMX_CNT_PACKED, msg.u.pack.count);
    port_->flush(); // the next one is made in the same place
    const uint64_t time = now();
    for (TxMessage *tx = first; tx; tx = tx->next)
        tx->sent_ns = tx->first_ns = time;
    partners_.activate(partner);
    partner->receiver.acknowledged();
    clock_.arm(time + sender.patience_ns);
}

} // namespace emx

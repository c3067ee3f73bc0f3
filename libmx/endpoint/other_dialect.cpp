// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A peer has answered that it speaks the other dialect: one of ours gets messages by the extension, which
// both speak; a stranger has none, and is left with short messages (wire specification, section 1).
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/frames.hpp"

#include <vector>

namespace emx {

void Endpoint::on_answer(const emx_msg &msg)
{
    for (unsigned number = 0; number < EMX_ENDPOINTS_MAX; ++number) {
        Partner *partner = partners_.latest(msg.peer, static_cast<uint8_t>(number));
        if (!partner || partner->way.question == 0 || partner->life.is_dead())
            continue;
        const bool is_n = msg.match == emx_answer_n(partner->way.question);
        if (!is_n && msg.match != emx_answer_w(partner->way.question))
            continue;
        const bool was_other = partner->way.is_of_other_dialect();
        partner->way.learn_dialect(is_n ? 'N' : 'W', dialect_to(partner));
        return partner->way.is_of_other_dialect() ? take_other_dialect(partner, !was_other) : void();
    }
    drop(EMX_CNT_DROP_NACK);
}

void Endpoint::take_other_dialect(Partner *partner, bool is_news)
{
    if (partner->way.offer)
        return send_by_extension(partner);
    partner->way.detour = true; // where longer messages fail
    if (is_news)
        warn_of_dialect(partner);
    refuse_pulls(partner);
    for (TxMessage *tx = partner->sender.rndv, *next; tx; tx = next) {
        next = tx->rndv_next;
        end_rendezvous(tx, MX_STATUS_ENDPOINT_UNREACHABLE, 0);
    }
    bool is_held_up = false; // by a message that is never taken
    for (const TxQueue *queue : {&partner->sender.unacked, &partner->sender.waiting})
        queue->each([&](const TxMessage *tx) { is_held_up |= tx->header.type == EMX_MEDIUM; });
    if (is_held_up)
        fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
}

/// Messages to one of ours go as X MEDIUM from now on; those that it has dropped, too.
void Endpoint::send_by_extension(Partner *partner)
{
    choose_fragments(partner);
    if (!partner->way.x_medium_bytes)
        return;
    for (TxMessage *tx = partner->sender.unacked.head; tx; tx = tx->next) {
        if (tx->header.type != EMX_MEDIUM)
            continue;
        const uint32_t before = tx->frames;
        convert_to_extension(tx_pool_, tx, partner->way);
        partner->sender.frames_out += tx->frames - before;
        transmit_fragments(tx);
    }
}

/// It drops our pull requests, and would be asked for minutes.
void Endpoint::refuse_pulls(const Partner *partner)
{
    const std::vector<Incoming *> vain = pulls_.of(partner);
    for (Incoming *in : vain) {
        cancel_pull(in);
        send_notify(in->partner, in->msg, 0);
        finish_receive(in, MX_STATUS_BAD_RDMAWIN);
    }
    if (!vain.empty())
        retry_pulls();
}

} // namespace emx

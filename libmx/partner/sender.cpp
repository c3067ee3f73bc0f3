// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The rarer books of the sending direction: see sender.hpp.
#include "libmx/partner/sender.hpp"

namespace emx {

void TxQueue::push_behind_own_type(TxMessage *tx)
{
    TxMessage **at = &head;
    while (*at && (*at)->header.type == tx->header.type)
        at = &(*at)->next;
    tx->next = *at;
    *at = tx;
    if (!tx->next)
        tail = tx;
}

void Sender::announce(TxMessage *tx)
{
    tx->rndv_next = rndv;
    if (rndv)
        rndv->rndv_prev = tx;
    rndv = tx;
}

void Sender::unannounce(TxMessage *tx)
{
    if (rndv == tx)
        rndv = tx->rndv_next;
    else if (tx->rndv_prev)
        tx->rndv_prev->rndv_next = tx->rndv_next;
    if (tx->rndv_next)
        tx->rndv_next->rndv_prev = tx->rndv_prev;
    tx->rndv_prev = tx->rndv_next = nullptr;
}

bool Sender::is_midway() const
{
    bool midway = false;
    unacked.each([&](const TxMessage *tx) { midway |= tx->frames > 1; });
    waiting.each([&](const TxMessage *tx) { midway |= tx->header.type == EMX_NOTIFY; });
    return midway;
}

uint64_t Sender::take_answer(uint32_t echo, uint64_t time_ns)
{
    if (question.counter == 0 || echo < question.counter)
        return 0;
    if (echo == question.counter) { // a later one of ours may have waited for its echo
        round_trip.take(time_ns - question.sent_ns);
        patience_ns = round_trip.patience_ns();
    }
    question.counter = 0;
    return question.sent_ns;
}

} // namespace emx

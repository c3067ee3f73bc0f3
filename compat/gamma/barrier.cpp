// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "api.hpp"

namespace emx_gamma {

uint32_t Barrier::arrive(uint32_t sum, bool one_thread)
{
    sum &= port_mask; // as it travels
    const uint32_t number = ++called_;
    if (node_.number() == 0)
        take_arrival(0, sum, one_thread);
    else
        node_.tell(node_.peers_[0], Kind::arrived, 0, sum, one_thread);
    return number;
}

void Barrier::take_arrival(uint32_t node, uint32_t sum, bool one_thread)
{
    Arrivals &arrivals = arrivals_[node];
    ++arrivals.count;
    arrivals.sum = sum;
    arrivals.one_thread = one_thread;
    advance();
}

void Barrier::take_release() { ++released_; }

/// Releases all when all have come.
void Barrier::advance()
{
    if (node_.sync_error_)
        return;
    for (uint32_t i = 0; i < arrivals_.size(); i++)
        if (!has_come(i))
            return look_for_missing();
    const Arrivals &own = arrivals_[0];
    for (const Arrivals &arrivals : arrivals_)
        if (arrivals.one_thread && own.one_thread && arrivals.sum != own.sum)
            return node_.give_up(GAMMA_E_GROUP);
    ++released_;
    node_.broadcast_.tell(Kind::release);
}

void Barrier::look_for_missing()
{
    if (node_.number() != 0 || node_.closing_)
        return;
    bool awaited = false; // a node that has left is missed only by nodes in a barrier
    for (uint32_t i = 0; i < arrivals_.size(); i++)
        awaited |= has_come(i);
    for (uint32_t i = 1; i < arrivals_.size(); i++) {
        const Peer &peer = node_.peers_[i];
        if (!has_come(i) && (peer.dead || (peer.left && awaited)))
            return node_.give_up(GAMMA_E_PEER);
    }
}

} // namespace emx_gamma

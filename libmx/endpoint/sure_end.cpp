// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The sure way to a partner of this host has ended while the partner is none that is known to be dead: frames
// find out why.
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

void Endpoint::on_sure_end(const emx_msg &msg)
{
    Partner *partner = partners_.find(msg.peer, msg.remote_ep);
    if (!partner || !partner->way.sure)
        return port_->take_back(msg.peer, msg.remote_ep, [](const emx_msg &) {});
    if (!take_back_sure(partner))
        return give_up(partner);
    partners_.activate(partner);
    clock_.arm(now() + partner->sender.patience_ns);
    auto left = static_cast<uint32_t>(instance_.conf().window_frames);
    for (TxMessage *tx = partner->sender.unacked.head; tx && left >= tx->frames; tx = tx->next) {
        left -= tx->frames;
        repeat(tx);
    }
    pump(partner);
}

} // namespace emx

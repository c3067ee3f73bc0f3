// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Traces the stages of messages of an endpoint.
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/reliab/sequence.hpp"

#include <algorithm>

namespace emx {

namespace {

uint64_t key_of(uint32_t peer, uint8_t remote_ep, uint16_t seq)
{
    return uint64_t{peer} << 24 | uint64_t{remote_ep} << 16 | seq;
}

} // namespace

std::vector<uint64_t> Endpoint::waiting_messages() const
{
    std::vector<uint64_t> keys;
    const auto add = [&](const Incoming *in) {
        if (!in->partner->self)
            keys.push_back(key_of(in->partner->peer, in->partner->remote_ep, in->seq));
    };
    for (const Incoming *in = accepted_.front(); in; in = in->next)
        add(in);
    for (const Incoming *in = matcher_.first_unexpected(); in; in = Matcher::next_unexpected(in))
        add(in);
    std::sort(keys.begin(), keys.end());
    return keys;
}

Endpoint::Stage Endpoint::stage_of(uint32_t peer, uint8_t remote_ep, uint16_t seq,
                                   const std::vector<uint64_t> &waiting) const
{
    const uint64_t key = key_of(peer, remote_ep, seq);
    const Partner *partner = partners_.latest(peer, remote_ep); // those before it are dead
    if (!partner || !partner->life.is_connected() || !seq::same_session(seq, partner->receiver.next))
        return Stage::none;
    if (partner->receiver.partial && partner->receiver.partial->seq == seq)
        return Stage::partial;
    if (seq::distance(seq, partner->receiver.next) <= seq::number_mask / 2)
        return Stage::early;
    return std::binary_search(waiting.begin(), waiting.end(), key) ? Stage::unexpected : Stage::matched;
}

} // namespace emx

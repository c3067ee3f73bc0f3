// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A peer that does not answer for seconds: messages wait much longer for it, and users are told why their
// programs stand still.
#include "libmx/endpoint/endpoint.hpp"

#include <cstdio>

namespace emx {

namespace {

constexpr uint64_t second_ns = 1000000000;
constexpr uint64_t worth_a_word_ns = 5 * second_ns;

} // namespace

/// Once a partner: what was first sent then has been repeated in vain until now.
void Endpoint::warn_of_silence(Partner *partner, uint64_t since_ns, uint64_t time)
{
    if (time - since_ns < worth_a_word_ns || !partner->connector.tells_silence())
        return;
    const auto peer = static_cast<unsigned long long>(partner->nic_id);
    const unsigned seconds = static_cast<unsigned>((time - since_ns) / second_ns);
    const int limit = instance_.conf().resends_max / 2;
    char text[384];
    if (identity_.board.up)
        std::snprintf(
            text, sizeof(text),
            "endpoint %u of host %012llx has not answered for %u s: is its link up, does the host run, is "
            "the program there stopped? Messages to it wait, and fail after %d s (OMX_RESENDS_MAX)",
            unsigned{partner->remote_ep}, peer, seconds, limit);
    else
        std::snprintf(
            text, sizeof(text),
            "the link of %s is down here: plug it in, or ip link set %s up. Messages to host %012llx wait "
            "for it, and fail after %d s (OMX_RESENDS_MAX)",
            identity_.board.interface.c_str(), identity_.board.interface.c_str(), peer, limit);
    instance_.warn(text, &identity_.board, number());
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pauses, keys, secrets and addresses that the ways of datagrams and those of connections have in common.
#pragma once

#include "driver/base/interface.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/core/fw.h"

#include <algorithm>
#include <cstdint>

namespace emx {

/// Between two times that an address is told.
inline constexpr uint64_t way_pause_first_ns = 10'000'000;
/// The same at least, after a way that was up has failed.
inline constexpr uint64_t way_pause_fallen_ns = 100'000'000;
inline constexpr uint64_t way_pause_max_ns = 10'000'000'000;

/// Returns the pause after the failure of a way that has served for so long, `pause` after its last start:
/// one that served long begins anew.
inline uint64_t pause_after_failure(uint64_t pause, uint64_t served_ns)
{
    return served_ns > way_pause_max_ns ? way_pause_fallen_ns
                                        : std::clamp(2 * pause, way_pause_fallen_ns, way_pause_max_ns);
}

/// A remote endpoint as a key of maps.
inline uint64_t way_key(uint32_t peer, uint8_t remote_ep) { return uint64_t{peer} << 8 | remote_ep; }

/// Random bits that are not 0, and no key of that map.
template <class Map>
uint64_t new_secret(const Map &taken)
{
    uint64_t secret;
    do
        secret = sys::random_bits();
    while (secret == 0 || taken.contains(secret));
    return secret;
}

/// Returns what a way's other end is told of it; the caller fills in the place.
template <class Way>
fw_address told_of(const Way &way, uint16_t bytes)
{
    fw_address own{};
    own.secret = way.secret;
    own.peer = way.peer;
    own.session = way.session;
    own.bytes = bytes;
    own.remote_ep = way.remote_ep;
    return own;
}

/// The same with the address of our endpoint in that network.
template <class Way>
fw_address address_for(const Way &way, const IpNetwork &network, uint8_t endpoint, uint16_t bytes)
{
    fw_address own = told_of(way, bytes);
    own.address = network.address;
    own.port = static_cast<uint16_t>(EMX_X_PORT + endpoint);
    return own;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pauses and keys that the ways of datagrams and those of connections have in common.
#pragma once

#include <cstdint>

namespace emx {

/// Between two times that an address is told.
inline constexpr uint64_t way_pause_first_ns = 10'000'000;
/// The same at least, after a way that was up has failed.
inline constexpr uint64_t way_pause_fallen_ns = 100'000'000;
inline constexpr uint64_t way_pause_max_ns = 10'000'000'000;

/// A remote endpoint as a key of maps.
inline uint64_t way_key(uint32_t peer, uint8_t remote_ep) { return uint64_t{peer} << 8 | remote_ep; }

} // namespace emx

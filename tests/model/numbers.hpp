// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequence numbers: 14 bits that count and 2 that name a session (section 8.1).
#pragma once

#include <cstdint>

namespace emx::model {

inline constexpr uint16_t session_bits = 0xc000;
inline constexpr uint16_t half = 0x2000; ///< differences below it are steps ahead

/// (b - a) modulo 2^14.
inline uint16_t distance(uint16_t a, uint16_t b) { return static_cast<uint16_t>((b - a) & 0x3fff); }

inline uint16_t next(uint16_t n) { return static_cast<uint16_t>((n & session_bits) | ((n + 1) & 0x3fff)); }

} // namespace emx::model

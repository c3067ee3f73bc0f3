// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sequence numbers: 14 bits that count, 2 session bits on top that stay (wire specification, 8.1).
#pragma once

#include <cstdint>

namespace emx::seq {

inline constexpr uint16_t number_mask = 0x3fff;
inline constexpr uint16_t session_mask = 0xc000;
inline constexpr uint16_t just_before = 0x3fff; ///< distance of the number before

/// (a - b) modulo 2^14.
constexpr uint16_t distance(uint16_t a, uint16_t b) { return static_cast<uint16_t>(a - b) & number_mask; }
constexpr uint16_t next(uint16_t a)
{
    return static_cast<uint16_t>((a & session_mask) | ((a + 1) & number_mask));
}
constexpr bool same_session(uint16_t a, uint16_t b) { return ((a ^ b) & session_mask) == 0; }
/// First number of the session after that of `a`.
constexpr uint16_t next_session(uint16_t a)
{
    return static_cast<uint16_t>(((a & session_mask) + 0x4000) & session_mask) | 1;
}
/// An ack takes effect iff it lies in (oldest, next].
constexpr bool acks(uint16_t ack, uint16_t oldest, uint16_t next_number)
{
    uint16_t d = distance(ack, oldest);
    return d >= 1 && d <= distance(next_number, oldest);
}

} // namespace emx::seq

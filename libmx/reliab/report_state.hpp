// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The bits of a report: a bit for each of the numbers behind the acknowledged one (docs/protocol.md).
#pragma once

#include <cstdint>
#include <emx/wire.h>

namespace emx {

inline constexpr unsigned state_numbers = 128; // that the bits of a report stand for

inline void set_bit(emx_w_x_state &state, unsigned i)
{
    state.here[i / 8] |= static_cast<uint8_t>(1u << i % 8);
}

inline bool has_bit(const emx_w_x_state &state, unsigned i) { return state.here[i / 8] >> i % 8 & 1; }

/// The number of the highest bit that is set; -1: none is.
inline int highest_bit(const emx_w_x_state &state)
{
    for (int i = state_numbers - 1; i >= 0; --i)
        if (has_bit(state, static_cast<unsigned>(i)))
            return i;
    return -1;
}

} // namespace emx

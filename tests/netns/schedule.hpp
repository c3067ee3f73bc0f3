// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A seeded plan of messages of one direction between two endpoints, and of the receives that take
// them. Sender and receiver draw the same plan, so the receiver knows what each receive must get.
#pragma once

#include "tests/support/rng.hpp"

#include <cstdint>
#include <vector>

namespace emx::test {

inline constexpr uint32_t longest_message = 1 << 20;

/// Receives wait, at most, for a message this far ahead of the oldest one that is missing. A process
/// that keeps more sends than this under way cannot wait for a receive that waits for it.
inline constexpr uint32_t block_length = 48;

struct PlannedMessage {
    uint64_t match;
    uint32_t length;
    bool synchronous;
};

struct PlannedReceive {
    uint64_t match, mask;
    uint32_t message; ///< number of the one it must get, by the matching rules
};

/// Messages in order of sending, receives in order of posting. Blocks of messages are received
/// either by receives that take anything, or, mixed, by receives for one message each, in any order,
/// and by receives for the next message of a lane; the lanes overtake each other.
struct Schedule {
    /// `large_permille` of the messages are longer than the largest eager one.
    Schedule(uint64_t seed, uint32_t messages, uint32_t large_permille);

    std::vector<PlannedMessage> messages;
    std::vector<PlannedReceive> receives;
};

} // namespace emx::test

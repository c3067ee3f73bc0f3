// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Copies of what messages carry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace emx {

namespace copying {

/// The first and the last sizeof(Word) bytes, which overlap: any length from one to two words.
template <class Word>
inline void ends(std::byte *to, const std::byte *from, std::size_t length)
{
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + length - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + length - sizeof(Word), &last, sizeof(Word));
}

struct Wide {
    uint64_t word[2];
};

inline constexpr std::size_t long_from = 4096;

/// memcpy() of long ones, which the C library leaves to the string instructions of the processor. Those of
/// some (AMD, Zen 3) take 15 times as long to a place that is up to 15 bytes ahead of its source, modulo 4096
/// (docs/performance/findings.md); shorter pieces go by other instructions.
[[gnu::noinline]] inline void copy_long(std::byte *to, const std::byte *from, std::size_t length)
{
    constexpr std::size_t piece = 2048, near = 16;
    const std::size_t ahead =
        (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % long_from;
    std::size_t most = ahead - 1 < near - 1 ? piece : length;
    for (; length > 0; length -= most, to += most, from += most) {
        most = std::min(most, length);
        std::memcpy(to, from, most);
    }
}

} // namespace copying

/// memcpy() for lengths that are mostly small. The C library's is reached through two tables and lies on
/// pages of its own: between two messages the kernel takes all of that out of the first cache, and a copy of
/// eight bytes costs more to find than to make. Three such copies are on the path of a message.
[[gnu::hot, gnu::noinline]] inline void copy_bytes(std::byte *to, const std::byte *from, std::size_t length)
{
    using copying::ends;
    using copying::Wide;
    if (length >= copying::long_from) [[unlikely]] {
        copying::copy_long(to, from, length);
    } else if (length > 4 * sizeof(Wide)) [[unlikely]] {
        std::memcpy(to, from, length);
    } else if (length > 2 * sizeof(Wide)) {
        ends<Wide>(to, from, 2 * sizeof(Wide));
        ends<Wide>(to + length - 2 * sizeof(Wide), from + length - 2 * sizeof(Wide), 2 * sizeof(Wide));
    } else if (length >= sizeof(Wide)) {
        ends<Wide>(to, from, length);
    } else if (length >= sizeof(uint64_t)) {
        ends<uint64_t>(to, from, length);
    } else if (length >= sizeof(uint32_t)) {
        ends<uint32_t>(to, from, length);
    } else if (length >= sizeof(uint16_t)) {
        ends<uint16_t>(to, from, length);
    } else if (length == 1) {
        *to = *from;
    }
}

} // namespace emx

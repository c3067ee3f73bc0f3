// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Copies of what a frame of a TINY or SMALL message carries.
#pragma once

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

} // namespace copying

/// memcpy() for lengths that are mostly small. The C library's is reached through two tables and lies on
/// pages of its own: between two messages the kernel takes all of that out of the first cache, and a copy of
/// eight bytes costs more to find than to make. Three such copies are on the path of a message.
[[gnu::hot, gnu::noinline]] inline void copy_bytes(std::byte *to, const std::byte *from, std::size_t length)
{
    using copying::ends;
    using copying::Wide;
    if (length > 4 * sizeof(Wide)) [[unlikely]] {
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

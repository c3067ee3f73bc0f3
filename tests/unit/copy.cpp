// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// copy_bytes(): every small length at every alignment, long ones at every distance, and nothing beside it.
#include "driver/base/copy.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

using namespace emx;

TEST_CASE("copy__exactly_the_bytes_asked_for", "[copy]")
{
    constexpr std::size_t longest = 130, margin = 16;
    constexpr std::byte untouched{0xee};
    std::array<std::byte, longest + 2 * margin> from;
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::byte>(i * 7 + 1);
    for (std::size_t length = 0; length <= longest; ++length) {
        for (std::size_t shift = 0; shift < margin; ++shift) {
            std::array<std::byte, longest + 2 * margin> to;
            to.fill(untouched);
            copy_bytes(&to[shift], &from[margin - shift], length);
            INFO("length " << length << ", shift " << shift);
            REQUIRE(std::all_of(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(shift),
                                [](std::byte b) { return b == untouched; }));
            REQUIRE(std::equal(to.begin() + static_cast<std::ptrdiff_t>(shift),
                               to.begin() + static_cast<std::ptrdiff_t>(shift + length),
                               from.begin() + static_cast<std::ptrdiff_t>(margin - shift)));
            REQUIRE(std::all_of(to.begin() + static_cast<std::ptrdiff_t>(shift + length), to.end(),
                                [](std::byte b) { return b == untouched; }));
        }
    }
}

TEST_CASE("copy__long_ones_at_every_distance_modulo_a_page", "[copy]")
{
    constexpr std::size_t page = 4096, longest = 3 * page, margin = 64;
    std::vector<std::byte> from(longest + page + margin), to(longest + page + margin);
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::byte>(i * 7 + i / 251);
    for (const std::size_t length : {page - 1, page, page + 1, 2 * page, 2 * page + 2047, longest}) {
        for (std::size_t shift = 0; shift <= 2 * margin; ++shift) {
            constexpr std::byte untouched{0xee};
            std::fill(to.begin(), to.end(), untouched);
            const std::size_t at = shift % margin, source = shift < margin ? 0 : margin;
            copy_bytes(&to[at], &from[source], length);
            INFO("length " << length << ", shift " << shift);
            REQUIRE(std::memcmp(&to[at], &from[source], length) == 0);
            REQUIRE(std::count(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(at), untouched) ==
                    static_cast<std::ptrdiff_t>(at));
            REQUIRE(std::all_of(to.begin() + static_cast<std::ptrdiff_t>(at + length), to.end(),
                                [](std::byte b) { return b == untouched; }));
        }
    }
}

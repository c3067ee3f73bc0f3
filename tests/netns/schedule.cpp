// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Drawing a plan of messages and receives. See schedule.hpp.
#include "tests/netns/schedule.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <array>
#include <deque>

namespace emx::test {
namespace {

constexpr uint32_t eager_max = 32768;

// Match information: block, lane, half of the lane, number.
constexpr unsigned block_shift = 48, lane_shift = 40, half_shift = 32;
constexpr uint64_t lane_mask = ~uint64_t{0} << lane_shift;
constexpr uint64_t half_mask = ~uint64_t{0} << half_shift;

enum Lane : uint8_t {
    exact, ///< each message has a receive for itself
    halves, ///< a receive takes the next message of its half
    whole, ///< a receive takes the next message of the lane, of either half
    lanes,
};

/// Every order of magnitude is as likely as the others.
uint32_t log_uniform(Rng &rng, uint32_t low, uint32_t high)
{
    unsigned doublings = 0;
    while (high >> (doublings + 1) >= low)
        doublings++;
    const uint64_t floor = uint64_t{low} << rng.below(doublings + 1);
    return static_cast<uint32_t>(std::min<uint64_t>(rng.range(floor, 2 * floor), high));
}

uint32_t draw_length(Rng &rng, uint32_t large_permille)
{
    static constexpr uint32_t edges[] = {0,    1,    EMX_TINY_MAX, 33,    EMX_SMALL_MAX, 129,   1452, 1453,
                                         4096, 4097, 8192,         16384, 32767,         32768, 8193};
    if (rng.chance(large_permille))
        return rng.chance(50) ? longest_message : log_uniform(rng, eager_max + 1, longest_message);
    if (rng.chance(100))
        return rng.pick(edges);
    switch (rng.below(4)) {
    case 0: return static_cast<uint32_t>(rng.range(0, EMX_TINY_MAX));
    case 1: return static_cast<uint32_t>(rng.range(EMX_TINY_MAX + 1, EMX_SMALL_MAX));
    default: return log_uniform(rng, EMX_SMALL_MAX + 1, eager_max);
    }
}

uint64_t match_of(uint32_t block, uint64_t lane, uint64_t half, uint32_t number)
{
    return uint64_t{block} << block_shift | lane << lane_shift | half << half_shift | number;
}

/// Receives of a mixed block: lists whose own order counts, dealt out in a random one.
void deal(Rng &rng, std::array<std::deque<PlannedReceive>, lanes> &lists, std::vector<PlannedReceive> &out)
{
    auto &free = lists[exact];
    for (size_t i = free.size(); i > 1; i--)
        std::swap(free[i - 1], free[rng.below(i)]);
    for (;;) {
        auto &list = lists[rng.below(lanes)];
        if (!list.empty()) {
            out.push_back(list.front());
            list.pop_front();
        } else if (std::all_of(lists.begin(), lists.end(), [](const auto &l) { return l.empty(); })) {
            return;
        }
    }
}

} // namespace

Schedule::Schedule(uint64_t seed, uint32_t count, uint32_t large_permille)
{
    Rng rng(seed);
    for (uint32_t block = 0; messages.size() < count; block++) {
        const bool anything = rng.chance(300);
        std::array<std::deque<PlannedReceive>, lanes> lists;
        for (uint32_t i = 0; i < block_length && messages.size() < count; i++) {
            const auto number = static_cast<uint32_t>(messages.size());
            const uint64_t lane = rng.below(lanes), half = rng.below(2);
            const uint64_t match = match_of(block, lane, half, number);
            messages.push_back({match, draw_length(rng, large_permille), rng.chance(50)});
            const uint64_t mask = lane == exact ? ~uint64_t{0} : lane == halves ? half_mask : lane_mask;
            if (anything)
                receives.push_back({0, 0, number});
            else
                lists[lane].push_back({match & mask, mask, number});
        }
        deal(rng, lists, receives);
    }
    if (large_permille && count > 1) { // both ends of the range, whatever is drawn
        messages.front().length = 0;
        messages.back().length = longest_message;
    }
}

} // namespace emx::test

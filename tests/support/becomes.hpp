// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Waiting in tests on real hosts: for an event, or long enough to say that it does not come. No verdict
// depends on how fast the machine is.
#pragma once

#include <chrono>

namespace emx::test {

/// Anything that takes longer hangs. All that tests wait for takes a twentieth of it at the most.
inline constexpr std::chrono::seconds patience{60};

/// Looks until `done` is true; false when it hangs.
template <typename Done>
bool becomes(Done done)
{
    // tidy-allow(time): the limit only says that it hangs
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + patience; !done();)
        if (Clock::now() >= end)
            return false;
    return true;
}

/// Looks some thousand times: what `done` would notice is sooner there than that, on an idle machine.
template <typename Done>
bool stays_away(Done done)
{
    for (int looks = 0; looks < 5000; looks++)
        if (done())
            return false;
    return true;
}

} // namespace emx::test

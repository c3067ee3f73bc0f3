// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A small seeded generator for tests: one seed gives one sequence on every machine.
#pragma once

#include "chance.h"

#include <cstdint>

namespace emx::test {

/// splitmix64. Not thread-safe; copyable, so that parts of a run can own independent streams.
class Rng {
public:
    explicit Rng(uint64_t seed) : state_(seed) {}

    uint64_t next() { return chance_of(&state_); }
    /// Uniform in [0, n); 0 for n == 0.
    uint64_t below(uint64_t n) { return n ? next() % n : 0; }
    /// Uniform in [lo, hi].
    uint64_t range(uint64_t lo, uint64_t hi) { return lo + below(hi - lo + 1); }
    /// True in `permille` of 1000 draws.
    bool chance(uint32_t permille) { return permille && next() % 1000 < permille; }
    bool coin() { return next() & 1; }
    /// One of the given values.
    template <typename T, unsigned N>
    T pick(const T (&values)[N])
    {
        return values[below(N)];
    }
    /// An independent generator for a part of the run.
    Rng fork() { return Rng(next()); }

private:
    uint64_t state_;
};

} // namespace emx::test

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Work of a program that communicates: calibrated, and without calls.
#pragma once

#include "series.hpp"

#include <algorithm>
#include <cstdint>

namespace emx::perf {

/// Computes and calls nothing: neither the library nor the kernel, and hardly any memory.
class Work {
public:
    /// Finds out how fast it goes undisturbed: the best of several.
    Work()
    {
        constexpr uint64_t trial = 200000;
        double best_us = 0;
        for (int i = 0; i < 20; i++) {
            const uint64_t before = now_ns();
            run(trial);
            const double us = static_cast<double>(now_ns() - before) / 1000;
            best_us = i ? std::min(best_us, us) : us;
        }
        per_us_ = trial / best_us;
    }
    uint64_t steps(double us) const { return static_cast<uint64_t>(us * per_us_); }
    void run(uint64_t steps)
    {
        uint64_t x = state_;
        for (uint64_t i = 0; i < steps; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        state_ = x;
    }

private:
    volatile uint64_t state_ = 88172645463325252u;
    double per_us_ = 0;
};

} // namespace emx::perf

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs seeds in child processes, counts, and says how to run a failing one again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace emx::sim {

struct SeedOptions {
    uint64_t seed = 1; ///< the first
    uint64_t seeds = 1;
    uint64_t full_seeds = 0; ///< instead of seeds when EMX_FULL=1
    uint64_t jobs = 0; ///< processes at a time; 0: one for each processor
    bool verbose = false;
    bool trace = false; ///< every frame

    /// Takes argv[i] and what belongs to it, and moves i behind it; false: not an option of seeds. A number
    /// that is none ends the program.
    bool take(int argc, char **argv, int &i);
};
inline constexpr const char *seed_usage =
    "[--seed N] [--seeds COUNT] [--full-seeds COUNT] [--jobs COUNT] [--verbose] [--trace]";

/// Runs a seed: the complaint, or empty.
using RunSeed = std::function<std::string(uint64_t seed, const SeedOptions &)>;

/// Runs them and prints the summary; `again` is the command that runs one, without the seed's number.
/// Returns the exit status.
int run_seeds(const SeedOptions &options, const std::string &again, const RunSeed &run);

} // namespace emx::sim

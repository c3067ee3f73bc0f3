// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See seeds.hpp.
#include "seeds.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::sim {

namespace {

constexpr uint64_t batch = 100; ///< seeds of one child: a crash costs no more, and memory is given back
constexpr unsigned real_limit = 60; ///< seconds of real time for one seed

/// What children tell their parent.
struct Shared {
    uint64_t current; ///< the seed under way
    uint64_t passed;
    uint64_t failed;
};

class Runner {
public:
    Runner(const SeedOptions &options, const std::string &again, const RunSeed &run, Shared *shared)
        : o_(options), again_(again), run_(run), shared_(shared)
    {
    }

    void run_batch(uint64_t first, uint64_t count)
    {
        for (uint64_t seed = first; seed < first + count; seed++) {
            shared_->current = seed;
            alarm(real_limit);
            std::string why = run_(seed, o_);
            if (why.empty()) {
                shared_->passed++;
                continue;
            }
            shared_->failed++;
            hint(seed);
            std::printf("  %s\n", why.c_str());
            std::fflush(stdout);
        }
    }

    /// Runs a batch in a child; one that dies counts as the failure of its present seed.
    void run_child(uint64_t first, uint64_t end)
    {
        while (first < end) {
            std::fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                run_batch(first, end - first);
                std::fflush(stdout);
                std::exit(0); // with the leak check of a sanitizer
            }
            int status = 0;
            waitpid(pid, &status, 0);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return;
            shared_->failed++;
            hint(shared_->current);
            if (WIFSIGNALED(status))
                std::printf("  ended by signal %d%s\n", WTERMSIG(status),
                            WTERMSIG(status) == SIGALRM ? ": hangs" : "");
            else
                std::printf("  exit status %d (of this seed or, for a leak, one of the %llu before it)\n",
                            WEXITSTATUS(status), static_cast<unsigned long long>(shared_->current - first));
            first = shared_->current + 1;
        }
    }

private:
    void hint(uint64_t seed) const
    {
        std::printf("FAILED seed %llu; run it again with: %s --seed %llu --verbose\n",
                    static_cast<unsigned long long>(seed), again_.c_str(),
                    static_cast<unsigned long long>(seed));
    }

    const SeedOptions &o_;
    const std::string &again_;
    const RunSeed &run_;
    Shared *shared_;
};

} // namespace

bool SeedOptions::take(int argc, char **argv, int &i)
{
    std::string a = argv[i];
    bool more = i + 1 < argc;
    if (a == "--seed" && more)
        seed = std::strtoull(argv[++i], nullptr, 0);
    else if (a == "--seeds" && more)
        seeds = std::strtoull(argv[++i], nullptr, 0);
    else if (a == "--full-seeds" && more)
        full_seeds = std::strtoull(argv[++i], nullptr, 0);
    else if (a == "--verbose")
        verbose = true;
    else if (a == "--trace")
        trace = true;
    else
        return false;
    return true;
}

int run_seeds(const SeedOptions &options, const std::string &again, const RunSeed &run)
{
    const char *full = std::getenv("EMX_FULL");
    SeedOptions o = options;
    if (o.full_seeds && full && !std::strcmp(full, "1"))
        o.seeds = o.full_seeds;
    auto *shared = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (shared == MAP_FAILED) {
        std::perror("mmap");
        return 2;
    }
    Runner runner(o, again, run, shared);
    if (o.seeds == 1) { // in this process: for a debugger
        runner.run_batch(o.seed, 1);
    } else {
        for (uint64_t first = o.seed; first < o.seed + o.seeds; first += batch)
            runner.run_child(first, std::min(first + batch, o.seed + o.seeds));
    }
    std::printf("%llu passed, %llu failed, 0 skipped\n", static_cast<unsigned long long>(shared->passed),
                static_cast<unsigned long long>(shared->failed));
    return shared->failed ? 1 : 0;
}

} // namespace emx::sim

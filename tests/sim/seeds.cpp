// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See seeds.hpp.
#include "seeds.hpp"

#include "../../tools/cli.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace emx::sim {

namespace {

constexpr uint64_t batch = 100; ///< seeds of one child: a crash costs no more, and memory is given back
constexpr unsigned real_limit = 60; ///< seconds of real time for one seed

/// Progress that children tell their parent, each in a place of its own.
struct Progress {
    uint64_t current; ///< the seed under way
    uint64_t passed;
    uint64_t failed;
};

struct Range {
    uint64_t first, end; ///< end is the first that does not belong to it
};

class Runner {
public:
    /// progress: a place for each child that runs at a time.
    Runner(const SeedOptions &options, const std::string &again, const RunSeed &run,
           const std::vector<Progress *> &progress)
        : o_(options), again_(again), run_(run)
    {
        for (Progress *p : progress)
            jobs_.push_back({p, 0, {}});
    }

    /// In this process, for a debugger.
    void run_here(Range seeds) { run_range(seeds, *jobs_.front().progress); }

    void run_all(Range seeds)
    {
        for (uint64_t first = seeds.first; first < seeds.end; first += batch)
            waiting_.push_back({first, std::min(first + batch, seeds.end)});
        while (start_children())
            end_child();
    }

    Progress total() const
    {
        Progress sum{};
        for (const Job &job : jobs_) {
            sum.passed += job.progress->passed;
            sum.failed += job.progress->failed;
        }
        return sum;
    }

private:
    struct Job {
        Progress *progress;
        pid_t pid; ///< 0: none
        Range seeds;
    };

    void run_range(Range seeds, Progress &progress) const
    {
        for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
            progress.current = seed;
            alarm(real_limit);
            std::string why = run_(seed, o_);
            if (why.empty()) {
                progress.passed++;
                continue;
            }
            progress.failed++;
            tell(seed, why);
        }
    }

    /// False when none runs and nothing waits.
    bool start_children()
    {
        bool any = false;
        for (Job &job : jobs_) {
            if (job.pid == 0 && !waiting_.empty()) {
                job.seeds = waiting_.front();
                waiting_.pop_front();
                start(job);
            }
            any = any || job.pid != 0;
        }
        return any;
    }

    void start(Job &job) const
    {
        job.progress->current = job.seeds.first;
        job.pid = fork();
        if (job.pid < 0) {
            std::perror("fork");
            std::exit(2);
        }
        if (job.pid == 0) {
            run_range(job.seeds, *job.progress);
            std::exit(0); // with the leak check of a sanitizer
        }
    }

    /// Waits for one. If it died that is the failure of its present seed, and another does the rest.
    void end_child()
    {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, 0);
        auto job = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job &j) { return j.pid == pid; });
        if (job == jobs_.end())
            return;
        job->pid = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        const uint64_t seed = job->progress->current;
        job->progress->failed++;
        if (WIFSIGNALED(status))
            tell(seed, "ended by signal " + std::to_string(WTERMSIG(status)) +
                           (WTERMSIG(status) == SIGALRM ? ": hangs" : ""));
        else
            tell(seed, "exit status " + std::to_string(WEXITSTATUS(status)) +
                           " (of this seed or, for a leak, one of the " +
                           std::to_string(seed - job->seeds.first) + " before it)");
        if (seed + 1 < job->seeds.end)
            waiting_.push_front({seed + 1, job->seeds.end});
    }

    /// At once, since others print, too.
    void tell(uint64_t seed, const std::string &why) const
    {
        const std::string number = std::to_string(seed);
        std::fputs(("FAILED seed " + number + "; run it again with: " + again_ + " --seed " + number +
                    " --verbose\n  " + why + "\n")
                       .c_str(),
                   stdout);
        std::fflush(stdout);
    }

    const SeedOptions &o_;
    const std::string &again_;
    const RunSeed &run_;
    std::vector<Job> jobs_;
    std::deque<Range> waiting_;
};

/// Places that children share with their parent; empty without memory.
std::vector<Progress *> share(uint64_t count)
{
    std::vector<Progress *> places;
    void *memory =
        mmap(nullptr, count * sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return places;
    for (uint64_t n = 0; n < count; n++)
        places.push_back(static_cast<Progress *>(memory) + n);
    return places;
}

/// The number behind an option; anything else ends the program.
uint64_t number(const std::string &option, const char *text)
{
    try {
        return cli::parse_number(option, text);
    } catch (const cli::Failure &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        std::exit(2);
    }
}

} // namespace

bool SeedOptions::take(int argc, char **argv, int &i)
{
    std::string a = argv[i];
    bool more = i + 1 < argc;
    if (a == "--seed" && more)
        seed = number(a, argv[++i]);
    else if (a == "--seeds" && more)
        seeds = number(a, argv[++i]);
    else if (a == "--full-seeds" && more)
        full_seeds = number(a, argv[++i]);
    else if (a == "--jobs" && more)
        jobs = number(a, argv[++i]);
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
    std::vector<Progress *> places =
        share(o.jobs ? o.jobs : std::max(1u, std::thread::hardware_concurrency()));
    if (places.empty()) {
        std::perror("mmap");
        return 2;
    }
    Runner runner(o, again, run, places);
    const Range seeds{o.seed, o.seed + o.seeds};
    if (o.seeds == 1)
        runner.run_here(seeds);
    else
        runner.run_all(seeds);
    const Progress total = runner.total();
    std::printf("%llu passed, %llu failed, 0 skipped\n", static_cast<unsigned long long>(total.passed),
                static_cast<unsigned long long>(total.failed));
    return total.failed ? 1 : 0;
}

} // namespace emx::sim

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulator's program: runs seeds, and says how to run a failing one again.
//
//   sim_main [--seed N] [--seeds COUNT] [--full-seeds COUNT] [--mode delivery|hostile] [--verbose] [--trace]
//
// --full-seeds counts instead of --seeds when EMX_FULL=1.
#include "actor.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::sim {
namespace {

constexpr uint64_t batch = 100; ///< seeds of one child: a crash costs no more, and memory is given back
constexpr unsigned real_limit = 60; ///< seconds of real time for one seed

struct Options {
    uint64_t seed = 1;
    uint64_t seeds = 1;
    Mode mode = Mode::delivery;
    bool verbose = false;
    bool trace = false; ///< every frame
};

/// What children tell their parent.
struct Shared {
    uint64_t current; ///< the seed under way
    uint64_t passed;
    uint64_t failed;
};

Shared *shared;

const char *mode_name(Mode m) { return m == Mode::delivery ? "delivery" : "hostile"; }

using Kill = std::function<void(uint32_t)>;

/// Deaths of processes, cuts of the network and the crash of a host, all in the first seconds. What
/// it is given has to outlive the run.
void schedule_faults(const Swarm &swarm, World &world, Network &network,
                     std::vector<std::unique_ptr<Host>> &hosts,
                     std::vector<std::unique_ptr<Process>> &processes, const Kill &kill)
{
    for (uint32_t k = 0; k < swarm.kills; k++)
        world.after(world.rng.below(200 * ms),
                    [kill, i = static_cast<uint32_t>(world.rng.below(swarm.actors))] { kill(i); });
    for (uint32_t k = 0; k < swarm.cuts; k++) {
        auto a = static_cast<uint32_t>(world.rng.below(hosts.size())),
             b = static_cast<uint32_t>(world.rng.below(hosts.size()));
        uint64_t length = world.rng.range(1, 4000) * ms;
        world.after(world.rng.below(300 * ms),
                    [&world, &network, a, b, length] { network.cut(a, b, world.now() + length); });
    }
    if (swarm.host_crash)
        world.after(world.rng.below(200 * ms), [&swarm, &hosts, &processes, kill] {
            hosts.back()->set_alive(false);
            for (uint32_t i = 0; i < swarm.actors; i++)
                if (&processes[i]->host() == hosts.back().get())
                    kill(i);
        });
}

/// One seed; what went wrong, or empty.
std::string run_seed(uint64_t seed, Mode mode, bool verbose, bool trace)
{
    Swarm swarm(seed, mode);
    if (verbose)
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), swarm.describe().c_str());
    World world(seed);
    Network network(world);
    network.faults = swarm.faults;
    network.trace = trace;
    std::vector<std::unique_ptr<Host>> hosts;
    for (size_t h = 0; h < swarm.hosts.size(); h++)
        hosts.push_back(std::make_unique<Host>(world, network, static_cast<uint32_t>(h), swarm.hosts[h]));
    introduce(hosts, world.rng);

    Troupe troupe{swarm, {}, std::vector<Troupe::Entry>(swarm.actors), false};
    troupe.book.hostile = mode == Mode::hostile;
    std::vector<std::unique_ptr<Process>> processes;
    for (uint32_t i = 0; i < swarm.actors; i++) {
        test::Rng rng = world.rng.fork();
        Host &host = *hosts[world.rng.below(hosts.size())];
        processes.push_back(
            std::make_unique<Process>(host, "actor " + std::to_string(i),
                                      [&troupe, i, rng](Process &p) { Actor(troupe, p, i, rng).run(); }));
        processes.back()->environment = swarm.environment;
    }
    Kill kill = [&](uint32_t i) {
        if (processes[i]->done() || troupe.entries[i].gone || troupe.entries[i].settled)
            return;
        troupe.entries[i].gone = true;
        troupe.book.break_flows(i);
        processes[i]->kill();
    };
    schedule_faults(swarm, world, network, hosts, processes, kill);
    world.after(5 * sec, [&] { // then the network heals
        network.faults = Faults{};
        troupe.faults_over = true;
    });

    bool ended = world.run(
        [&] { // complete, or already lost
            if (!troupe.book.complaint().empty() || !network.checker.violation().empty())
                return true;
            for (auto &p : processes)
                if (!p->done())
                    return false;
            return true;
        },
        3000 * sec);
    if (verbose)
        std::printf("seed %llu: %.3f s of virtual time, %llu steps, %llu frames\n",
                    static_cast<unsigned long long>(seed), static_cast<double>(world.now() - sec) / sec,
                    static_cast<unsigned long long>(world.steps()),
                    static_cast<unsigned long long>(network.frames));
    if (!network.checker.violation().empty())
        return "bad frame sent: " + network.checker.violation();
    if (!ended)
        troupe.book.complain("the run does not end");
    else if (troupe.book.complaint().empty())
        troupe.book.judge_end();
    std::string why = troupe.book.complaint();
    if (!why.empty())
        why += troupe.book.missing();
    return why;
}

void replay_hint(uint64_t seed, Mode mode, const char *program)
{
    std::printf("FAILED seed %llu; run it again with: %s --mode %s --seed %llu --verbose\n",
                static_cast<unsigned long long>(seed), program, mode_name(mode),
                static_cast<unsigned long long>(seed));
}

void run_batch(uint64_t first, uint64_t count, const Options &o, const char *program)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        shared->current = seed;
        alarm(real_limit);
        std::string why = run_seed(seed, o.mode, o.verbose, o.trace);
        if (why.empty()) {
            shared->passed++;
            continue;
        }
        shared->failed++;
        replay_hint(seed, o.mode, program);
        std::printf("  %s\n", why.c_str());
        std::fflush(stdout);
    }
}

/// Runs a batch in a child; one that dies counts as the failure of its present seed.
void run_child(uint64_t first, uint64_t end, const Options &o, const char *program)
{
    while (first < end) {
        std::fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            run_batch(first, end - first, o, program);
            std::fflush(stdout);
            std::exit(0); // with the leak check of a sanitizer
        }
        int status = 0;
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        shared->failed++;
        replay_hint(shared->current, o.mode, program);
        if (WIFSIGNALED(status))
            std::printf("  ended by signal %d%s\n", WTERMSIG(status),
                        WTERMSIG(status) == SIGALRM ? ": hangs" : "");
        else
            std::printf("  exit status %d (of this seed or, for a leak, one of the %llu before it)\n",
                        WEXITSTATUS(status), static_cast<unsigned long long>(shared->current - first));
        first = shared->current + 1;
    }
}

Options parse(int argc, char **argv)
{
    Options o;
    uint64_t full_seeds = 0;
    const char *full = std::getenv("EMX_FULL");
    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--seed" && i + 1 < argc)
            o.seed = std::strtoull(argv[++i], nullptr, 0);
        else if (a == "--seeds" && i + 1 < argc)
            o.seeds = std::strtoull(argv[++i], nullptr, 0);
        else if (a == "--full-seeds" && i + 1 < argc)
            full_seeds = std::strtoull(argv[++i], nullptr, 0);
        else if (a == "--mode" && i + 1 < argc &&
                 (!std::strcmp(argv[i + 1], "delivery") || !std::strcmp(argv[i + 1], "hostile")))
            o.mode = std::strcmp(argv[++i], "hostile") ? Mode::delivery : Mode::hostile;
        else if (a == "--verbose")
            o.verbose = true;
        else if (a == "--trace")
            o.trace = true;
        else {
            std::fprintf(stderr,
                         "usage: %s [--seed N] [--seeds COUNT] [--full-seeds COUNT]\n"
                         "       [--mode delivery|hostile] [--verbose] [--trace]\n",
                         argv[0]);
            std::exit(2);
        }
    }
    if (full_seeds && full && !std::strcmp(full, "1"))
        o.seeds = full_seeds;
    return o;
}

} // namespace
} // namespace emx::sim

int main(int argc, char **argv)
{
    using namespace emx::sim;
    Options o = parse(argc, argv);
    shared = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (shared == MAP_FAILED) {
        std::perror("mmap");
        return 2;
    }
    if (o.seeds == 1) { // in this process: for a debugger
        run_batch(o.seed, 1, o, argv[0]);
    } else {
        for (uint64_t first = o.seed; first < o.seed + o.seeds; first += batch)
            run_child(first, std::min(first + batch, o.seed + o.seeds), o, argv[0]);
    }
    std::printf("%llu passed, %llu failed, 0 skipped\n", static_cast<unsigned long long>(shared->passed),
                static_cast<unsigned long long>(shared->failed));
    return shared->failed ? 1 : 0;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulator's program: runs seeds, and says how to run a failing one again.
//
//   sim_main [--seed N] [--seeds COUNT] [--full-seeds COUNT] [--jobs COUNT]
//            [--mode delivery|hostile] [--verbose] [--trace]
//
// --full-seeds counts instead of --seeds when EMX_FULL=1.
#include "actor.hpp"
#include "seeds.hpp"

#include <cstdio>
#include <cstring>
#include <functional>

namespace emx::sim {
namespace {

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

/// Normal use stays below the bound on answers.
bool withheld_answers(const std::vector<std::unique_ptr<Host>> &hosts)
{
    for (const auto &host : hosts)
        for (const auto &board : host->boards)
            if (board->counters.v[EMX_CNT_DROP_ANSWER] != 0)
                return true;
    return false;
}

void print_end(uint64_t seed, const World &world, const Network &network)
{
    std::printf(
        "seed %llu: %.3f s of virtual time, %llu steps, %llu frames, %llu at a full socket, "
        "%llu datagrams, %llu packets by TCP\n",
        static_cast<unsigned long long>(seed), static_cast<double>(world.now() - sec) / sec,
        static_cast<unsigned long long>(world.steps()), static_cast<unsigned long long>(network.frames),
        static_cast<unsigned long long>(network.unqueued), static_cast<unsigned long long>(network.datagrams),
        static_cast<unsigned long long>(network.tcp_packets));
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
        if (swarm.mixed && i % 2)
            processes.back()->environment["EMX_EXTENSION"] = "0";
        if (swarm.checksum != 0 && i % swarm.checksum == 0)
            processes.back()->environment["EMX_CHECKSUM"] = "1";
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
            if (!troupe.book.complaint().empty() || !network.violation().empty())
                return true;
            for (auto &p : processes)
                if (!p->done())
                    return false;
            return true;
        },
        3000 * sec);
    if (verbose)
        print_end(seed, world, network);
    if (!network.violation().empty())
        return "bad frame sent: " + network.violation();
    if (withheld_answers(hosts))
        return "frames that deserve an answer drew none";
    if (!ended)
        troupe.book.complain("the run does not end");
    else if (troupe.book.complaint().empty())
        troupe.book.judge_end();
    std::string why = troupe.book.complaint();
    if (!why.empty())
        why += troupe.book.missing();
    return why;
}

} // namespace
} // namespace emx::sim

int main(int argc, char **argv)
{
    using namespace emx::sim;
    SeedOptions o;
    Mode mode = Mode::delivery;
    for (int i = 1; i < argc; i++) {
        if (o.take(argc, argv, i))
            continue;
        if (std::strcmp(argv[i], "--mode") != 0 || i + 1 == argc ||
            (std::strcmp(argv[i + 1], "delivery") != 0 && std::strcmp(argv[i + 1], "hostile") != 0)) {
            std::fprintf(stderr, "usage: %s [--mode delivery|hostile] %s\n", argv[0], seed_usage);
            return 2;
        }
        mode = std::strcmp(argv[++i], "hostile") ? Mode::delivery : Mode::hostile;
    }
    return run_seeds(
        o, std::string(argv[0]) + " --mode " + mode_name(mode),
        [mode](uint64_t seed, const SeedOptions &s) { return run_seed(seed, mode, s.verbose, s.trace); });
}

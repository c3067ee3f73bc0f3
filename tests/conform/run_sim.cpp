// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance over the simulator: ranks are fibers, time is virtual.
#include "pool.hpp"

#include "../sim/process.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace emx::conform {
namespace {

struct Config {
    const char *name;
    char dialect;
    uint32_t mtu;
    uint32_t hosts;
    bool polled;
};

constexpr Config configs[] = {
    {"W/2hosts", 'W', 0, 2, false},
    {"W/1host", 'W', 0, 1, true},
    {"N9000/2hosts", 'N', 9000, 2, true},
    {"N1500/2hosts", 'N', 1500, 2, false},
};

class SimRank;

/// The world of one case.
struct Stage {
    Stage(const Case &one, const Config &where) : c(one), config(where) {}
    const Case &c;
    const Config &config;
    sim::World world{1};
    sim::Network network{world};
    std::vector<std::unique_ptr<sim::Host>> hosts;
    std::vector<std::unique_ptr<SimRank>> ranks;
    std::vector<std::unique_ptr<sim::Process>> processes;
    std::vector<uint64_t> values;
    uint32_t arrived = 0; ///< at the barrier
    uint64_t generation = 0;
    bool abandoned = false;
    std::string failures;

    uint32_t living() const
    {
        uint32_t n = 0;
        for (auto &p : processes)
            n += !p->done();
        return n;
    }
    void maybe_release()
    {
        if (arrived && arrived >= living()) {
            arrived = 0;
            generation++;
        }
        for (auto &p : processes)
            if (!p->done())
                p->ready();
    }
};

class SimRank final : public Rank {
public:
    explicit SimRank(Stage &stage) : stage_(stage) {}
    sim::Process *process = nullptr;

    void barrier() override
    {
        uint64_t g = stage_.generation;
        stage_.arrived++;
        stage_.maybe_release();
        while (g == stage_.generation && !stage_.abandoned)
            process->block(sim::never);
        if (stage_.abandoned)
            throw Abandon();
    }
    std::vector<uint64_t> exchange(uint64_t value) override
    {
        stage_.values[static_cast<size_t>(id)] = value;
        barrier();
        std::vector<uint64_t> all = stage_.values;
        barrier();
        return all;
    }
    void sleep_ms(uint32_t ms) override { process->sleep(ms * sim::ms); }
    double now_ms() override
    {
        process->world().charge(50);
        return static_cast<double>(process->world().now()) / sim::ms;
    }
    bool virtual_time() const override { return true; }
    int host_of(int rank) const override { return rank % static_cast<int>(stage_.config.hosts); }
    void kill(int rank) override
    {
        sim::Process &victim = *stage_.processes[static_cast<size_t>(rank)];
        if (rank == id) { // others may wait for the one that leaves
            stage_.world.after(0, [this] { stage_.maybe_release(); });
            victim.kill();
        }
        victim.kill();
        stage_.maybe_release();
    }
    void freeze(int rank) override { stage_.processes[static_cast<size_t>(rank)]->freeze(); }
    void thaw(int rank) override { stage_.processes[static_cast<size_t>(rank)]->thaw(); }
    void cut(bool off) override { stage_.network.cut(0, 1, off ? sim::never : 0); }
    void env(const char *name, const char *value) override
    {
        if (value)
            process->environment[name] = value;
        else
            process->environment.erase(name);
    }
    uint32_t fragment() const override { return stage_.hosts[0]->boards[0]->fw().sizes.frag; }
    void fail(const char *file, int line, const std::string &what) override
    {
        const char *base = std::strrchr(file, '/');
        stage_.failures += "  rank " + std::to_string(id) + ", " + (base ? base + 1 : file) + ":" +
                           std::to_string(line) + ": " + what + "\n";
    }

    void run(sim::Process &p)
    {
        process = &p;
        try {
            if (!(stage_.c.tags & bare)) {
                Rank &r = *this;
                mx_set_error_handler(client_errors_return);
                REQUIRE_OK(mx_init());
            }
            stage_.c.body(*this);
        } catch (const Abandon &) {
            stage_.abandoned = true;
        }
        stage_.world.after(0, [this] { stage_.maybe_release(); });
    }

private:
    Stage &stage_;
};

std::string now_running;

void on_alarm(int)
{
    const char text[] = "\nreal-time limit reached in ";
    (void)!write(2, text, sizeof text - 1);
    (void)!write(2, now_running.data(), now_running.size());
    (void)!write(2, "\n", 1);
    _exit(3);
}

std::string run_case(const Case &c, const Config &config)
{
    now_running = std::string(c.name) + " [" + config.name + "]";
    alarm(c.tags & big ? 3000 : 120);
    Stage stage(c, config);
    sim::HostOptions o;
    o.dialect = config.dialect;
    o.dialect_mtu = config.mtu;
    o.polled = config.polled;
    o.boards = c.tags & two_boards ? 2 : 1;
    for (uint32_t h = 0; h < config.hosts; h++)
        stage.hosts.push_back(std::make_unique<sim::Host>(stage.world, stage.network, h, o));
    sim::introduce(stage.hosts, stage.world.rng);
    stage.values.resize(static_cast<size_t>(c.ranks));
    for (int i = 0; i < c.ranks; i++) {
        stage.ranks.push_back(std::make_unique<SimRank>(stage));
        SimRank *rank = stage.ranks.back().get();
        rank->id = i;
        rank->n = c.ranks;
        stage.processes.push_back(std::make_unique<sim::Process>(
            *stage.hosts[static_cast<size_t>(rank->host_of(i))], "rank " + std::to_string(i),
            [rank](sim::Process &p) { rank->run(p); }));
    }
    uint64_t limit = c.tags & (simulated | big) ? 20000 * sim::sec : 300 * sim::sec;
    bool ended = stage.world.run([&] { return stage.living() == 0; }, limit);
    if (!ended)
        for (int i = 0; i < c.ranks; i++)
            if (!stage.processes[static_cast<size_t>(i)]->done())
                stage.ranks[static_cast<size_t>(i)]->fail("", 0, "hangs");
    if (!stage.network.violation().empty())
        stage.failures += "  on the wire: " + stage.network.violation();
    alarm(0);
    std::string failures = stage.failures;
    if (stage.abandoned && failures.empty())
        failures = "  abandoned without a reason\n";
    return failures;
}

/// True if there is such a case in that column at all.
bool exists_on(const Case &c, const Config &config)
{
    if ((c.tags & real) || (c.tags & (config.hosts < 2 ? apart : together)))
        return false;
    return !(c.tags & big) || !std::strcmp(config.name, "N9000/2hosts"); // one run takes minutes
}

int work(Queue &queue)
{
    signal(SIGALRM, on_alarm);
    while (const Job *job = queue.take())
        queue.done(run_case(*job->c, configs[job->column]));
    return 0;
}

} // namespace
} // namespace emx::conform

int main(int argc, char **argv)
{
    using namespace emx::conform;
    const Options o = parse_options(argc, argv);
    std::vector<Column> columns;
    for (const Config &config : configs)
        columns.push_back({config.name, std::string(config.name).find(o.config) != std::string::npos});
    // A case takes milliseconds: none is spared.
    const Traits traits = [](const Case &c, size_t i) {
        return exists_on(c, configs[i]) ? std::vector<std::string>{configs[i].name}
                                        : std::vector<std::string>{};
    };
    return run_cases(o, columns, traits, work);
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance over the engine, or over the kernel module: every rank is a process, hosts are network
// namespaces. Linked with the shared library only, as any MX program. In the columns that say so one rank
// is the model peer of tests/model: that process is this program again, with the model's library before ours.
#include "kit.hpp"
#include "module.hpp"
#include "netns.hpp"
#include "pool.hpp"

#include <tests/watch/watcher.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {
namespace {

constexpr int ranks_max = 8;
constexpr unsigned case_limit = 300, big_limit = 1800; ///< seconds

struct Config {
    const char *name;
    const char *boards; ///< EMX_BOARDS
    uint32_t mtu;
    uint32_t fragment;
    int hosts;
    int board_count;
    bool shared_memory = true; ///< between the processes of a host; else frames over its loopback interface
    int model = -1; ///< which rank is the model peer; none
    const char *carrier = nullptr; ///< EMX_BULK, of hosts that have IP addresses; others have none
};

constexpr Config configs[] = {
    {"W/2hosts", "eth0:W", 9000, 4096, 2, 1},
    {"W/1host", "eth0:W", 9000, 4096, 1, 1},
    {"N9000/1host/frames", "eth0:N=9000", 9000, 8192, 1, 1, false},
    {"W/1host/frames", "eth0:W", 9000, 4096, 1, 1, false},
    {"N9000/1host", "eth0:N=9000", 9000, 8192, 1, 1},
    {"N9000/2hosts", "eth0:N=9000", 9000, 8192, 2, 1},
    {"N1500/2hosts", "eth0:N=1500", 1500, 1452, 2, 1},
    {"N1500/datagrams", "eth0:N=1500", 1500, 1452, 2, 1, true, -1, "udp"},
    {"N1500/tcp", "eth0:N=1500", 1500, 1452, 2, 1, true, -1, "tcp"},
    {"UDP/2hosts", "udp:eth0:N=1232", 1500, 1184, 2, 1, true, -1, "auto"},
    {"UDP/1host/frames", "udp:eth0:N=1232", 1500, 1184, 1, 1, false, -1, "raw"},
    {"2boards", "eth1:N=9000,eth0:N=9000", 9000, 8192, 2, 2}, // the order is the configuration's
    {"model+W", "eth0:W", 9000, 4096, 2, 1, true, 0},
    {"W+model", "eth0:W", 9000, 4096, 2, 1, true, 1},
    {"model+N1500", "eth0:N=1500", 1500, 1452, 2, 1, true, 0},
    {"N1500+model", "eth0:N=1500", 1500, 1452, 2, 1, true, 1},
    {"model+N9000", "eth0:N=9000", 9000, 8192, 2, 1, true, 0},
    {"N9000+model", "eth0:N=9000", 9000, 8192, 2, 1, true, 1},
};

constexpr const char *model_library = EMX_MODEL_LIBRARY; ///< empty where it is not built
/// The model as a stranger that is no pleasure; its library works on while the program is away, as ours.
constexpr const char *model_manner = "garbage,trailing,windows,offsets,odd,refusals,helper";

/// Memory that the ranks of a case and the runner share. Ranks may die at any time, so there are no
/// locks in it.
struct Shared {
    std::atomic<int> pid[ranks_max];
    std::atomic<bool> gone[ranks_max]; ///< ended: barriers do not wait for it
    std::atomic<uint64_t> epoch[ranks_max]; ///< barriers it has reached
    std::atomic<uint64_t> value[ranks_max];
    std::atomic<bool> abandoned;
    unsigned patience; ///< Options::patience
    std::atomic<int> cut_wanted; ///< 1 off, 2 on, 0 done; the runner does it
    char failures[ranks_max][4096];
};

Shared *shared;
int shared_file; ///< for a rank that becomes another program

void nap()
{
    timespec t{0, 1000000}; // shorter ones cost more than the cases do
    // tidy-allow(sleep): between two looks at memory that other processes write, or at waitpid
    nanosleep(&t, nullptr);
}

/// True if no thread of the process runs any more. Its threads stop one after the other, the first of them
/// when it is scheduled next: until then the others go on.
bool stopped(int pid)
{
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    std::error_code gone;
    for (const auto &task : std::filesystem::directory_iterator(tasks, gone)) {
        std::ifstream file(task.path() / "stat");
        std::string line;
        std::getline(file, line);
        const auto state = line.rfind(") "); // behind the name, which may hold anything
        if (state != std::string::npos && line[state + 2] != 'T')
            return false;
    }
    return true;
}

class ProcessRank final : public Rank {
public:
    ProcessRank(const Case &c, const Config &config) : c_(c), config_(config) {}

    void barrier() override
    {
        uint64_t mine = ++shared->epoch[id];
        for (int i = 0; i < n; i++)
            while (!shared->gone[i] && shared->epoch[i] < mine) {
                if (shared->abandoned)
                    throw Abandon();
                nap();
            }
        if (shared->abandoned)
            throw Abandon();
    }
    std::vector<uint64_t> exchange(uint64_t value) override
    {
        shared->value[id] = value;
        barrier();
        std::vector<uint64_t> all(shared->value, shared->value + n);
        barrier();
        return all;
    }
    void sleep_ms(uint32_t ms) override
    {
        timespec t{ms / 1000, ms % 1000 * 1000000L};
        while (nanosleep(&t, &t)) { // tidy-allow(sleep): the case asks for this time to pass
        }
    }
    double now_ms() override
    {
        timespec t;
        // tidy-allow(time): cases judge by it that a wait is not too short, and that something hangs
        clock_gettime(CLOCK_MONOTONIC, &t);
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
    }
    bool virtual_time() const override { return false; }
    int host_of(int rank) const override { return rank % config_.hosts; }
    void kill(int rank) override
    {
        ::kill(shared->pid[rank], SIGKILL);
        while (!shared->gone[rank])
            nap();
    }
    void freeze(int rank) override
    {
        ::kill(shared->pid[rank], SIGSTOP);
        while (!stopped(shared->pid[rank]))
            nap();
    }
    void thaw(int rank) override { ::kill(shared->pid[rank], SIGCONT); }
    void cut(bool off) override
    {
        shared->cut_wanted = off ? 1 : 2;
        while (shared->cut_wanted)
            nap();
    }
    void env(const char *name, const char *value) override
    {
        if (value)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    uint32_t fragment() const override { return config_.fragment; }
    void fail(const char *file, int line, const std::string &what) override
    {
        const char *base = std::strrchr(file, '/');
        std::string text = "  rank " + std::to_string(id) + ", " + (base ? base + 1 : file) + ":" +
                           std::to_string(line) + ": " + what + "\n";
        std::strncat(shared->failures[id], text.c_str(),
                     sizeof shared->failures[id] - std::strlen(shared->failures[id]) - 1);
    }

    void run()
    {
        try {
            if (!(c_.tags & bare)) {
                Rank &r = *this;
                mx_set_error_handler(client_errors_return);
                REQUIRE_OK(mx_init());
            }
            c_.body(*this);
        } catch (const Abandon &) {
            shared->abandoned = true;
        }
        if (!(c_.tags & bare))
            mx_finalize();
    }

private:
    const Case &c_;
    const Config &config_;
};

volatile sig_atomic_t stop_signal;

const char *host_name(int host) { return host ? "conf-b" : "conf-a"; }

void on_signal(int signal) { stop_signal = signal; }

/// This program again, as that rank, on the model. Returns when it cannot.
void become_model(const Case &c, const Config &config, int id)
{
    setenv("LD_PRELOAD", model_library, 1);
    setenv("EMX_MODEL", model_manner, 1);
    fcntl(shared_file, F_SETFD, 0);
    std::string numbers[] = {std::to_string(&c - cases().data()), std::to_string(&config - configs),
                             std::to_string(id), std::to_string(shared_file)};
    execl("/proc/self/exe", "conform_engine", "--rank", numbers[0].c_str(), numbers[1].c_str(),
          numbers[2].c_str(), numbers[3].c_str(), nullptr);
}

[[noreturn]] void be_rank(const Case &c, const Config &config, int id)
{
    conform::patience *= shared->patience;
    ProcessRank rank(c, config);
    rank.id = id;
    rank.n = c.ranks;
    rank.run();
    std::fflush(nullptr);
    std::exit(0);
}

/// The child's side: into the namespace, under a host name of its own, then the case.
[[noreturn]] void become_rank(const Case &c, const Config &config, const Lab &lab, int id)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    ProcessRank rank(c, config);
    rank.id = id;
    rank.n = c.ranks;
    int host = rank.host_of(id);
    int ns = open(lab.path(host).c_str(), O_RDONLY | O_CLOEXEC);
    const char *name = host_name(host);
    if (ns < 0 || setns(ns, CLONE_NEWNET) || unshare(CLONE_NEWUTS) || sethostname(name, std::strlen(name))) {
        rank.fail("", 0,
                  "cannot enter " + lab.path(host) +
                      " under a host name of its own: " + std::strerror(errno));
        shared->abandoned = true;
        _exit(1);
    }
    close(ns);
    setenv("EMX_BOARDS", config.boards, 1);
    setenv("XDG_STATE_HOME", (std::filesystem::temp_directory_path() / "emx-conform").c_str(), 1); // ids
    if (config.carrier)
        setenv("EMX_BULK", config.carrier, 1);
    if (!config.shared_memory)
        setenv("MX_DISABLE_SHMEM", "1", 1);
    if (id == config.model) {
        become_model(c, config, id);
        rank.fail("", 0, std::string("cannot become the model peer: ") + std::strerror(errno));
        shared->abandoned = true;
        _exit(1);
    }
    be_rank(c, config, id);
}

/// Maps what the ranks of all processes share; nullptr when that cannot be.
Shared *map_shared()
{
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, shared_file, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Shared *>(memory);
}

/// Takes note of ranks that ended; how many are left.
int reap(int ranks, std::string &failures)
{
    int left = 0;
    for (int i = 0; i < ranks; i++) {
        if (shared->gone[i])
            continue;
        int status = 0;
        if (waitpid(shared->pid[i], &status, WNOHANG) <= 0) {
            left++;
            continue;
        }
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
            failures +=
                "  rank " + std::to_string(i) + " died of signal " + std::to_string(WTERMSIG(status)) + "\n";
        if (WIFEXITED(status) && WEXITSTATUS(status))
            failures += "  rank " + std::to_string(i) + " ended with status " +
                        std::to_string(WEXITSTATUS(status)) + "\n";
        if (!failures.empty())
            shared->abandoned = true;
        shared->gone[i] = true;
    }
    return left;
}

std::string run_case(const Case &c, const Config &config, Lab &lab, unsigned patience)
{
    new (shared) Shared{};
    shared->patience = patience;
    std::string failures;
    std::fflush(nullptr);
    for (int i = 0; i < c.ranks; i++) {
        pid_t pid = fork();
        if (pid == 0)
            become_rank(c, config, lab, i);
        shared->pid[i] = pid;
    }
    time_t end = time(nullptr) + static_cast<time_t>((c.tags & big ? big_limit : case_limit) * patience);
    bool killed = false, is_cut = false;
    while (reap(c.ranks, failures) > 0) {
        if (shared->cut_wanted) {
            is_cut = shared->cut_wanted == 1;
            if (!lab.cut(is_cut))
                failures += "  cannot change the bridge\n";
            shared->cut_wanted = 0;
        }
        if (!killed && (time(nullptr) >= end || stop_signal)) {
            for (int i = 0; i < c.ranks; i++)
                if (!shared->gone[i]) {
                    failures += "  rank " + std::to_string(i) + " hangs\n";
                    ::kill(shared->pid[i], SIGKILL);
                }
            killed = true;
        }
        nap();
    }
    if (is_cut)
        lab.cut(false);
    for (int i = 0; i < c.ranks; i++)
        failures += shared->failures[i];
    if (failures.empty() && shared->abandoned)
        failures = "  abandoned without a reason\n";
    return failures;
}

/// True if there is such a case in that column at all.
bool exists_on(const Case &c, const Config &config)
{
    if ((c.tags & simulated) || ((c.tags & two_boards) != 0) != (config.board_count == 2))
        return false;
    if (config.model >= 0)
        return c.tags & (config.model ? foreign_second : foreign_first);
    if (c.tags & together) // they ask which way the messages take
        return config.hosts == 1 && config.shared_memory;
    if (c.tags & big) // one run takes minutes
        return !std::strcmp(config.name, "N9000/2hosts");
    return config.hosts == 2 || !(c.tags & apart);
}

bool wanted(const Config &config, const Options &o)
{
    if (o.config.empty())
        return o.device == "kernel" ? config.model < 0 && !config.carrier
                                    : config.model < 0 || *model_library;
    return std::string(config.name).find(o.config) != std::string::npos;
}

/// "N=9000" of "eth1:N=9000,eth0:N=9000".
std::string dialect_of(const Config &config)
{
    const std::string boards = config.boards;
    const std::string first = boards.substr(0, boards.find(','));
    return first.substr(first.rfind(':') + 1);
}

bool make_lab(Lab &lab, const Config &config, const Options &o, std::string &error)
{
    if (!lab.make(config.mtu, config.board_count, error) || (config.carrier && !lab.give_addresses(error)))
        return false;
    if (o.device != "kernel")
        return true;
    for (int host = 0; host < 2; host++)
        if (host != config.model && !attach_boards(lab.path(host), host_name(host), config.boards, error))
            return false;
    return true;
}

/// A worker: takes cases until there are no more, and makes a lab for each column that they are in.
class Worker {
public:
    Worker(const Options &o, Queue &queue) : o_(o), queue_(queue) {}

    int run()
    {
        if (!share_memory())
            return cannot_work;
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            ::signal(signal, on_signal);
        while (const Job *job = queue_.take()) {
            if (!in_column(job->column))
                return cannot_work;
            if (o_.verbose) { // a host that crashes does not say which case was its last
                std::printf("     begins  %s [%s]\n", job->c->name, config_->name);
                std::fflush(stdout);
            }
            queue_.done(run_case(*job->c, *config_, *lab_, o_.patience));
            if (stop_signal)
                return 128 + stop_signal; // the destructor cleans up
        }
        leave_column();
        return 0;
    }

private:
    static bool share_memory()
    {
        shared_file = memfd_create("conform", MFD_CLOEXEC);
        if (shared_file >= 0 && !ftruncate(shared_file, sizeof(Shared)) && (shared = map_shared()))
            return true;
        std::perror("memory that the ranks share");
        return false;
    }

    bool in_column(size_t column)
    {
        if (config_ == &configs[column])
            return true;
        leave_column();
        config_ = &configs[column];
        lab_ = std::make_unique<Lab>();
        std::string error;
        if (!make_lab(*lab_, *config_, o_, error)) {
            std::fprintf(stderr, "conform_engine: %s\n", error.c_str());
            return false;
        }
        watcher_ = std::make_unique<watch::Watcher>(std::vector{lab_->path(0), lab_->path(1)},
                                                    std::vector{dialect_of(*config_)});
        if (config_->model >= 0) // it does what strangers may and we do not
            watcher_->foreign(static_cast<unsigned>(config_->model));
        return true;
    }

    void leave_column()
    {
        if (!config_)
            return;
        const std::string forbidden = watcher_->finish();
        if (!forbidden.empty())
            queue_.complain(static_cast<size_t>(config_ - configs), forbidden);
        watcher_.reset();
        lab_.reset();
    }

    const Options &o_;
    Queue &queue_;
    const Config *config_ = nullptr;
    std::unique_ptr<Lab> lab_;
    std::unique_ptr<watch::Watcher> watcher_;
};

/// Traits of a case: how its processes meet, in which dialect, with whom, and by which carrier where that
/// makes a difference: each of that once. A case that takes no way but memory is in no dialect.
std::vector<std::string> traits_of(const Case &c, const Config &config)
{
    if (!exists_on(c, config))
        return {};
    if (config.model >= 0)
        return {dialect_of(config) + " with the model", config.model == 0 ? "model first" : "model second"};
    const bool alone = c.ranks == 1;
    const char *way = !config.shared_memory ? "frames" : config.hosts == 1 || alone ? "memory" : "wire";
    if (alone || (c.tags & together))
        return {way};
    if ((c.tags & bulk) && config.carrier)
        return {way, dialect_of(config), config.carrier};
    return {way, dialect_of(config)};
}

int run_all(const Options &o)
{
    setenv("EMX_DEVICE", o.device.c_str(), 1);
    std::vector<Column> columns;
    for (const Config &config : configs)
        columns.push_back({config.name, wanted(config, o)});
    return run_cases(
        o, columns, [](const Case &c, size_t i) { return traits_of(c, configs[i]); },
        [&o](Queue &queue) { return Worker(o, queue).run(); });
}

} // namespace
} // namespace emx::conform

int main(int argc, char **argv)
{
    using namespace emx::conform;
    if (argc == 6 && !std::strcmp(argv[1], "--rank")) {
        shared_file = std::atoi(argv[5]);
        shared = map_shared();
        if (shared)
            be_rank(cases().at(static_cast<size_t>(std::atoi(argv[2]))), configs[std::atoi(argv[3])],
                    std::atoi(argv[4]));
        return 2;
    }
    return run_all(parse_options(argc, argv));
}

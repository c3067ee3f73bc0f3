// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Cases side by side. See pool.hpp.
#include "pool.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <new>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {

namespace {

constexpr std::size_t workers_max = 64, columns_max = 64, none = ~std::size_t{0};

/// For the eyes: no verdict depends on it.
double seconds_now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); // tidy-allow(time): printed beside the case
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

/// Messages of workers to the runner, in one packet.
struct Message {
    std::size_t about; ///< a job, or a column
    bool column;
    double seconds;
    char text[40000]; ///< what failed; as much of it as there is
};

/// The same for each run and each machine, and for a case whatever others come and go.
std::size_t hash(const char *name)
{
    std::size_t h = 1469598103934665603u;
    for (; *name; name++)
        h = (h ^ static_cast<unsigned char>(*name)) * 1099511628211u;
    return h ^ h >> 29;
}

volatile sig_atomic_t stopped_by;
pid_t workers[workers_max];

void pass_on(int signal)
{
    stopped_by = signal;
    for (pid_t pid : workers)
        if (pid > 0)
            ::kill(pid, signal);
}

} // namespace

struct Queue::Shared {
    std::atomic<std::size_t> taken[columns_max]; ///< jobs of each column
    std::atomic<std::size_t> at[workers_max]; ///< the job of each worker, or none
};

Queue::Queue(const std::vector<Job> &jobs, Shared &shared, std::size_t worker, int results)
    : jobs_(jobs), shared_(shared), worker_(worker), results_(results)
{
    for (std::size_t i = 0; i < jobs.size(); i++) {
        if (i == 0 || jobs[i].column != jobs[i - 1].column)
            columns_.push_back({i, 0});
        columns_.back().count++;
    }
}

/// Number of jobs of a column that nobody has taken.
std::size_t Queue::left(std::size_t column) const
{
    return columns_[column].count - std::min<std::size_t>(columns_[column].count, shared_.taken[column]);
}

/// The column of before, else one that nobody has begun, else the one with most to do.
std::size_t Queue::choose() const
{
    if (column_ < columns_.size() && left(column_))
        return column_;
    std::size_t most = 0;
    for (std::size_t i = 0; i < columns_.size(); i++) {
        const std::size_t other = (worker_ + i) % columns_.size();
        if (!shared_.taken[other])
            return other;
        if (left(other) > left(most))
            most = other;
    }
    return most;
}

const Job *Queue::take()
{
    shared_.at[worker_] = none;
    for (column_ = choose(); left(column_); column_ = choose()) {
        const std::size_t place = shared_.taken[column_]++;
        if (place >= columns_[column_].count)
            continue;
        began_ = seconds_now();
        shared_.at[worker_] = columns_[column_].first + place;
        return &jobs_[columns_[column_].first + place];
    }
    return nullptr;
}

void Queue::send(std::size_t about, bool column, const std::string &failures) const
{
    Message m{about, column, seconds_now() - began_, {}};
    failures.copy(m.text, sizeof m.text - 1);
    const std::size_t length = offsetof(Message, text) + std::strlen(m.text) + 1;
    while (::send(results_, &m, length, 0) < 0 && errno == EINTR) {
    }
}

void Queue::done(const std::string &failures)
{
    send(shared_.at[worker_], false, failures);
    shared_.at[worker_] = none;
}

void Queue::complain(std::size_t column, const std::string &failures) { send(column, true, failures); }

namespace {

/// The workers of a run and what they tell.
class Pool {
public:
    Pool(const Options &o, const std::vector<Column> &columns, Report &report)
        : o_(o), columns_(columns), report_(report)
    {
    }

    void plan(const Traits &traits)
    {
        for (const Case &c : cases())
            if (o_.chosen(c))
                plan(c, traits);
        for (const auto &[column, list] : planned_)
            for (const Case *c : list)
                jobs_.push_back({c, column});
    }

    int run(const std::function<int(Queue &)> &work)
    {
        void *memory =
            mmap(nullptr, sizeof(Queue::Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, results_)) {
            std::perror("cannot run cases side by side");
            return 2;
        }
        shared_ = new (memory) Queue::Shared{};
        for (auto &at : shared_->at)
            at = none;
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            ::signal(signal, pass_on);
        const std::size_t wanted = std::min({std::size_t{o_.jobs}, jobs_.size(), workers_max});
        for (std::size_t i = 0; i < wanted; i++)
            start(i, work);
        while (reap(work) || listen(0)) {
        }
        return status_;
    }

private:
    /// Where the case runs: everywhere, or where all its traits are.
    void plan(const Case &c, const Traits &traits)
    {
        std::map<std::size_t, std::set<std::string>> places;
        for (std::size_t i = 0; i < columns_.size(); i++)
            if (columns_[i].wanted)
                if (auto list = traits(c, i); !list.empty())
                    places[i].insert(list.begin(), list.end());
        while (!places.empty()) {
            const std::size_t i = next_of(places, hash(c.name));
            const std::set<std::string> proved = places[i];
            places.erase(i);
            if (!o_.everywhere())
                for (auto place = places.begin(); place != places.end();) {
                    for (const std::string &trait : proved)
                        place->second.erase(trait);
                    place = place->second.empty() ? places.erase(place) : std::next(place);
                }
            if ((c.tags & big) && !o_.big)
                report_.add(c, columns_[i].name, Outcome::skipped, skipped_for_size);
            else
                planned_[i].push_back(&c);
        }
    }

    /// The column with most traits; `draw` decides between equal ones, lest all cases are in the first.
    static std::size_t next_of(const std::map<std::size_t, std::set<std::string>> &places, std::size_t draw)
    {
        std::vector<std::size_t> best;
        for (std::size_t most = 0; const auto &[i, list] : places) {
            if (list.size() > most)
                best.clear();
            most = std::max(most, list.size());
            if (list.size() == most)
                best.push_back(i);
        }
        return best[draw % best.size()];
    }

    void start(std::size_t i, const std::function<int(Queue &)> &work)
    {
        std::fflush(nullptr);
        workers[i] = fork();
        if (workers[i] != 0)
            return;
        std::memset(workers, 0, sizeof workers);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            ::signal(signal, SIG_DFL);
        Queue queue(jobs_, *shared_, i, results_[1]);
        std::exit(work(queue));
    }

    /// Takes note of workers that ended; false when none is left.
    bool reap(const std::function<int(Queue &)> &work)
    {
        bool any = false;
        for (std::size_t i = 0; i < workers_max; i++) {
            int status = 0;
            if (workers[i] > 0 && waitpid(workers[i], &status, WNOHANG) > 0)
                bury(i, status, work);
            any = any || workers[i] > 0;
        }
        if (any)
            listen(1);
        return any;
    }

    void bury(std::size_t i, int status, const std::function<int(Queue &)> &work)
    {
        workers[i] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        while (listen(0)) { // what it told before
        }
        const std::size_t at = shared_->at[i];
        if (stopped_by)
            status_ = 128 + stopped_by;
        else if (at == none || (WIFEXITED(status) && WEXITSTATUS(status) == cannot_work))
            status_ = cannot_work;
        else {
            shared_->at[i] = none;
            const std::string how = WIFSIGNALED(status)
                                        ? "died of signal " + std::to_string(WTERMSIG(status))
                                        : "ended with status " + std::to_string(WEXITSTATUS(status));
            report_.add(*jobs_[at].c, columns_[jobs_[at].column].name, Outcome::failed,
                        "  its process " + how);
            start(i, work);
        }
    }

    /// Reports one thing that a worker told, for which it waits at most so long; false when there was
    /// nothing.
    bool listen(int tenths)
    {
        const timeval wait{0, tenths * 100000L};
        static Message m;
        setsockopt(results_[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        if (recv(results_[0], &m, sizeof m, tenths ? 0 : MSG_DONTWAIT) <= 0)
            return false;
        if (m.column) {
            report_.add(columns_[m.about].name, m.text);
            return true;
        }
        const Job &job = jobs_[m.about];
        if (o_.verbose) {
            std::printf("%8.3f s  %s [%s]\n", m.seconds, job.c->name, columns_[job.column].name.c_str());
            std::fflush(stdout);
        }
        report_.add(*job.c, columns_[job.column].name, *m.text ? Outcome::failed : Outcome::passed, m.text,
                    m.seconds);
        return true;
    }

    const Options &o_;
    const std::vector<Column> &columns_;
    Report &report_;
    std::map<std::size_t, std::vector<const Case *>> planned_;
    std::vector<Job> jobs_;
    Queue::Shared *shared_ = nullptr;
    int results_[2] = {-1, -1};
    int status_ = 0;
};

} // namespace

int run_cases(const Options &o, const std::vector<Column> &columns, const Traits &traits,
              const std::function<int(Queue &)> &work)
{
    if (o.list) {
        for (const Case &c : cases())
            if (o.chosen(c))
                std::printf("%s\n", c.name);
        return 0;
    }
    std::vector<std::string> names;
    for (const Column &column : columns)
        if (column.wanted)
            names.push_back(column.name);
    Report report(names);
    Pool pool(o, columns, report);
    pool.plan(traits);
    const int status = pool.run(work);
    const int verdict = report.print();
    return status ? status : verdict;
}

} // namespace emx::conform

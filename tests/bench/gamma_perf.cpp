// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Times GAMMA's broadcast as mpi_perf times MPI_Bcast: batches of broadcasts of node 0, each as long as at
// its slowest node. tests/bench/broadcast runs it.
//
//   mpirun -n NODES gamma_perf [-t MS] [-l LENGTH]
//
// Prints "bytes,iterations,min_us,median_us,MB_s", and a line.
#include <gamma.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace {

constexpr int batches = 20;
constexpr unsigned short report = 1; ///< port, and semaphore, of times at node 0

void need(const char *what, int result)
{
    if (result >= 0)
        return;
    std::fprintf(stderr, "gamma_perf: %s: %s\n", what, gamma_strerror(result));
    std::exit(1);
}

std::vector<double> reports; ///< one of each other node, at node 0

/// The longest of all nodes' times, at every node.
double slowest(double us)
{
    const auto others = static_cast<unsigned long>(gamma_how_many_nodes() - 1);
    if (gamma_my_node() == 0) {
        reports.resize(others);
        for (double &one : reports)
            need("post", gamma_post_recv(report, &one, sizeof one));
        need("wait", gamma_wait(report, others));
        for (const double one : reports)
            us = std::max(us, one);
    } else {
        need("send", gamma_send_flowctl(report, &us, sizeof us));
    }
    need("broadcast", gamma_broadcast(0, &us, sizeof us));
    return us;
}

/// Microseconds of so many broadcasts at the slowest node.
double batch(std::vector<char> &memory, long count)
{
    gamma_time_t begin = 0, end = 0;
    need("sync", gamma_sync());
    gamma_time(&begin);
    for (long i = 0; i < count; i++)
        need("broadcast", gamma_broadcast(0, memory.data(), memory.size()));
    gamma_time(&end);
    return slowest(gamma_time_diff(begin, end));
}

void measure(std::size_t length, double ms)
{
    std::vector<char> memory(length);
    long count = 1;
    for (int warm_up = 0; warm_up < 3; warm_up++)
        batch(memory, 1);
    while (batch(memory, count) < ms * 1000 / batches && count < 1L << 24)
        count *= 2;
    std::vector<double> means(batches);
    for (double &mean : means)
        mean = batch(memory, count) / static_cast<double>(count);
    std::sort(means.begin(), means.end());
    const double median = (means[batches / 2 - 1] + means[batches / 2]) / 2;
    if (gamma_my_node() == 0)
        std::printf("bytes,iterations,min_us,median_us,MB_s\n%zu,%ld,%.3f,%.3f,%.3f\n", length,
                    count * batches, means[0], median, static_cast<double>(length) / median);
}

} // namespace

int main(int argc, char **argv)
{
    double ms = 50;
    long length = 1024;
    for (int option; (option = getopt(argc, argv, "t:l:")) != -1;) {
        if (option == 't')
            ms = std::atof(optarg);
        else if (option == 'l')
            length = std::atol(optarg);
        else
            return 2;
    }
    if (ms <= 0 || length < 0) {
        std::fputs("usage: mpirun -n NODES gamma_perf [-t MS] [-l LENGTH] (MS above 0)\n", stderr);
        return 2;
    }
    need("init", gamma_init(0, argc, argv));
    need("bind", gamma_set_passive_port(report, 0, static_cast<unsigned char>(gamma_my_par_pid()), report,
                                        report, GO_BACK, nullptr, 0));
    measure(static_cast<std::size_t>(length), ms);
    need("exit", gamma_exit());
    return 0;
}

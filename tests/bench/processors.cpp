// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Times a cache line from one processor to another and back: 50 to 100 ns where they share a cache, several
// times as much where they do not.
//
//   processors CPU CPU
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr unsigned trips = 10000, rounds = 21;

alignas(128) std::atomic<unsigned> line{0};

/// Waits until the line has the number `begin`, and writes the next; so often as both have it.
void play(int cpu, unsigned begin)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
        std::perror("processors: sched_setaffinity");
        std::exit(1);
    }
    for (unsigned n = begin; n < begin + 2 * trips; n += 2) {
        while (line.load(std::memory_order_acquire) != n)
            ;
        line.store(n + 1, std::memory_order_release);
    }
}

double round_trip(int here, int there)
{
    line = 0;
    std::thread other(play, there, 1);
    const auto began = std::chrono::steady_clock::now();
    play(here, 0);
    other.join();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count() / trips;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3 || std::atoi(argv[1]) == std::atoi(argv[2])) {
        std::fprintf(stderr, "usage: processors CPU CPU (two that differ)\n");
        return 2;
    }
    std::array<double, rounds> times{};
    for (double &time : times)
        time = round_trip(std::atoi(argv[1]), std::atoi(argv[2]));
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    std::printf("%.0f ns from processor %s to %s and back\n", times[rounds / 2], argv[1], argv[2]);
    return 0;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Measures the cost of the engine: half round trips through two ports, against plain mapped rings that carry
// frames of the same size, in turn within one run. Makes its own namespaces; needs root.
//
//   port_pingpong [ROUNDS [ROUND_TRIPS]]
#include "driver/engine/engine.hpp"
#include "raw_link.hpp"
#include "tests/netns/two_hosts.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace emx::bench {
namespace {

constexpr std::array<uint32_t, 5> sizes = {0, 32, 128, 1024, 4096};
constexpr uint32_t warm_up = 500;
constexpr uint64_t patience_ns = 5000000000;

/// Memory that the two processes share: a step counter for meeting, and the addresses of the boards.
struct Meeting {
    std::atomic<uint32_t> arrived{0};
    std::atomic<uint64_t> mac[2] = {};
    std::atomic<uint32_t> failed{0};
};

uint64_t now_ns()
{
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

class Side {
public:
    Side(int number, Meeting &meeting, const test::TwoHosts &floor_hosts, const test::TwoHosts &port_hosts)
        : number_(number), meeting_(meeting), floor_hosts_(floor_hosts), port_hosts_(port_hosts)
    {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(number, &cpus);
        ::sched_setaffinity(0, sizeof(cpus), &cpus);
    }

    /// Nanoseconds per half round trip.
    double floor(uint32_t bytes, uint32_t trips)
    {
        floor_hosts_.enter(number_);
        RawLink link("eth0", 4144, false);
        meeting_.mac[number_] = link.mac();
        meet();
        const uint64_t peer = meeting_.mac[1 - number_];
        std::vector<std::byte> frame(header_of(bytes) + std::max(bytes, 60u));
        frame[EMX_OUTER_LEN] = std::byte{EMX_MEDIUM};
        const std::span<std::byte> cut(frame.data(), header_of(bytes) + bytes);
        const double half = ping_pong(
            trips, [&] { link.send(peer, cut); },
            [&] {
                link.receive(now_ns() + patience_ns);
                link.release();
            });
        meet(); // both are done before a socket goes
        return half;
    }

    double port(uint32_t bytes, uint32_t trips)
    {
        if (!port_)
            open();
        emx_msg msg{};
        msg.type = bytes <= EMX_TINY_MAX ? EMX_TINY : bytes <= EMX_SMALL_MAX ? EMX_SMALL : EMX_MEDIUM;
        msg.remote_ep = 0;
        msg.peer = peer_;
        msg.session = 1;
        msg.msg_len = msg.data_len = bytes;
        std::vector<std::byte> memory(send_headroom + bytes + 64);
        meet();
        const double half = ping_pong(
            trips, [&] { port_->send(msg, memory.data() + send_headroom); },
            [&] {
                const uint64_t deadline = now_ns() + patience_ns;
                for (uint32_t looks = 1; !port_->peek(); looks++)
                    if (looks % 65536 == 0 && now_ns() > deadline)
                        throw std::runtime_error("no frame from the peer in time");
                port_->consume();
            });
        meet();
        return half;
    }

private:
    static uint32_t header_of(uint32_t bytes) { return bytes <= EMX_SMALL_MAX ? 40 : 48; }

    void open()
    {
        port_hosts_.enter(number_);
        EngineConfig config;
        config.boards = "eth0:W";
        DeviceError error;
        device_ = make_engine(config, error);
        if (device_)
            port_ = device_->open(0, 0, 1, error);
        if (!port_)
            throw std::runtime_error(error.text);
        meeting_.mac[number_] = device_->boards().at(0).nic_id;
        meet();
        peer_ = port_->find_peer(meeting_.mac[1 - number_], 5000, error).value();
        meet();
    }

    template <class Send, class Receive>
    double ping_pong(uint32_t trips, Send send, Receive receive)
    {
        uint64_t start = 0;
        for (uint32_t i = 0; i < warm_up + trips; i++) {
            if (i == warm_up)
                start = now_ns();
            if (number_ == 0)
                send(), receive();
            else
                receive(), send();
        }
        return static_cast<double>(now_ns() - start) / trips / 2;
    }

    void meet()
    {
        const uint32_t mine = meeting_.arrived.fetch_add(1) + 1;
        const uint32_t wanted = (mine + 1) / 2 * 2;
        while (meeting_.arrived < wanted)
            if (meeting_.failed)
                throw std::runtime_error("the other side failed");
    }

    const int number_;
    Meeting &meeting_;
    const test::TwoHosts &floor_hosts_, &port_hosts_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Port> port_;
    uint32_t peer_ = 0;
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(Side &side, int rounds, uint32_t trips, bool print)
{
    std::array<std::vector<double>, sizes.size()> floor, port;
    for (int round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < sizes.size(); i++) {
            floor[i].push_back(side.floor(sizes[i], trips));
            port[i].push_back(side.port(sizes[i], trips));
        }
    }
    if (!print)
        return;
    std::printf("half round trip in ns, %d rounds of %u trips; best tells more than median where others use "
                "the cores\n"
                "%8s %12s %12s %12s %12s %12s %12s\n",
                rounds, trips, "bytes", "floor best", "port best", "added", "floor median", "port median",
                "added");
    for (std::size_t i = 0; i < sizes.size(); i++) {
        const double best[2] = {*std::min_element(floor[i].begin(), floor[i].end()),
                                *std::min_element(port[i].begin(), port[i].end())};
        const double middle[2] = {median(floor[i]), median(port[i])};
        std::printf("%8u %12.0f %12.0f %12.0f %12.0f %12.0f %12.0f\n", sizes[i], best[0], best[1],
                    best[1] - best[0], middle[0], middle[1], middle[1] - middle[0]);
    }
}

int run(int rounds, uint32_t trips)
{
    void *memory =
        ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no shared memory");
    auto *meeting = new (memory) Meeting;
    const test::TwoHosts floor_hosts, port_hosts;
    const auto play = [&](int number) {
        try {
            Side side(number, *meeting, floor_hosts, port_hosts);
            measure(side, rounds, trips, number == 0);
            return 0;
        } catch (const std::exception &failure) {
            meeting->failed = 1;
            std::fprintf(stderr, "port_pingpong: %s\n", failure.what());
            return 1;
        }
    };
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(play(1));
    const int mine = play(0);
    int theirs = 1;
    ::waitpid(child, &theirs, 0);
    return mine || theirs;
}

} // namespace
} // namespace emx::bench

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
    const int trips = argc > 2 ? std::atoi(argv[2]) : 10000;
    if (rounds < 1 || trips < 1) {
        std::fputs("usage: port_pingpong [ROUNDS [ROUND_TRIPS]]\n", stderr);
        return 2;
    }
    try {
        return emx::bench::run(rounds, static_cast<uint32_t>(trips));
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "port_pingpong: %s\n", failure.what());
        return 1;
    }
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ping-pong over UDP with segmentation offload (UDP_SEGMENT, UDP_GRO), both sides spinning: the floor of
// large messages in datagrams, without headers, checks and repeats. What is under way fits the receive
// buffer, of which a second socket gives credit. A message of 0 bytes travels as one byte.
#include "series.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using emx::cli::Failure;

constexpr uint64_t patience_ns = 60'000'000'000; // says only that the other side hangs
constexpr uint64_t repeat_ns = 20'000'000;
constexpr uint32_t headers = 28; // of IPv4 and UDP
constexpr std::size_t datagram_max = 65535 - headers;
constexpr std::size_t segments_max = 64; // UDP_MAX_SEGMENTS of older kernels

[[noreturn]] void fail(const char *what) { throw Failure(std::string(what) + ": " + std::strerror(errno)); }

struct Plan {
    uint64_t length;
    uint64_t iterations; // 0: the end
    uint64_t number; // tells a repeat from the next
};

class Socket {
public:
    explicit Socket(uint32_t port) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        if (fd_ < 0 || bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
            fail("UDP socket");
    }
    ~Socket() { close(fd_); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    int fd() const { return fd_; }
    void connect_to(const sockaddr_in &address) const
    {
        if (connect(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
            fail("connect");
    }
    /// -1 when nothing is there.
    ssize_t receive(void *data, std::size_t size) const
    {
        const ssize_t n = recv(fd_, data, size, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
            fail("recv");
        return n;
    }
    void send(const void *data, std::size_t size) const
    {
        for (;;) {
            if (::send(fd_, data, size, MSG_DONTWAIT) >= 0)
                return;
            if (errno != EAGAIN && errno != ECONNREFUSED)
                fail("send");
        }
    }

private:
    int fd_;
};

/// Spins until `done` says so.
template <typename Done>
void spin(Done done)
{
    uint64_t deadline = 0;
    for (unsigned n = 1; !done(); n++) {
        if (n % 1024 != 0)
            continue;
        if (deadline == 0)
            deadline = emx::perf::now_ns() + patience_ns;
        else if (emx::perf::now_ns() > deadline)
            throw Failure("nothing from the peer for 60 s: was a datagram lost?");
    }
}

class Link {
public:
    explicit Link(uint32_t port) : data_(port), credit_(port + 1) {}

    /// Both sockets speak to that host only; the other side must be there.
    void join(sockaddr_in peer, uint32_t port)
    {
        peer.sin_port = htons(static_cast<uint16_t>(port));
        data_.connect_to(peer);
        peer.sin_port = htons(static_cast<uint16_t>(port + 1));
        credit_.connect_to(peer);
        int mtu = 0, buffer = 0;
        socklen_t size = sizeof mtu;
        if (getsockopt(data_.fd(), IPPROTO_IP, IP_MTU, &mtu, &size) != 0)
            fail("IP_MTU");
        segment_ = std::min<std::size_t>(static_cast<std::size_t>(mtu) - headers, datagram_max);
        const int segment = static_cast<int>(segment_), on = 1, wanted = 4 << 20, discover = IP_PMTUDISC_DO;
        if (setsockopt(data_.fd(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover) != 0 ||
            setsockopt(data_.fd(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0 ||
            setsockopt(data_.fd(), IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0)
            fail("UDP_SEGMENT, UDP_GRO");
        for (const int kind : {SO_RCVBUF, SO_SNDBUF}) // as far as the system lets everybody
            setsockopt(data_.fd(), SOL_SOCKET, kind, &wanted, sizeof wanted);
        size = sizeof buffer;
        if (getsockopt(data_.fd(), SOL_SOCKET, SO_RCVBUF, &buffer, &size) != 0)
            fail("SO_RCVBUF");
        chunk_ = std::min(datagram_max / segment_, segments_max) * segment_;
        // Datagrams one by one, in buffers of the next power of two, of a buffer whose last quarter the
        // kernel gives back late.
        std::size_t charge = 1024;
        while (charge < segment_ + 512)
            charge *= 2;
        window_ = std::max(static_cast<std::size_t>(buffer) / 4 * 3 / (charge + 512) * segment_, chunk_);
    }
    void send_all(const std::byte *data, std::size_t size)
    {
        acked_ = sent_;
        for (std::size_t done = 0; done < size;) {
            spin([&] { return sent_ - acked_ + std::min(chunk_, size - done) <= window_ || take_credit(); });
            const std::size_t now = std::min(chunk_, size - done);
            if (sent_ - acked_ + now > window_)
                continue;
            data_.send(data + done, now);
            done += now;
            sent_ += now;
        }
    }
    void receive_all(std::byte *data, std::size_t size)
    {
        for (std::size_t done = 0; done < size;) {
            ssize_t n = -1;
            spin([&] { return (n = data_.receive(data + done, size - done)) >= 0; });
            done += static_cast<std::size_t>(n);
            received_ += static_cast<std::size_t>(n);
            if (done < size && received_ - told_ >= window_ / 3) {
                told_ = received_;
                credit_.send(&told_, sizeof told_);
            }
        }
        told_ = received_;
    }
    /// Client: until the server has the plan.
    void propose(uint64_t length, uint64_t iterations)
    {
        const Plan plan{length, iterations, ++plan_};
        uint64_t next = 0;
        Plan answer{};
        spin([&] {
            if (const uint64_t now = emx::perf::now_ns(); now >= next) {
                credit_.send(&plan, sizeof plan);
                next = now + repeat_ns;
            }
            return credit_.receive(&answer, sizeof answer) == sizeof answer && answer.number == plan_;
        });
    }
    /// Server: the next plan that is not a repeat of the last one.
    Plan next_plan()
    {
        Plan plan{};
        spin([&] {
            if (credit_.receive(&plan, sizeof plan) != sizeof plan)
                return false;
            credit_.send(&plan, sizeof plan);
            return plan.number > std::exchange(plan_, plan.number);
        });
        return plan;
    }
    /// Server: the first client, without taking its plan.
    sockaddr_in first_client() const
    {
        sockaddr_in from{};
        spin([&] {
            char byte;
            socklen_t size = sizeof from;
            return recvfrom(credit_.fd(), &byte, 1, MSG_PEEK, reinterpret_cast<sockaddr *>(&from), &size) >=
                   0;
        });
        return from;
    }

private:
    bool take_credit()
    {
        uint64_t received = 0;
        if (credit_.receive(&received, sizeof received) == sizeof received)
            acked_ = std::max(acked_, received);
        return true;
    }

    Socket data_, credit_;
    std::size_t segment_ = 0, chunk_ = 0, window_ = 0;
    uint64_t sent_ = 0, acked_ = 0, received_ = 0, told_ = 0;
    uint64_t plan_ = 0; ///< number of the last one
};

class UdpExchange : public emx::perf::Exchange {
public:
    explicit UdpExchange(Link &link) : link_(link) {}

    void prepare(uint64_t length, uint32_t iterations) override
    {
        link_.propose(std::max<uint64_t>(length, 1), iterations);
        buffer_.resize(std::max<uint64_t>(length, 1), std::byte{0x5a});
    }
    void exchange() override
    {
        link_.send_all(buffer_.data(), buffer_.size());
        link_.receive_all(buffer_.data(), buffer_.size());
    }

private:
    Link &link_;
    std::vector<std::byte> buffer_;
};

void serve(uint32_t port)
{
    Link link(port);
    std::printf("udp_floor: serving on port %u\n", port);
    std::fflush(stdout);
    link.join(link.first_client(), port);
    std::vector<std::byte> buffer;
    for (;;) {
        const Plan plan = link.next_plan();
        if (plan.iterations == 0)
            return;
        buffer.resize(plan.length);
        for (uint64_t i = 0; i < plan.iterations; i++) {
            link.receive_all(buffer.data(), buffer.size());
            link.send_all(buffer.data(), buffer.size());
        }
    }
}

int body(int argc, char **argv)
{
    emx::bench::Series series;
    std::string host;
    uint32_t port = 7780;
    emx::cli::Parser parser("[-d ADDRESS] [options]",
                            "Ping-pong over UDP with offloads; without -d it serves one client.");
    parser.text('d', "peer", "IPv4 address of the server: client mode", host);
    parser.number('p', "port", "UDP port, and the next (7780)", port, 65534);
    series.add_to(parser);
    parser.parse(argc, argv);
    series.lengths.check();
    if (host.empty()) {
        serve(port);
        return 0;
    }
    sockaddr_in server{};
    server.sin_family = AF_INET;
    if (inet_pton(AF_INET, host.c_str(), &server.sin_addr) != 1)
        throw Failure("\"" + host + "\" is not an IPv4 address");
    Link link(port);
    link.join(server, port);
    UdpExchange exchange(link);
    series.run(exchange, "half round trip over UDP with segmentation offload", {},
               [&] { link.propose(0, 0); });
    return 0;
}

} // namespace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, body); }

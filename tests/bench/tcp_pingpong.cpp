// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ping-pong over TCP with the nagle delay off, both sides spinning on a non-blocking socket, or asleep in
// their calls: what the same hosts reach without EtherMX. A message of 0 bytes travels as one byte.
#include "series.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

using emx::cli::Failure;

constexpr uint64_t patience_ns = 60'000'000'000; // says only that the other side hangs

[[noreturn]] void fail(const char *what) { throw Failure(std::string(what) + ": " + std::strerror(errno)); }

struct Plan {
    uint64_t length;
    uint64_t iterations; // 0: the end
    uint64_t overlap; // 1: messages one way, each asked for by a byte
};

enum class Waiting { spin, yield, block };

class Stream {
public:
    Stream(int fd, Waiting waiting)
        : fd_(fd), sending_(MSG_NOSIGNAL | (waiting == Waiting::block ? 0 : MSG_DONTWAIT)),
          receiving_(waiting == Waiting::block ? MSG_WAITALL : MSG_DONTWAIT),
          yield_(waiting == Waiting::yield)
    {
        const int on = 1;
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            fail("TCP_NODELAY");
        // bbr, where it is the default, paces a ping-pong down; reno is in every kernel.
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0)
            fail("TCP_CONGESTION reno");
        const timeval patience{patience_ns / 1'000'000'000, 0};
        if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
            fail("SO_RCVTIMEO");
    }
    ~Stream() { close(fd_); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void send_all(const void *data, std::size_t size)
    {
        move(size, [&](std::size_t done) {
            return send(fd_, static_cast<const char *>(data) + done, size - done, sending_);
        });
    }
    void receive_all(void *data, std::size_t size)
    {
        move(size, [&](std::size_t done) {
            return recv(fd_, static_cast<char *>(data) + done, size - done, receiving_);
        });
    }

    /// Receives what is there now, at most `size` bytes.
    std::size_t receive_some(void *data, std::size_t size)
    {
        const ssize_t n = recv(fd_, data, size, MSG_DONTWAIT);
        if (n == 0 && size > 0)
            throw Failure("the peer has closed the connection");
        if (n < 0 && errno != EAGAIN)
            fail("TCP");
        return n < 0 ? 0 : static_cast<std::size_t>(n);
    }

private:
    template <typename Call>
    void move(std::size_t size, Call call)
    {
        uint64_t deadline = 0;
        for (std::size_t done = 0; done < size;) {
            const ssize_t n = call(done);
            if (n > 0) {
                done += static_cast<std::size_t>(n);
                continue;
            }
            if (n == 0)
                throw Failure("the peer has closed the connection");
            if (errno != EAGAIN)
                fail("TCP");
            if (yield_)
                sched_yield();
            if (deadline == 0)
                deadline = emx::perf::now_ns() + patience_ns;
            else if (emx::perf::now_ns() > deadline)
                throw Failure("nothing from the peer for 60 s");
        }
    }

    int fd_, sending_, receiving_;
    bool yield_;
};

class TcpExchange : public emx::perf::Exchange {
public:
    explicit TcpExchange(Stream &stream) : stream_(stream) {}

    void prepare(uint64_t length, uint32_t iterations) override
    {
        const Plan plan{std::max<uint64_t>(length, 1), iterations, 0};
        stream_.send_all(&plan, sizeof plan);
        buffer_.resize(plan.length, std::byte{0x5a});
    }
    void exchange() override
    {
        stream_.send_all(buffer_.data(), buffer_.size());
        stream_.receive_all(buffer_.data(), buffer_.size());
    }

private:
    Stream &stream_;
    std::vector<std::byte> buffer_;
};

/// A message is under way when its first bytes are here.
class TcpOverlapped : public emx::perf::Overlapped {
public:
    explicit TcpOverlapped(Stream &stream) : stream_(stream) {}

    void prepare(uint64_t length, uint32_t iterations) override
    {
        const Plan plan{std::max<uint64_t>(length, 1), iterations, 1};
        stream_.send_all(&plan, sizeof plan);
        buffer_.resize(plan.length);
    }
    void start() override
    {
        const char go = 1;
        stream_.send_all(&go, 1);
        stream_.receive_all(buffer_.data(), 1);
        done_ = 1;
    }
    bool look() override
    {
        done_ += stream_.receive_some(buffer_.data() + done_, buffer_.size() - done_);
        return done_ == buffer_.size();
    }
    void finish() override { stream_.receive_all(buffer_.data() + done_, buffer_.size() - done_); }

private:
    Stream &stream_;
    std::vector<std::byte> buffer_;
    std::size_t done_ = 0;
};

sockaddr_in address_of(const std::string &text, uint32_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1)
        throw Failure("\"" + text + "\" is not an IPv4 address");
    return address;
}

int accept_one(uint32_t port)
{
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = address_of("0.0.0.0", port);
    if (bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        listen(listener, 1) != 0)
        fail("cannot listen");
    std::printf("tcp_pingpong: serving on port %u\n", port);
    std::fflush(stdout);
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        fail("accept");
    close(listener);
    return fd;
}

/// Tries for a while: the server may be starting.
int connect_to(const std::string &host, uint32_t port)
{
    const sockaddr_in address = address_of(host, port);
    const uint64_t deadline = emx::perf::now_ns() + patience_ns;
    for (;;) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0)
            return fd;
        close(fd);
        if (emx::perf::now_ns() > deadline)
            fail("cannot connect");
        usleep(10000); // tidy-allow(sleep): tries to connect again, until a deadline
    }
}

void serve(uint32_t port, Waiting waiting)
{
    Stream stream(accept_one(port), waiting);
    std::vector<std::byte> buffer;
    for (Plan plan;;) {
        stream.receive_all(&plan, sizeof plan);
        if (plan.iterations == 0)
            return;
        buffer.resize(plan.length);
        for (uint64_t i = 0; i < plan.iterations; i++) {
            stream.receive_all(buffer.data(), plan.overlap ? 1 : buffer.size());
            stream.send_all(buffer.data(), buffer.size());
        }
    }
}

int body(int argc, char **argv)
{
    emx::bench::Series series;
    std::string host;
    uint32_t port = 7777;
    emx::cli::Parser parser("[-d ADDRESS] [options]", "Ping-pong over TCP; without -d it serves one client.");
    parser.text('d', "peer", "IPv4 address of the server: client mode", host);
    parser.number('p', "port", "TCP port (7777)", port, 65535);
    bool overlap = false, blocking = false, yield = false;
    parser.flag('O', "overlap", "work while a message comes, as omx_perf -O", overlap);
    parser.flag('w', "wait", "block instead of spinning", blocking);
    parser.flag('y', "yield", "give the core away between two looks", yield);
    series.add_to(parser);
    parser.parse(argc, argv);
    series.lengths.check();
    const Waiting waiting = blocking ? Waiting::block : yield ? Waiting::yield : Waiting::spin;
    if (host.empty()) {
        serve(port, waiting);
        return 0;
    }
    Stream stream(connect_to(host, port), waiting);
    const auto finish = [&] {
        const Plan end{};
        stream.send_all(&end, sizeof end);
    };
    if (overlap) {
        TcpOverlapped side(stream);
        series.run_overlap(side, {}, finish);
    } else {
        TcpExchange exchange(stream);
        series.run(exchange, "half round trip over TCP", {}, finish);
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, body); }

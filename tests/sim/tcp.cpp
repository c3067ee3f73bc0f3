// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages by TCP (docs/protocol.md, TCP) between simulated programs: by which carrier they go, and
// that they arrive whole when connections end, when a firewall forgets them, or when an end never had TCP.
#include "talk.hpp"

#include <algorithm>

namespace emx::sim {
namespace {

constexpr uint16_t tcp_packet = FW_X_DATA_HEADER + 32768;

HostOptions with_tcp(bool polled, uint16_t longest = tcp_packet, uint16_t datagram = 0)
{
    HostOptions o = Bench::options('W', 0);
    o.x_frame = 9014;
    o.polled = polled;
    o.tcp = longest;
    o.datagram = datagram;
    return o;
}

/// Around the ends of packets, of windows, and of what one request can name.
const std::vector<uint32_t> tcp_lengths = {32769,  65535,          65536,          65537,
                                           100000, 32 * 32768 - 1, 32 * 32768 + 1, 3000000};

/// Two programs that have TCP, and have used it: a first pull tells where to connect.
struct TcpTalk : Talk {
    explicit TcpTalk(const HostOptions &first, const HostOptions &second, uint64_t seed = 1)
        : Talk(seed, first, second)
    {
        connect();
        CHECK(exchange(one, to_two, two, {40000}) == 0);
        CHECK(exchange(two, to_one, one, {40000}) == 0);
        bench.pass(20 * ms);
    }
    uint64_t packets() const { return bench.network.tcp_packets; }
};

} // namespace

TEST_CASE("large messages go by TCP once their sender has connected")
{
    for (const bool polled : {false, true})
        for (const uint16_t datagram : {0, 1472}) {
            CAPTURE(polled, datagram);
            TcpTalk p(with_tcp(polled, tcp_packet, datagram), with_tcp(polled, tcp_packet, datagram));
            CHECK(p.packets() == 0); // the first ones could not wait
            CHECK(p.count(p.one, EMX_CNT_TCP_ROUTE) == 1);
            CHECK(p.count(p.two, EMX_CNT_TCP_ROUTE) == 1);
            const uint64_t frames = p.count(p.two, EMX_CNT_RX_X_DATA);
            const uint64_t repeats = p.count(p.one, EMX_CNT_RESEND_PULL);
            uint64_t due = 0;
            for (const uint32_t length : tcp_lengths)
                due += (length + 32767) / 32768;
            CHECK(p.exchange(p.one, p.to_two, p.two, tcp_lengths) == 0);
            CHECK(p.packets() == due);
            CHECK(p.count(p.two, EMX_CNT_RX_TCP) == due);
            CHECK(p.count(p.one, EMX_CNT_TX_TCP) == due);
            CHECK(p.count(p.two, EMX_CNT_RX_X_DATA) == frames + due);
            CHECK(p.exchange(p.two, p.to_one, p.one, tcp_lengths) == 0);
            CHECK(p.packets() == 2 * due);
            CHECK(p.count(p.two, EMX_CNT_TCP_FALLBACK) == 0);
            CHECK(p.count(p.one, EMX_CNT_RESEND_PULL) == repeats);
        }
}

TEST_CASE("an end without TCP, or without the extension, hears nothing of it")
{
    for (const char *extension : {"1", "0"}) {
        CAPTURE(extension);
        const bool is_ours = *extension == '1';
        Talk t(1, with_tcp(true), with_tcp(true, is_ours ? uint16_t{0} : tcp_packet), {},
               {{"EMX_EXTENSION", extension}});
        uint32_t addresses = 0;
        t.bench.network.tap = [&](const Frame &frame) { addresses += frame[16] == EMX_X_ADDRESS; };
        t.connect();
        CHECK(t.exchange(t.one, t.to_two, t.two, tcp_lengths) == 0);
        CHECK(t.exchange(t.two, t.to_one, t.one, tcp_lengths) == 0);
        CHECK(addresses == 0);
        CHECK(t.bench.network.tcp_packets == 0);
    }
}

TEST_CASE("pulls on a connection that ends begin anew by frames, and TCP comes back")
{
    for (const bool polled : {false, true}) {
        uint64_t fallbacks = 0, routes = 0, packets = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            CAPTURE(polled, seed);
            TcpTalk p(with_tcp(polled), with_tcp(polled), seed);
            p.bench.network.faults.tcp_end = 30;
            for (int round = 0; round < 3; round++) {
                CHECK(p.exchange(p.one, p.to_two, p.two, tcp_lengths) == 0);
                p.bench.pass(sec); // some pauses
            }
            fallbacks += p.count(p.two, EMX_CNT_TCP_FALLBACK);
            routes += p.count(p.two, EMX_CNT_TCP_ROUTE);
            packets += p.packets();
        }
        CAPTURE(fallbacks, routes, packets);
        CHECK(fallbacks > 20);
        CHECK(routes > 40); // the first of each run, and one more
        CHECK(packets > 1000);
    }
}

TEST_CASE("a firewall that forgets connections is noticed, and when it opens TCP comes back")
{
    for (const bool polled : {false, true})
        for (const uint64_t from : {0 * us, 60 * us, 120 * us}) {
            CAPTURE(polled, from / us);
            TcpTalk p(with_tcp(polled), with_tcp(polled));
            p.bench.world.after(from, [&] { p.bench.network.faults.no_tcp = true; });
            CHECK(p.exchange(p.one, p.to_two, p.two, {3000000}) == 0);
            CHECK(p.count(p.two, EMX_CNT_TCP_FALLBACK) == 1);
            const uint64_t passed = p.packets();
            CHECK(passed < 3000000 / 32768);
            CHECK(p.exchange(p.one, p.to_two, p.two, tcp_lengths) == 0);
            CHECK(p.packets() == passed);
            CHECK(p.count(p.two, EMX_CNT_TCP_FALLBACK) == 1); // nobody tries it meanwhile
            p.bench.network.faults.no_tcp = false;
            p.bench.pass(10 * sec);
            CHECK(p.exchange(p.one, p.to_two, p.two, {40000}) == 0); // tells where to connect
            p.bench.pass(20 * ms);
            CHECK(p.exchange(p.one, p.to_two, p.two, {3000000}) == 0);
            CHECK(p.packets() > passed);
            CHECK(p.count(p.two, EMX_CNT_TCP_ROUTE) == 2);
        }
}

TEST_CASE("what TCP repeats is not asked for again")
{
    for (const bool polled : {false, true}) {
        CAPTURE(polled);
        TcpTalk p(with_tcp(polled), with_tcp(polled));
        p.bench.network.faults.loss = 20; // of packets: each then comes 10 ms later, with all behind it
        const uint64_t before = p.packets();
        CHECK(p.exchange(p.one, p.to_two, p.two, {3000000, 3000000, 3000000, 3000000}) == 0);
        CHECK(p.count(p.two, EMX_CNT_TCP_FALLBACK) == 0);
        CHECK(p.packets() - before <= 4 * 92 + 4 * 10); // a request that was late, not each of its frames
    }
}

TEST_CASE("an end that dies takes its connections with it, and the next life makes new ones")
{
    TcpTalk p(with_tcp(true), with_tcp(true));
    Player &third = p.bench.start(1, 3, "1");
    p.bench.pass(ms);
    const auto to_three = p.bench.connect(p.one, p.bench.mac(1), 3);
    const auto back = p.bench.connect(third, p.bench.mac(0), 1);
    CHECK(p.exchange(p.one, to_three, third, {40000}) == 0);
    p.bench.pass(20 * ms);
    CHECK(p.exchange(p.one, to_three, third, tcp_lengths) == 0);
    CHECK(p.exchange(third, back, p.one, {40000}) == 0);
    p.bench.pass(20 * ms);
    third.process->kill();
    p.bench.pass(20 * ms);
    Player &next = p.bench.start(1, 3, "1");
    p.bench.pass(ms);
    const auto to_next = p.bench.connect(p.one, p.bench.mac(1), 3);
    const auto from_next = p.bench.connect(next, p.bench.mac(0), 1);
    const uint64_t before = p.packets();
    CHECK(p.exchange(p.one, to_next, next, {40000}) == 0);
    CHECK(p.exchange(next, from_next, p.one, {40000}) == 0);
    CHECK(p.packets() == before); // new sessions, which have to meet first
    p.bench.pass(20 * ms);
    CHECK(p.exchange(p.one, to_next, next, tcp_lengths) == 0);
    CHECK(p.exchange(next, from_next, p.one, tcp_lengths) == 0);
    CHECK(p.packets() > before);
    CHECK(p.count(p.one, EMX_CNT_TCP_FALLBACK) == 0);
}

} // namespace emx::sim

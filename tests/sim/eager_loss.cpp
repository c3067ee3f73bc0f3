// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Loss of eager messages under the EtherMX extension (docs/protocol.md): what nothing follows is asked for,
// and repairs take round trips, whether the program waits, sleeps or computes.
#include "bench.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace emx::sim {
namespace {

/// Two programs that know each other.
struct Pair {
    explicit Pair(const char *extension, uint64_t seed = 1,
                  const std::map<std::string, std::string> &environment_of_two = {})
        : bench(seed), one(bench.start(0, 1, extension)), two(bench.start(1, 2, extension))
    {
        for (Player *player : {&one, &two}) // frames are counted here
            player->process->environment.emplace("EMX_PACK_AFTER", "0");
        two.process->environment.insert(environment_of_two.begin(), environment_of_two.end());
        bench.pass(ms);
        to_two = bench.connect(one, bench.mac(1), 2);
        to_one = bench.connect(two, bench.mac(0), 1);
        bench.pass(ms);
    }

    /// Round trips of `length` bytes as their sender measures them, in rising order.
    std::vector<uint64_t> ping_pong(uint32_t count, uint32_t length)
    {
        std::vector<uint64_t> took;
        std::vector<char> there(length), back(length);
        bool done = false;
        two.task = [&] {
            for (uint32_t i = 0; i < count; i++) {
                receive(two, back);
                send(two, to_one, back);
            }
        };
        one.task = [&] {
            for (uint32_t i = 0; i < count; i++) {
                const uint64_t start = bench.world.now();
                send(one, to_two, there);
                receive(one, there);
                took.push_back(bench.world.now() - start);
            }
            done = true;
        };
        bench.until([&] { return done; });
        std::sort(took.begin(), took.end());
        return took;
    }

    static void send(Player &from, mx_endpoint_addr_t to, std::vector<char> &bytes)
    {
        mx_request_t request{};
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_isend(from.ep, &segment, 1, to, 7, nullptr, &request);
        mx_forget(from.ep, &request);
    }
    static void receive(Player &at, std::vector<char> &bytes)
    {
        mx_request_t request{};
        mx_status_t status{};
        uint32_t done = 0;
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_irecv(at.ep, &segment, 1, 7, ~0ull, nullptr, &request);
        mx_wait(at.ep, &request, MX_INFINITE, &status, &done);
    }

    /// Time from a send whose frames are all lost to its arrival, while its sender does `then`.
    uint64_t after_a_loss(uint32_t length, const std::function<void()> &then)
    {
        std::vector<char> out(length, 'x'), in(length);
        uint64_t sent = 0, arrived = 0;
        bool sender_done = false;
        two.task = [&] {
            receive(two, in);
            arrived = bench.world.now();
        };
        bench.pass(ms);
        bench.network.faults.loss = 1000;
        one.task = [&] {
            send(one, to_two, out);
            sent = bench.world.now();
            bench.network.faults.loss = 0;
            then();
            sender_done = true;
        };
        bench.until([&] { return arrived != 0; });
        CHECK((in == out)); // not to be printed
        bench.until([&] { return sender_done; });
        return arrived - sent;
    }

    uint64_t count(Player &player, emx_counter counter) const
    {
        return player.process->device()->counters(0).v[counter];
    }

    Bench bench;
    Player &one, &two;
    mx_endpoint_addr_t to_two{}, to_one{};
};

} // namespace

TEST_CASE("with one frame of a hundred lost, 99 of a hundred round trips stay below 2 ms")
{
    uint64_t slow[2] = {};
    for (const bool extension : {false, true}) {
        Pair p(extension ? "1" : "0");
        p.bench.network.faults.loss = 10;
        const auto took = p.ping_pong(5000, 1024);
        slow[extension] = took[took.size() * 99 / 100];
    }
    CAPTURE(slow[0] / us, slow[1] / us);
    CHECK(slow[0] > 40 * ms);
    CHECK(slow[1] < 2 * ms);
}

TEST_CASE("a program that sleeps in a wait asks for the last message")
{
    for (const uint32_t length : {8u, 1024u, 20000u}) {
        CAPTURE(length);
        Pair p("1");
        const uint64_t took = p.after_a_loss(length, [&] {
            std::vector<char> nothing(1);
            uint32_t done = 0;
            mx_request_t request{};
            mx_status_t status{};
            mx_segment_t segment{nothing.data(), 1};
            mx_irecv(p.one.ep, &segment, 1, 1234, ~0ull, nullptr, &request);
            mx_wait(p.one.ep, &request, 100, &status, &done);
            mx_cancel(p.one.ep, &request, &done);
        });
        CAPTURE(took / us);
        CHECK(took < ms);
    }
}

TEST_CASE("a program that polls, or its helper while it computes, asks for the last message")
{
    Pair p("1");
    CHECK(p.after_a_loss(1024, [] {}) < ms);
    // The simulated helper looks every 20 ms, and steps in when the program has been away from one to the
    // next.
    const uint64_t away = p.after_a_loss(1024, [&] { p.one.process->sleep(200 * ms); });
    CAPTURE(away / us);
    CHECK(away < 42 * ms);
    CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == 2);
}

TEST_CASE("a program that was stopped for long finds the answer in its queue, and repeats nothing")
{
    for (const char *extension : {"0", "1"}) {
        CAPTURE(extension);
        Pair p(extension);
        std::vector<char> word(8, 'x');
        p.bench.tell(p.two, [&] {
            for (int i = 0; i < 60; i++) // before it knows of the message: their acks say nothing of it
                Pair::send(p.two, p.to_one, word);
        });
        bool back = false;
        p.one.task = [&] {
            Pair::send(p.one, p.to_two, word);
            p.one.process->freeze();
            p.one.process->sleep(11 * sec); // its helper takes what came
            back = true;
        };
        p.bench.pass(10 * sec);
        p.one.process->thaw();
        p.bench.until([&] { return back; });
        CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == 0);
        CHECK(p.one.partner(p.to_two)->sender.unacked.head == nullptr);
    }
}

TEST_CASE("questions are few: one for a message alone, none for those that are answered or followed")
{
    Pair p("1");
    const auto reports = [&] { return p.count(p.one, EMX_CNT_TX_X_REPORT); };
    p.ping_pong(1000, 100);
    p.bench.pass(10 * ms);
    const uint64_t before = reports();
    CHECK(before <= 2);
    std::vector<char> out(64, 'x'), in(64);
    p.bench.tell(p.one, [&] { Pair::send(p.one, p.to_two, out); });
    p.bench.pass(100 * ms);
    CHECK(reports() == before + 1);
    CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == 0);
}

TEST_CASE("a peer that does not answer is asked ever more rarely")
{
    Pair p("1");
    std::vector<char> out(64, 'x');
    p.bench.tell(p.one, [&] {
        p.bench.network.faults.loss = 1000;
        Pair::send(p.one, p.to_two, out);
    });
    p.bench.pass(49 * ms);
    const uint64_t first = p.count(p.one, EMX_CNT_TX_X_REPORT);
    CHECK(first >= 5); // after 0.3, 0.9, 2.1, 4.5, 9.3, 18.9 and 38.1 ms
    CHECK(first <= 7);
    p.bench.pass(1000 * ms);
    CHECK(p.count(p.one, EMX_CNT_TX_X_REPORT) - first <= 21);
    p.bench.network.faults.loss = 0;
    bool here = false;
    std::vector<char> in(64);
    p.two.task = [&] {
        Pair::receive(p.two, in);
        here = true;
    };
    p.bench.until([&] { return here; });
    CHECK((in == out)); // not to be printed
}

TEST_CASE("a message that never arrives is repeated ever more rarely, though questions are answered")
{
    Pair p("1");
    Network &network = p.bench.network;
    network.tap = [&](const Frame &frame) { network.faults.loss = frame.size() > 1000 ? 1000 : 0; };
    std::vector<char> out(20000, 'x'), in(20000);
    p.bench.tell(p.one, [&] { Pair::send(p.one, p.to_two, out); });
    p.bench.pass(sec);
    CHECK(p.count(p.one, EMX_CNT_RX_X_REPORT) > 10);
    CHECK(p.count(p.one, EMX_CNT_TX_X_REPORT) < 60);
    CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) < 60);
    network.tap = nullptr;
    network.faults.loss = 0;
    p.bench.tell(p.two, [&] { Pair::receive(p.two, in); });
    CHECK((in == out));
}

TEST_CASE("a loss halves the frames under way, and a stream without loss widens them again")
{
    Pair p("1");
    const Flight &flight = p.one.partner(p.to_two)->sender.flight;
    CHECK(flight.limit == 32);
    p.bench.network.faults.in_order = true;
    p.bench.network.faults.loss = 20;
    uint32_t least = 32;
    p.bench.network.tap = [&](const Frame &) { least = std::min(least, flight.limit); };
    p.bench.stream(p.one, p.to_two, p.two, 300, 6000);
    CHECK(least >= 4);
    CHECK(least <= 16);
    p.bench.network.faults.loss = 0;
    p.bench.pass(ms);
    const uint64_t repeats = p.count(p.one, EMX_CNT_RESEND_MESSAGE);
    p.bench.stream(p.one, p.to_two, p.two, 1000, 6000);
    CHECK(flight.limit == 32);
    CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == repeats);
}

TEST_CASE("no more frames are under way than the receiver offers to hold")
{
    for (const uint32_t length : {64u, 6000u, 30000u}) {
        CAPTURE(length);
        Pair p("1", 1, {{"EMX_WINDOW", "8"}});
        const Partner *partner = p.one.partner(p.to_two);
        uint32_t most = 0;
        p.bench.network.tap = [&](const Frame &) { most = std::max(most, partner->sender.frames_out); };
        p.bench.stream(p.one, p.to_two, p.two, 100, length);
        CHECK(most == 8);
    }
}

TEST_CASE("a message half taken is not repeated when the receiver asks a question of its own")
{
    constexpr uint32_t count = 40;
    for (const uint32_t length : {5000u, 10000u, 20000u}) {
        CAPTURE(length);
        Pair p("1");
        p.bench.network.faults.in_order = true;
        std::vector<char> out(length, 'x'), in(std::size_t{2} * count * length);
        unsigned done = 0;
        const auto exchange = [&](Player &me, mx_endpoint_addr_t to, char *memory) {
            for (uint32_t i = 0; i < count; i++) {
                mx_segment_t segment{memory + std::size_t{i} * length, length};
                mx_request_t request{};
                mx_irecv(me.ep, &segment, 1, 7, ~0ull, nullptr, &request);
                mx_forget(me.ep, &request);
            }
            for (uint32_t i = 0; i < count; i++)
                Pair::send(me, to, out);
            for (int i = 0; i < 1000;
                 i++) { // looks now and then: at some frames, and sometimes at the timers
                mx_progress(me.ep);
                me.process->sleep(400 * us);
            }
            done++;
        };
        p.one.task = [&] { exchange(p.one, p.to_two, in.data()); };
        p.two.task = [&] { exchange(p.two, p.to_one, in.data() + std::size_t{count} * length); };
        p.bench.until([&] { return done == 2; });
        p.bench.pass(100 * ms);
        CHECK((in == std::vector<char>(in.size(), 'x')));
        CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) + p.count(p.two, EMX_CNT_RESEND_MESSAGE) == 0);
    }
}

TEST_CASE("a lost message of fragments is repeated without those that are there")
{
    // Some of the fragments are lost, and nothing follows: the answer to the question names them.
    uint64_t sent = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        Pair p("1", seed);
        std::vector<char> out(30000, 'x'), in(30000);
        const uint64_t before = p.count(p.one, EMX_CNT_TX_MEDIUM);
        p.bench.tell(p.two, [&] {
            mx_request_t request{};
            mx_segment_t segment{in.data(), 30000};
            mx_irecv(p.two.ep, &segment, 1, 7, ~0ull, nullptr, &request);
            mx_forget(p.two.ep, &request);
        });
        p.bench.network.faults.loss = 200;
        p.bench.tell(p.one, [&] {
            Pair::send(p.one, p.to_two, out);
            p.bench.network.faults.loss = 0;
        });
        p.bench.pass(5 * ms);
        REQUIRE((in == out));
        const uint64_t repeats = p.count(p.one, EMX_CNT_TX_MEDIUM) - before - 8;
        sent += repeats;
        lost += repeats > 0;
    }
    CAPTURE(sent, lost);
    CHECK(lost > 150); // 1 - 0.8^8 of them
    CHECK(sent < 200 * 8 * 30 / 100); // a fifth of the fragments, and few more
}

} // namespace emx::sim

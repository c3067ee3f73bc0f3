// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Beacons and what boards learn of each other by them: boards on one cable, in virtual time.
#include "core_board.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

using namespace emx::test;

namespace {

constexpr uint64_t sec = 1000000000;
constexpr uint64_t ms = sec / 1000;
constexpr uint64_t query_interval = 5 * sec;

/// A board with its daemon: what the board agent and the kernel module do around the core.
struct Host {
    PeerTable table;
    emx_counters counters{};
    fw_board fw{};
    fw_beacons beacons{};
    std::vector<uint64_t> sent; ///< times of its beacons
    std::vector<uint64_t> asked; ///< times of its questions
    fw_questions questions{};
    bool on = true;

    Host(uint64_t mac, const std::string &name, uint32_t capacity) : table(capacity)
    {
        fw.mac = mac;
        fw.sizes = sizes_w();
        fw.peers = table.get();
        fw.tags = fw_peers_tags(fw.peers);
        fw.counters = &counters;
        fw.endpoint_max = 32;
        fw.query_magic = static_cast<uint32_t>(mac) * 77;
        fw.answers_hosts = 1;
        call(name);
        fw_peer_add(fw.peers, mac);
        fw_peer_name(fw.peers, 0, name.c_str());
    }
    void call(const std::string &name)
    {
        std::fill(std::begin(fw.name), std::end(fw.name), '\0');
        name.copy(fw.name, EMX_NAME_MAX - 1);
    }
    /// Its name for a board; "-": it does not know it.
    std::string name_of(uint64_t mac)
    {
        char name[EMX_NAME_MAX];
        const int i = fw_peer_find(fw.peers, mac, ~0u);
        if (i < 0)
            return "-";
        fw_peer_name_get(fw.peers, static_cast<uint32_t>(i), name);
        return name;
    }
    /// The board that it calls so; 0: none.
    uint64_t find(const std::string &name)
    {
        const int i = fw_peer_by_name(fw.peers, name.c_str());
        return i < 0 ? 0 : fw_peer(fw.peers, static_cast<uint32_t>(i))->mac;
    }
};

class Cable {
public:
    uint64_t now = 1000 * sec;
    bool answer_all = false; ///< whoever is asked says "ghost" and its number

    Host &add(uint64_t mac, const std::string &name, uint32_t capacity = 16)
    {
        hosts_.push_back(std::make_unique<Host>(mac, name, capacity));
        start(*hosts_.back());
        return *hosts_.back();
    }
    void start(Host &host) { fw_beacons_start(&host.beacons, serial_ += 0x9e3779b9, now); }

    /// Lets that time pass. Frames take none.
    void run(uint64_t time)
    {
        const uint64_t end = now + time;
        for (;;) {
            uint64_t next = end + 1;
            for (auto &h : hosts_)
                if (h->on)
                    next = std::min({next, uint64_t{h->beacons.due}, uint64_t{h->questions.due}});
            now = std::max(now, std::min(next, end));
            if (next > end)
                return;
            for (auto &h : hosts_)
                if (h->on)
                    work(*h);
        }
    }

    void give(Host &to, const Frame &frame)
    {
        fw_pkt pkt{};
        fw_fx fx{};
        if (const int why =
                fw_check(&to.fw.sizes, to.fw.mac, frame.data(), static_cast<uint32_t>(frame.size()), &pkt)) {
            to.counters.v[why]++;
            return;
        }
        fw_demux(&to.fw, &pkt, &fx);
        if (fx.kind == FW_FX_PEER) {
            const int peer = fw_peer_add(to.fw.peers, fx.u.host.mac);
            if (peer < 0) {
                to.counters.v[EMX_CNT_DROP_TABLE_FULL]++;
                return;
            }
            if (fw_questions_newcomer(&to.questions, now))
                ask(to, static_cast<uint32_t>(peer));
            fw_demux(&to.fw, &pkt, &fx);
        }
        execute(to, fx);
    }

private:
    void work(Host &host)
    {
        Frame frame(EMX_HEADER_MAX);
        if (fw_beacons_next(&host.beacons, &host.fw, now, frame.data())) {
            host.sent.push_back(now);
            transmit(host, frame);
        }
        for (int i; (i = fw_questions_next(&host.questions, host.fw.peers, 1, now)) >= 0;)
            ask(host, static_cast<uint32_t>(i));
    }
    void ask(Host &host, uint32_t peer)
    {
        host.asked.push_back(now);
        if (answer_all) {
            host.questions.answered++;
            fw_peer_learn(host.fw.peers, peer, ("ghost" + std::to_string(peer)).c_str());
            return;
        }
        fw_pkt pkt{};
        pkt.msg.type = EMX_HOST_QUERY;
        pkt.src_mac = host.fw.mac;
        pkt.dst_mac = fw_peer(host.fw.peers, peer)->mac;
        pkt.magic = host.fw.query_magic;
        Frame frame(EMX_HEADER_MAX);
        frame.resize(std::max<uint32_t>(fw_encode(&host.fw.sizes, &pkt, frame.data()), EMX_FRAME_MIN));
        transmit(host, frame);
    }
    void execute(Host &host, fw_fx &fx)
    {
        switch (fx.kind) {
        case FW_FX_DROP: host.counters.v[fx.counter]++; break;
        case FW_FX_NAME:
            host.questions.answered++;
            fw_peer_learn(host.fw.peers, fx.u.host.peer, fx.u.host.name);
            break;
        case FW_FX_BEACON:
            fw_beacons_heard(&host.beacons, host.fw.peers, fx.u.host.peer, fx.u.host.serial, now);
            break;
        case FW_FX_ANSWER:
            if (!fw_may_answer(&host.fw.answers, now)) {
                host.counters.v[EMX_CNT_DROP_ANSWER]++;
                break;
            }
            transmit(host, Frame(fx.u.tx.header,
                                 fx.u.tx.header + std::max<uint32_t>(fx.u.tx.length, EMX_FRAME_MIN)));
            break;
        default: break;
        }
    }
    void transmit(const Host &from, const Frame &frame)
    {
        const bool broadcast = frame[0] & 1;
        for (auto &h : hosts_)
            if (h.get() != &from && h->on && (broadcast || emx_get_mac(frame.data()) == h->fw.mac))
                give(*h, frame);
    }

    std::vector<std::unique_ptr<Host>> hosts_;
    uint32_t serial_ = 0x5eed0001;
};

Frame beacon_of(uint64_t mac, uint32_t serial)
{
    Host host(mac, "x:0", 1);
    Frame frame(EMX_HEADER_MAX);
    fw_beacons_start(&host.beacons, serial, 0);
    REQUIRE(fw_beacons_next(&host.beacons, &host.fw, 0, frame.data()) == EMX_BEACON_LEN);
    return frame;
}

} // namespace

TEST_CASE("beacon__bytes")
{
    Frame wanted(64);
    const uint8_t outer[] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 10, 0x86, 0xdf, 0, 0, 1};
    const uint8_t body[] = {0, 0, 2, 0, 0, 0, 0, 10, 0x5e, 0xed, 0, 1};
    std::copy(std::begin(outer), std::end(outer), wanted.begin());
    std::copy(std::begin(body), std::end(body), wanted.begin() + 32);
    CHECK(beacon_of(mac_a, 0x5eed0001) == wanted);
}

TEST_CASE("beacon__eight_then_one_every_three_minutes")
{
    Cable cable;
    Host &alone = cable.add(mac_a, "a:0");
    const uint64_t start = cable.now;
    cable.run(400 * sec);
    REQUIRE(alone.sent.size() == 10);
    for (uint64_t i = 0; i < 8; i++)
        CHECK(alone.sent[i] == start + i * sec);
    CHECK(alone.sent[8] == start + 187 * sec);
    CHECK(alone.sent[9] == start + 367 * sec);
}

TEST_CASE("beacon__a_newcomer_and_an_old_one_hear_of_each_other")
{
    // As captured from another implementation: eight of the old one, one and eight of the newcomer.
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    cable.run(100 * sec);
    a.sent.clear();
    Host &b = cable.add(mac_b, "b:0");
    const uint64_t start = cable.now;
    cable.run(60 * sec);
    CHECK(a.sent.size() == 8);
    CHECK(a.sent[0] > start);
    CHECK(a.sent[0] <= start + sec);
    CHECK(b.sent.size() == 9);
    CHECK(a.name_of(mac_b) == "b:0");
    CHECK(b.name_of(mac_a) == "a:0");
    CHECK(b.find("a:0") == mac_a);
}

TEST_CASE("beacon__a_restarted_host_is_answered_and_asked_again")
{
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    Host &b = cable.add(mac_b, "b:0");
    cable.run(100 * sec);
    a.sent.clear();
    b.sent.clear();
    b.call("other:0");
    cable.start(b);
    cable.run(query_interval + sec);
    CHECK(a.name_of(mac_b) == "other:0");
    CHECK(a.find("b:0") == 0);
    cable.run(60 * sec);
    CHECK(a.sent.size() == 8);
    CHECK(b.sent.size() == 8);
    // The same beacon once more says nothing new.
    a.sent.clear();
    cable.give(a, beacon_of(mac_b, b.beacons.serial));
    cable.run(2 * sec);
    CHECK(a.sent.empty());
}

TEST_CASE("beacon__a_given_name_stays")
{
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    fw_peer_add(a.fw.peers, mac_b);
    fw_peer_name(a.fw.peers, 1, "given:0");
    Host &b = cable.add(mac_b, "b:0");
    cable.run(20 * sec);
    CHECK(a.name_of(mac_b) == "given:0");
    cable.start(b);
    cable.run(20 * sec);
    CHECK(a.name_of(mac_b) == "given:0");
    CHECK(a.counters.v[EMX_CNT_RX_HOST_REPLY] == 0);
}

TEST_CASE("beacon__a_closed_table_takes_nobody_in")
{
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    a.fw.peers->open = 0;
    Host &b = cable.add(mac_b, "b:0");
    cable.run(60 * sec);
    CHECK(a.fw.peers->count == 1);
    CHECK(a.sent.empty());
    CHECK(a.counters.v[EMX_CNT_RX_RAW] == 8);
    CHECK(a.counters.v[EMX_CNT_DROP_UNKNOWN_PEER] == 0); // nobody asks it in vain
    CHECK(b.fw.peers->count == 1);
    // A host that is on its list hears of it, without all others.
    REQUIRE(fw_peer_add(a.fw.peers, mac_b) == 1);
    fw_peer_name(a.fw.peers, 1, "listed:0");
    cable.start(b);
    cable.run(60 * sec);
    CHECK(a.sent.empty());
    CHECK(b.find("a:0") == mac_a);
    CHECK(a.find("listed:0") == mac_b);
    CHECK(fw_peer_to_ask(a.fw.peers, 0) == -1);
    CHECK(b.sent.size() == 16);
    // Open again, it is heard.
    a.fw.peers->open = 1;
    cable.start(a);
    cable.run(60 * sec);
    CHECK(a.sent.size() == 8);
}

TEST_CASE("beacon__another_address_takes_the_name_along")
{
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    Host &old = cable.add(mac_b, "b:0");
    cable.run(20 * sec);
    REQUIRE(a.find("b:0") == mac_b);
    old.on = false;
    cable.add(0x0200000000bb, "b:0");
    cable.run(20 * sec);
    CHECK(a.find("b:0") == 0x0200000000bb);
    CHECK(a.name_of(mac_b).empty());
    // It is back beside the other: then both are called so.
    old.on = true;
    cable.run(20 * sec);
    CHECK(a.name_of(mac_b) == "b:0");
    CHECK(a.name_of(0x0200000000bb) == "b:0");
    CHECK(a.find("b:0") == mac_b);
}

TEST_CASE("beacon__a_link_that_comes_up_is_a_start")
{
    Cable cable;
    Host &a = cable.add(mac_a, "a:0");
    Host &b = cable.add(mac_b, "b:0");
    a.on = false;
    cable.run(60 * sec);
    CHECK(b.name_of(mac_a) == "-");
    a.on = true;
    fw_beacons_start(&a.beacons, a.beacons.serial, cable.now);
    cable.run(2 * sec);
    CHECK(b.name_of(mac_a) == "a:0");
    CHECK(a.name_of(mac_b) == "b:0");
}

TEST_CASE("beacon__a_hundred_hosts_at_once")
{
    constexpr uint64_t count = 100;
    Cable cable;
    std::vector<Host *> hosts;
    for (uint64_t i = 0; i < count; i++)
        hosts.push_back(&cable.add(mac_a + i, "node" + std::to_string(i) + ":0", 128));
    cable.run(query_interval + sec);
    for (Host *h : hosts)
        for (uint64_t i = 0; i < count; i++)
            REQUIRE(h->name_of(mac_a + i) == "node" + std::to_string(i) + ":0");
    cable.run(60 * sec);
    for (Host *h : hosts) // all are new within the first second: counts begin again, and do not add up
        CHECK(h->sent.size() <= 10);
}

TEST_CASE("beacon__ten_thousand_peers")
{
    constexpr uint64_t count = 10000;
    Cable cable;
    Host &a = cable.add(mac_a, "a:0", 1 + count);
    for (uint64_t i = 0; i < count; i++)
        cable.give(a, beacon_of(0x020000010000 + i, static_cast<uint32_t>(i)));
    CHECK(a.fw.peers->count == 1 + count);
    CHECK(a.counters.v[EMX_CNT_DROP_TABLE_FULL] == 0);
    cable.give(a, beacon_of(0x0200000fffff, 5));
    CHECK(a.counters.v[EMX_CNT_DROP_TABLE_FULL] == 1);
    for (uint32_t i = 1; i <= count; i++)
        fw_peer_learn(a.fw.peers, i, ("node" + std::to_string(i) + ":0").c_str());
    CHECK(fw_peer_to_ask(a.fw.peers, 0) == -1);
    for (uint32_t i = 1; i <= count; i += 37)
        REQUIRE(fw_peer_by_name(a.fw.peers, ("node" + std::to_string(i) + ":0").c_str()) == int(i));
    CHECK(fw_peer_by_name(a.fw.peers, "node10001:0") == -1);
    CHECK(fw_peer_by_name(a.fw.peers, "") == -1);
    cable.run(20 * sec);
    CHECK(a.sent.size() == 8);
}

TEST_CASE("questions__a_storm_of_newcomers_draws_a_bounded_number")
{
    constexpr uint64_t count = 10000;
    for (bool answered : {true, false}) {
        CAPTURE(answered);
        Cable cable;
        cable.answer_all = answered;
        Host &a = cable.add(mac_a, "a:0", 1 + count);
        cable.run(sec);
        a.asked.clear();
        const auto asked_since = [&](uint64_t time) -> size_t {
            return std::ranges::count_if(a.asked, [&](uint64_t at) { return at >= time; });
        };
        for (uint64_t i = 0; i < count; i++) { // within a second
            cable.give(a, beacon_of(0x020000010000 + i, static_cast<uint32_t>(i)));
            cable.now += sec / count;
        }
        CHECK(a.asked.size() <= 11ul * FW_QUESTIONS_AT_ONCE);
        const uint64_t storm_end = cable.now;
        cable.run(sec);
        CHECK(asked_since(storm_end) <= 11ul * FW_QUESTIONS_ROUND);
        cable.run(19 * sec);
        if (answered) {
            // Once each; again those out of turn, who answer here before their first beacon is judged.
            CHECK((a.asked.size() >= count && a.asked.size() <= count + 11ul * FW_QUESTIONS_AT_ONCE));
            CHECK(fw_peer_to_ask(a.fw.peers, 1) == -1);
            CHECK(a.find("ghost10000") == 0x020000010000 + count - 1);
        } else { // nobody is there: 64 in five seconds
            const uint64_t before = cable.now;
            cable.run(100 * sec);
            CHECK(asked_since(before) >= 19ul * FW_QUESTIONS_ROUND);
            CHECK(asked_since(before) <= 21ul * FW_QUESTIONS_ROUND);
        }
    }
}

TEST_CASE("questions__everybody_has_a_turn")
{
    constexpr uint64_t count = 1000;
    Cable cable;
    Host &a = cable.add(mac_a, "a:0", 2 + count);
    for (uint64_t i = 0; i < count; i++)
        fw_peer_add(a.fw.peers, 0x020000010000 + i); // silent for ever
    cable.add(mac_b, "b:0"); // the last one
    cable.run(10 * ms);
    CHECK(a.name_of(mac_b) == "b:0"); // a newcomer, out of turn
    fw_peer_name(a.fw.peers, 1 + count, nullptr);
    cable.run((count / FW_QUESTIONS_ROUND + 2) * query_interval);
    CHECK(a.name_of(mac_b) == "b:0");
    CHECK(a.asked.size() <= (count / FW_QUESTIONS_ROUND + 4) * FW_QUESTIONS_ROUND);
}

TEST_CASE("beacon__cost_of_looking_up_among_ten_thousand", "[.speed]")
{
    constexpr uint32_t count = 10000;
    PeerTable table(count);
    for (uint32_t i = 0; i < count; i++) {
        fw_peer_add(table.get(), 0x020000010000 + i);
        fw_peer_learn(table.get(), i, ("node" + std::to_string(i) + ":0").c_str());
    }
    // tidy-allow(time): figures for the eyes, of a case that runs only when it is named
    using Clock = std::chrono::steady_clock;
    const auto time = [&](const char *what, uint32_t times, auto look) {
        const auto start = Clock::now();
        uint64_t found = 0;
        for (uint32_t i = 0; i < times; i++)
            found += look(i * 7919 % count) >= 0;
        const std::chrono::duration<double, std::nano> ns = Clock::now() - start;
        std::printf("%s: %.1f ns\n", what, ns.count() / times);
        CHECK(found == times);
    };
    time("by address, with the right tag", 10000000,
         [&](uint32_t i) { return fw_peer_find(table.get(), 0x020000010000 + i, i); });
    time("by address alone", 10000000,
         [&](uint32_t i) { return fw_peer_find(table.get(), 0x020000010000 + i, ~0u); });
    std::vector<std::string> names;
    for (uint32_t i = 0; i < count; i++)
        names.push_back("node" + std::to_string(i) + ":0");
    time("by name", 10000, [&](uint32_t i) { return fw_peer_by_name(table.get(), names[i].c_str()); });
    const auto start = Clock::now();
    for (uint32_t i = 0; i < 1000; i++)
        fw_peer_learn(table.get(), i, ("other" + std::to_string(i) + ":0").c_str());
    const std::chrono::duration<double, std::nano> ns = Clock::now() - start;
    std::printf("a new name: %.1f ns\n", ns.count() / 1000);
}

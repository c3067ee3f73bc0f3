// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Several short messages in one frame (docs/protocol.md, X PACK): which messages wait for others and for how
// long, and that each arrives as if it had come alone, whatever happens to the frames.
#include "bench.hpp"

#include <deque>
#include <map>
#include <string>

namespace emx::sim {
namespace {

using Environment = std::map<std::string, std::string>;

HostOptions host_of(bool polled, uint32_t ring_entries = 256)
{
    HostOptions o;
    o.x_frame = 9014;
    o.polled = polled;
    o.ring_entries = ring_entries;
    return o;
}

/// Two programs that know each other.
struct Packs {
    explicit Packs(uint64_t seed = 1, const HostOptions &kind = host_of(false),
                   const Environment &of_one = {}, const Environment &of_two = {},
                   const HostOptions *other = nullptr)
        : bench(seed, {kind, other ? *other : kind}), one(bench.start(0, 1, "1")), two(bench.start(1, 2, "1"))
    {
        one.process->environment["EMX_PACK_AFTER"] = "4";
        for (auto &[name, value] : of_one)
            one.process->environment[name] = value;
        for (auto &[name, value] : of_two)
            two.process->environment[name] = value;
        bench.pass(ms);
        to_two = bench.connect(one, bench.mac(1), 2);
        to_one = bench.connect(two, bench.mac(0), 1);
        bench.pass(ms);
        bench.network.tap = [this](const Frame &frame) {
            if (frame[16] == EMX_TINY || frame[16] == EMX_X_PACK)
                last_ns = bench.world.now();
        };
    }

    void send(uint32_t match, uint32_t length)
    {
        std::vector<uint8_t> &bytes = out.emplace_back(length); // long ones are fetched later
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = static_cast<uint8_t>(match * 7 + i);
        mx_segment_t segment{bytes.data(), length};
        mx_isend(one.ep, &segment, 1, to_two, match, nullptr, nullptr);
    }
    /// Takes the next message of any; true if it is that one, whole.
    bool receive(uint32_t match, uint32_t length)
    {
        std::vector<uint8_t> bytes(length + 1, 0xee);
        mx_request_t request{};
        mx_status_t status{};
        uint32_t done = 0;
        mx_segment_t segment{bytes.data(), length + 1};
        mx_irecv(two.ep, &segment, 1, 0, 0, nullptr, &request);
        mx_wait(two.ep, &request, MX_INFINITE, &status, &done);
        bool right =
            status.match_info == match && status.msg_length == length && status.code == MX_STATUS_SUCCESS;
        for (uint32_t i = 0; i < length; i++)
            right &= bytes[i] == static_cast<uint8_t>(match * 7 + i);
        return right && bytes[length] == 0xee;
    }
    /// Messages of mixed lengths one way, as many at a time as the program likes; those that came wrong.
    uint32_t stream(uint32_t count)
    {
        uint32_t wrong = 0;
        bool sent = false, received = false;
        two.task = [&] {
            for (uint32_t i = 0; i < count; i++)
                wrong += !receive(i, length_of(i));
            received = true;
        };
        one.task = [&] {
            for (uint32_t i = 0; i < count; i++) {
                send(i, length_of(i));
                if (i % 97 == 0)
                    mx_progress(one.ep);
                if (i % 313 == 0)
                    one.process->sleep(500 * us);
            }
            sent = true;
        };
        bench.until([&] { return sent && received; });
        return wrong;
    }
    static uint32_t length_of(uint32_t i)
    {
        static constexpr uint32_t lengths[] = {8, 0,   32, 33,   128, 1,   8,    8,    100, 64,
                                               8, 129, 8,  1000, 4,   300, 2048, 2049, 8,   700};
        if (i % 61 == 60)
            return 20000;
        return i % 499 == 498 ? 40000 : lengths[i % std::size(lengths)];
    }

    uint64_t count(Player &player, emx_counter counter) const
    {
        return player.process->device()->counters(0).v[counter];
    }
    uint64_t frames() const
    {
        return count(const_cast<Player &>(one), EMX_CNT_TX_TINY) +
               count(const_cast<Player &>(one), EMX_CNT_TX_X_PACK);
    }
    bool holds() { return one.partner(to_two)->sender.holds; }

    std::deque<std::vector<uint8_t>> out;
    Bench bench;
    Player &one, &two;
    mx_endpoint_addr_t to_two{}, to_one{};
    uint64_t last_ns = 0; ///< when a frame with short messages left last
};

} // namespace

TEST_CASE("messages that are sent before a program computes without a call leave within 200 us")
{
    for (const bool polled : {false, true})
        for (const uint32_t number : {1u, 2u, 5u, 6u, 40u, 64u, 150u}) {
            CAPTURE(polled, number);
            Packs p(1, host_of(polled));
            uint64_t posted = 0, wrong = 0;
            bool back = false;
            p.two.task = [&] {
                for (uint32_t i = 0; i < number; i++)
                    wrong += !p.receive(i, 8);
            };
            p.one.task = [&] {
                for (uint32_t i = 0; i < number; i++)
                    p.send(i, 8);
                CHECK(p.holds() == (number > 4));
                posted = p.bench.world.now();
                p.one.process->sleep(20 * ms);
                back = true;
            };
            p.bench.pass(5 * ms);
            CHECK(!back); // no call of the program did it
            CHECK(p.last_ns <= posted + 200 * us);
            CHECK(p.count(p.one, EMX_CNT_PACKED) + p.count(p.one, EMX_CNT_TX_TINY) == number);
            CHECK(p.frames() <= 4 + (number + 63) / 64 + 1);
            CHECK((p.count(p.one, EMX_CNT_TX_X_PACK) > 0) == (number > 5));
            p.bench.until([&] { return back; });
            CHECK(wrong == 0);
            CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == 0);
        }
}

TEST_CASE("no message waits where no helper would send it")
{
    Packs p(1, host_of(false), {{"EMX_HELPER_MS", "0"}});
    p.bench.tell(p.one, [&] {
        for (uint32_t i = 0; i < 30; i++)
            p.send(i, 8);
        CHECK(p.frames() == 30); // of a window of 32
        CHECK(!p.holds());
    });
}

TEST_CASE("a message leaves at once while few are under way")
{
    Packs p;
    bool done = false;
    p.two.task = [&] {
        for (uint32_t i = 0; i < 500; i++)
            CHECK(p.receive(i, 8));
    };
    p.one.task = [&] {
        for (uint32_t i = 0; i < 500; i++) {
            p.send(i, 8);
            CHECK(!p.holds());
            p.one.process->sleep(100 * us); // the ack is here, and is looked at
            mx_progress(p.one.ep);
        }
        done = true;
    };
    p.bench.until([&] { return done; });
    CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) == 0);
}

TEST_CASE("any call of the endpoint but a send sends what waits")
{
    Packs p;
    uint32_t match = 0, received = 0;
    mx_request_t request{}, finished{}, peeked{};
    mx_status_t status{};
    uint32_t result = 0;
    char byte = 0;
    mx_segment_t segment{&byte, 1};
    const std::pair<const char *, std::function<void()>> calls[] = {
        {"mx_irecv", [&] { mx_irecv(p.one.ep, &segment, 1, 77, ~0ull, nullptr, &request); }},
        {"mx_test", [&] { mx_test(p.one.ep, &request, &status, &result); }},
        {"mx_wait", [&] { mx_wait(p.one.ep, &request, 1, &status, &result); }},
        {"mx_ipeek", [&] { mx_ipeek(p.one.ep, &peeked, &result); }},
        {"mx_iprobe", [&] { mx_iprobe(p.one.ep, 5, ~0ull, &status, &result); }},
        {"mx_ibuffered", [&] { mx_ibuffered(p.one.ep, &finished, &result); }},
        {"mx_test_any", [&] { mx_test_any(p.one.ep, 5, ~0ull, &status, &result); }},
        {"mx_cancel", [&] { mx_cancel(p.one.ep, &request, &result); }},
        {"mx_progress", [&] { mx_progress(p.one.ep); }},
        {"a call that fails", [&] { mx_iprobe(p.one.ep, 5, 1, &status, &result); }},
        {"mx_wait_any", [&] { mx_wait_any(p.one.ep, 1, 5, ~0ull, &status, &result); }},
    };
    for (const auto &row : calls) {
        const auto &call = row.second;
        CAPTURE(row.first);
        p.bench.tell(p.one, [&] {
            mx_segment_t nothing{&byte, 0};
            if (!finished)
                mx_isend(p.one.ep, &nothing, 1, p.to_two, match++, nullptr, &finished);
            for (int i = 0; i < 20; i++)
                p.send(match++, 0);
            mx_request_t sent{};
            mx_isend(p.one.ep, &nothing, 1, p.to_two, match++, nullptr, &sent);
            mx_test(p.one.ep, &sent, &status, &result);
            CHECK(result == 1);
            CHECK(p.holds()); // to look at a complete send is a part of sending
            call();
            CHECK(!p.holds());
        });
        p.bench.tell(p.two, [&] {
            for (; received < match; received++)
                CHECK(p.receive(received, 0));
        });
        p.bench.pass(ms);
    }
}

TEST_CASE("packed messages arrive once, whole and in order, whatever happens to frames")
{
    for (const char *checksum : {"0", "1"})
        for (const bool polled : {false, true})
            for (uint64_t seed = 1; seed <= 3; seed++) {
                CAPTURE(checksum, polled, seed);
                Packs p(seed, host_of(polled, seed % 2 ? 4 : 256), {{"EMX_CHECKSUM", checksum}});
                p.bench.network.faults.loss = 50;
                p.bench.network.faults.duplicate = 50;
                p.bench.network.faults.reorder = 100;
                CHECK(p.stream(700) == 0);
                CHECK(p.count(p.one, EMX_CNT_PACKED) > 200);
                CHECK(p.bench.network.violation() == "");
            }
}

TEST_CASE("without faults nothing is sent twice, and a stream takes a fraction of the frames")
{
    for (const bool polled : {false, true}) {
        CAPTURE(polled);
        Packs p(1, host_of(polled));
        p.bench.network.faults.in_order = true;
        CHECK(p.stream(2000) == 0);
        CHECK(p.count(p.one, EMX_CNT_RESEND_MESSAGE) == 0);
        CHECK(p.count(p.two, EMX_CNT_DROP_SEQUENCE) == 0);
        CHECK(p.count(p.one, EMX_CNT_PACKED) > 1200);
        CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) < 400);
        CHECK(p.bench.network.violation() == "");
    }
}

TEST_CASE("with checksums no altered bit of a pack reaches a program")
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        CAPTURE(seed);
        Packs p(seed, host_of(seed % 2), {{"EMX_CHECKSUM", "1"}});
        p.bench.network.faults.flip = 100;
        CHECK(p.stream(700) == 0);
        CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) > 10);
        CHECK(p.count(p.two, EMX_CNT_DROP_CHECKSUM) > 0);
    }
}

TEST_CASE("a receiver that takes no X MEDIUM and wishes checksums finds them in packs")
{
    HostOptions kind = host_of(true);
    kind.x_fragments = false;
    Packs p(1, kind, {}, {{"EMX_CHECKSUM", "1"}});
    CHECK(p.stream(500) == 0);
    CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) > 10);
    CHECK(p.bench.network.violation() == "");
}

TEST_CASE("a peer that takes no packs is sent none, nor is any where the program wants none")
{
    HostOptions without = host_of(false);
    without.x_packs = false;
    const struct {
        HostOptions one, two;
        Environment of_one, of_two;
    } rows[] = {
        {host_of(false), without, {}, {}},
        {without, host_of(false), {}, {}},
        {host_of(false), host_of(false), {{"EMX_PACK_AFTER", "0"}}, {}},
        {host_of(false), host_of(false), {{"EMX_EXTENSION", "0"}}, {}},
        {host_of(false), host_of(false), {}, {{"EMX_EXTENSION", "0"}}},
    };
    for (auto &row : rows) {
        Packs p(1, row.one, row.of_one, row.of_two, &row.two);
        CHECK(p.stream(500) == 0);
        CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) == 0);
        CHECK(p.bench.network.violation() == "");
    }
}

TEST_CASE("long messages share frames with partners that take them so, and short ones with all")
{
    const struct {
        const char *name;
        Environment of_one, of_two;
        bool packs_long;
    } rows[] = {
        {"both take them", {}, {}, true},
        {"the receiver does not", {}, {{"EMX_PACK_LONGEST", "128"}}, false},
        {"the sender does not", {{"EMX_PACK_LONGEST", "128"}}, {}, false},
        {"with checksums", {{"EMX_CHECKSUM", "1"}}, {}, true},
    };
    for (const auto &row : rows)
        for (const uint32_t length : {129u, 1000u, 2048u}) {
            CAPTURE(row.name, length);
            Packs p(1, host_of(false), row.of_one, row.of_two);
            constexpr uint32_t messages = 300;
            uint32_t received = 0;
            p.two.task = [&] {
                for (; received < 2 * messages; received++)
                    CHECK(p.receive(received, received < messages ? length : 8));
            };
            p.one.task = [&] {
                for (uint32_t i = 0; i < 2 * messages; i++)
                    p.send(i, i < messages ? length : 8);
            };
            p.bench.until([&] { return received == 2 * messages; });
            const uint64_t packed = p.count(p.one, EMX_CNT_PACKED);
            CHECK(packed <= (row.packs_long ? 2 * messages : messages));
            CHECK(packed > (row.packs_long ? messages : 0) + messages / 2);
            CHECK(p.bench.network.violation() == "");
        }
}

TEST_CASE("packs end with the partner: what waits fails, and nothing is sent to the next life")
{
    Packs p;
    bool done = false;
    p.one.task = [&] {
        for (uint32_t i = 0; i < 20; i++)
            p.send(i, 8);
        CHECK(p.holds());
        mx_disconnect(p.one.ep, p.to_two);
        p.one.process->sleep(ms);
        CHECK(p.one.process->context()->census().tx_messages == 0);
        done = true;
    };
    p.bench.until([&] { return done; });
    p.bench.pass(5 * ms);
    CHECK(p.count(p.one, EMX_CNT_TX_X_PACK) == 0);
}

TEST_CASE("an endpoint that closes sends what waits")
{
    Packs p;
    uint32_t wrong = 0, received = 0;
    p.two.task = [&] {
        for (; received < 20; received++)
            wrong += !p.receive(received, 8);
    };
    p.one.task = [&] {
        for (uint32_t i = 0; i < 20; i++)
            p.send(i, 8);
        CHECK(p.holds());
        p.one.leave = true;
    };
    p.bench.until([&] { return received == 20; });
    CHECK(wrong == 0);
}

} // namespace emx::sim

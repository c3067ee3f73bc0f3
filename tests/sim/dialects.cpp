// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A board that speaks one dialect to its network and others to peers that speak nothing else: each host hears
// its own, whatever the length, and whichever side sends. model_sim does the same with the model peer, which
// shares no code with ours.
#include "bench.hpp"

#include <set>

namespace emx::sim {
namespace {

/// Around each bound of either dialect: of a fragment, of an eager message, of a frame and a block of
/// replies.
const std::vector<uint32_t> lengths = {0,    32,   33,    128,   129,   1452,  1453,   4096,   4097,
                                       8192, 8193, 20000, 32768, 32769, 46464, 131073, 200000, 1048577};

struct Kind {
    char dialect;
    uint32_t size;
};

/// Host 0 speaks `own`, but to hosts 2 and on what those speak; host 1 speaks as host 0.
std::vector<HostOptions> kinds(Kind own, const std::vector<Kind> &strangers, bool polled)
{
    std::vector<HostOptions> all(2, Bench::options(own.dialect, own.size));
    for (const Kind &k : strangers)
        all.push_back(Bench::options(k.dialect, k.size));
    for (HostOptions &o : all)
        o.polled = polled;
    return all;
}

/// Hears which dialect was spoken to whom, by the shape of longer packets alone.
struct Ear {
    explicit Ear(Bench &bench)
    {
        bench.network.tap = [this](const Frame &f) {
            if (f[16] == EMX_MEDIUM && (f[20] || f[21]))
                w_to.insert(f[5] + (f[4] << 8)); // a length of 16 bits, where N has zeros
            else if (f[16] == EMX_MEDIUM)
                n_to.insert(f[5] + (f[4] << 8));
        };
    }
    std::set<int> w_to, n_to;
};

int tail(uint64_t mac) { return static_cast<int>(mac & 0xffff); }

/// Messages between host 0 and each other one, both ways.
void talk(Bench &b, const char *extension, bool first_are_dropped = false)
{
    std::vector<Player *> players;
    for (uint32_t i = 0; i < b.hosts.size(); i++)
        players.push_back(&b.start(i, 1 + i, extension));
    b.pass(ms);
    for (uint32_t i = 1; i < b.hosts.size(); i++) {
        CAPTURE(i);
        const auto there = b.connect(*players[0], b.mac(i), 1 + i);
        const auto back = b.connect(*players[i], b.mac(0), 1);
        b.exchange(*players[0], there, *players[i], lengths);
        b.exchange(*players[i], back, *players[0], lengths);
    }
    CHECK(b.network.violation() == "");
    for (Player *p : players)
        p->leave = true;
    b.pass(100 * ms);
    if (first_are_dropped) // until the answer to a question comes
        return;
    for (const auto &host : b.hosts)
        for (int drop : {EMX_CNT_DROP_FRAGMENT, EMX_CNT_DROP_PULL_SHAPE, EMX_CNT_DROP_REPLY_SHAPE,
                         EMX_CNT_DROP_DIALECT_MEDIUM, EMX_CNT_DROP_DIALECT_PULL, EMX_CNT_DROP_LENGTH})
            CHECK(host->boards[0]->counters.v[drop] == 0);
}

} // namespace

TEST_CASE("a board speaks its dialect, and theirs to peers that speak another")
{
    const std::vector<Kind> all = {{'W', 0}, {'N', 9000}, {'N', 1500}};
    for (bool polled : {false, true}) {
        for (const char *extension : {"0", "1"}) {
            for (std::size_t own = 0; own < all.size(); own++) {
                CAPTURE(polled, extension, own);
                std::vector<Kind> strangers;
                for (std::size_t i = 0; i < all.size(); i++)
                    if (i != own)
                        strangers.push_back(all[i]);
                Bench b(7 + own, kinds(all[own], strangers, polled));
                const Ear ear(b);
                for (uint32_t i = 0; i < strangers.size(); i++)
                    b.hosts[0]->boards[0]->pin(b.mac(2 + i), strangers[i].dialect, strangers[i].size);
                talk(b, extension);
                for (uint32_t i = 1; i < b.hosts.size(); i++) {
                    const bool w = b.hosts[i]->options().dialect == 'W';
                    CHECK(ear.w_to.count(tail(b.mac(i))) == (w ? 1 : 0));
                    CHECK(ear.n_to.count(tail(b.mac(i))) == (w ? 0 : 1));
                }
            }
        }
    }
}

TEST_CASE("two boards that each think of the other as a stranger agree when both say the same")
{
    Bench b(3, {Bench::options('W', 0), Bench::options('N', 9000)});
    b.hosts[0]->boards[0]->pin(b.mac(1), 'N', 1500);
    b.hosts[1]->boards[0]->pin(b.mac(0), 'N', 1500);
    talk(b, "0");
}

/// Two programs without the extension, the first of which sends, from a board of W or one of N.
struct Strangers {
    Bench b{3, {Bench::options('W', 0), Bench::options('N', 9000)}};
    Player *players[2] = {&b.start(0, 1, "0"), &b.start(1, 2, "0")};
    const uint32_t sender;
    Player &one = *players[sender], &two = *players[1 - sender];

    explicit Strangers(uint32_t host) : sender(host) { b.pass(ms); }
    mx_endpoint_addr_t connect() { return b.connect(one, b.mac(1 - sender), 2 - sender); }
};

TEST_CASE("a large message between dialects ends at once, at both ends")
{
    for (const uint32_t sender : {0, 1}) {
        CAPTURE(sender);
        Strangers strangers(sender);
        Bench &b = strangers.b;
        Player &one = strangers.one, &two = strangers.two;
        const auto there = strangers.connect();
        std::vector<char> bytes(100000), room(100000);
        mx_segment_t source{bytes.data(), 100000}, sink{room.data(), 100000};
        mx_request_t send{}, receive{};
        b.tell(two, [&] { mx_irecv(two.ep, &sink, 1, 2, ~0ull, nullptr, &receive); });
        b.tell(one, [&] { mx_isend(one.ep, &source, 1, there, 2, nullptr, &send); });
        b.pass(50 * ms);
        mx_status_t sent{}, received{};
        uint32_t send_ended = 0, receive_ended = 0;
        b.tell(one, [&] { mx_test(one.ep, &send, &sent, &send_ended); });
        b.tell(two, [&] { mx_test(two.ep, &receive, &received, &receive_ended); });
        REQUIRE((send_ended && receive_ended));
        CHECK(received.code == MX_STATUS_BAD_RDMAWIN);
        CHECK(sent.code == MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK(sent.xfer_length == 0);
    }
}

TEST_CASE("without a pin a stranger's longer messages are dropped, and counted by their fault")
{
    Bench b(3, {Bench::options('W', 0), Bench::options('N', 9000)});
    Player &one = b.start(0, 1, "0"), &two = b.start(1, 2, "0");
    b.pass(ms);
    const auto there = b.connect(one, b.mac(1), 2);
    b.exchange(one, there, two, {8, 100});
    std::vector<char> bytes(20000, 'x');
    b.tell(one, [&] {
        mx_segment_t source{bytes.data(), 20000};
        mx_request_t send{};
        mx_isend(one.ep, &source, 1, there, 1, nullptr, &send);
    });
    b.pass(200 * ms);
    CHECK(b.hosts[1]->boards[0]->counters.v[EMX_CNT_DROP_DIALECT_MEDIUM] +
              two.process->device()->counters(0).v[EMX_CNT_DROP_DIALECT_MEDIUM] >
          0);
}

TEST_CASE("a stranger of another dialect takes short messages, and longer ones fail at once")
{
    for (const uint32_t sender : {0, 1}) {
        CAPTURE(sender);
        Strangers strangers(sender);
        Bench &b = strangers.b;
        Player &one = strangers.one, &two = strangers.two;
        auto there = strangers.connect();
        std::vector<char> bytes(100000);
        const auto end_of = [&](uint32_t length, bool synchronous) {
            mx_segment_t source{bytes.data(), length};
            mx_request_t send{};
            mx_status_t status{};
            uint32_t ended = 0;
            b.tell(one, [&] {
                (synchronous ? mx_issend : mx_isend)(one.ep, &source, 1, there, 1, nullptr, &send);
            });
            b.pass(50 * ms);
            b.tell(one, [&] { mx_test(one.ep, &send, &status, &ended); });
            REQUIRE(ended);
            return status.code;
        };
        CHECK(end_of(20000, false) == MX_STATUS_SUCCESS); // a copy of it, on its way when the answer comes
        REQUIRE(one.partner(there)->way.dialect == (sender ? Way::Dialect::other_w : Way::Dialect::other_n));
        CHECK(end_of(8, false) == MX_STATUS_ENDPOINT_UNREACHABLE); // that one held it up
        there = strangers.connect();
        CHECK(end_of(100000, false) == MX_STATUS_ENDPOINT_UNREACHABLE);
        for (const uint32_t length : {129, 20000, 100000})
            CHECK(end_of(length, false) == MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK(end_of(1, true) == MX_STATUS_ENDPOINT_UNREACHABLE);
        b.exchange(one, there, two, {0, 8, 100, 128});
        CHECK(b.network.violation() == "");
    }
}

TEST_CASE("between dialects ours exchange messages of every length by the extension")
{
    for (const Kind other : {Kind{'N', 9000}, Kind{'N', 1500}}) {
        CAPTURE(other.size);
        Bench b(5, {Bench::options('W', 0), Bench::options(other.dialect, other.size)});
        talk(b, "1", true);
    }
}

} // namespace emx::sim

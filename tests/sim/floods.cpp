// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames without end from a stranger: the memory of the program that they are for stays what it is, and they
// draw no flood of answers.
#include "forger.hpp"

#include <libmx/partner/table.hpp>
#include <libmx/reliab/sequence.hpp>

#include <array>
#include <cstdlib>
#include <malloc.h>

#ifdef __SANITIZE_ADDRESS__
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace emx::sim {
namespace {

constexpr uint32_t endpoints = 24; ///< numbers from `first_free` on, which nobody has open
constexpr uint8_t first_free = 5;
constexpr std::size_t bound = 16 << 20; ///< of what a flood may add

std::size_t allocated()
{
#ifdef __SANITIZE_ADDRESS__
    return __sanitizer_get_current_allocated_bytes();
#else
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
#endif
}

/// Frames of a flood: a million, or as many as show that memory grows.
uint32_t flood_frames()
{
    const char *full = std::getenv("EMX_FULL");
    return full && *full == '1' ? 1000000 : 80000;
}

constexpr uint64_t flood_pace = 4 * us;
constexpr uint64_t answered_pace = sec / FW_ANSWERS; ///< at which strangers who connect are all answered

/// Addresses that the program has seen in its handler, and how many.
struct Heard {
    uint32_t lives = 0;
    mx_endpoint_addr_t latest{};
};

mx_unexp_handler_action_t take_all(void *context, mx_endpoint_addr_t source, uint64_t, uint32_t, void *)
{
    Heard &heard = *static_cast<Heard *>(context);
    void *known = nullptr;
    mx_get_endpoint_addr_context(source, &known);
    heard.lives += !known;
    heard.latest = source;
    mx_set_endpoint_addr_context(source, &heard);
    return MX_RECV_FINISHED;
}

using Environment = std::map<std::string, std::string>;

/// Two partners, and a stranger who sends to the first in the name of endpoints of the other's host.
struct Flooded : Partners {
    explicit Flooded(const Environment &environment = {}, const std::vector<mx_param_t> &params = {})
        : Partners("1", environment, params)
    {
        bench.tell(one, [&] { mx_register_unexp_handler(one.ep, take_all, &heard); });
    }
    /// Bytes by which the first's memory has grown in a flood of such frames, after the first of them.
    template <typename Frame>
    std::size_t growth(uint32_t frames, Frame frame, uint64_t pace = flood_pace)
    {
        uint32_t i = 0;
        const auto send_until = [&](uint32_t end) {
            std::function<void()> next = [&, end] {
                frame(i);
                if (++i < end)
                    bench.world.after(pace, next);
            };
            next();
            bench.until([&] { return i == end; });
            bench.pass(ms);
        };
        send_until(1000);
        const std::size_t before = allocated();
        for (uint32_t end = 1000; end < frames;)
            send_until(end = std::min(frames, end + 100000));
        const std::size_t after = allocated();
        return after > before ? after - before : 0;
    }
    /// A message of endpoint `from`, the next one.
    void speak(uint8_t from, uint32_t host = 1) { speak(from, host, 1, one.session()); }
    void speak(uint8_t from, uint32_t host, uint8_t to, uint32_t session)
    {
        forger.speak(host, from, to, session, ++spoken_[from] & seq::number_mask);
    }
    uint64_t drops(emx_counter counter) { return one.process->device()->counters(0).v[counter]; }

    Heard heard;

private:
    std::array<uint16_t, first_free + endpoints> spoken_{};
};

uint8_t endpoint_of(uint32_t i) { return static_cast<uint8_t>(first_free + i % endpoints); }

} // namespace

TEST_CASE("partners that live, speak and die without end take little memory, and their addresses stay valid")
{
    Flooded p;
    const uint32_t frames = flood_frames();
    const std::size_t growth = p.growth(
        frames,
        [&](uint32_t i) {
            p.forger.connect(1, endpoint_of(i), 1, 0x0f0f0f0f + i, key, 1);
            p.speak(endpoint_of(i));
        },
        answered_pace);
    CHECK(growth < p.heard.lives * std::size_t{200}); // a partner takes 500
    CHECK(growth < bound);
    CHECK(p.heard.lives > frames / 4);
    void *context = nullptr;
    mx_request_t request{};
    p.bench.tell(p.one, [&] { mx_get_endpoint_addr_context(p.heard.latest, &context); });
    CHECK(context == &p.heard);
    p.post(p.one, p.heard.latest, request);
    CHECK(p.end_of(p.one, request) == MX_STATUS_ENDPOINT_CLOSED);
    p.bench.exchange(p.one, p.to_two, p.two);
}

TEST_CASE("connects of ever new sessions take no memory")
{
    Flooded p;
    const std::size_t growth = p.growth(
        flood_frames(), [&](uint32_t i) { p.forger.connect(1, endpoint_of(i), 1, 0x0f0f0f0f + i, key, 1); },
        answered_pace);
    CHECK(growth < bound);
    p.bench.exchange(p.one, p.to_two, p.two);
    p.bench.exchange(p.two, p.to_one, p.one);
}

TEST_CASE("an endpoint knows no more partners than it may")
{
    Flooded p(Environment{{"EMX_PARTNERS", "100"}});
    const auto flood = [&] {
        p.growth(2000,
                 [&](uint32_t i) { p.forger.connect(made_up + i, endpoint_of(i), 1, 0x0f0f0f0f, key, 1); });
    };
    const auto connect = [&](uint32_t number) {
        mx_request_t request{};
        mx_return_t code = MX_SUCCESS;
        p.bench.tell(
            p.one, [&] { code = mx_iconnect(p.one.ep, p.bench.mac(1), number, key, 0, nullptr, &request); });
        return code;
    };
    // Strangers that never showed that they hear us make room,
    flood();
    CHECK(p.drops(EMX_CNT_DROP_CONNECT_ROOM) == 0);
    CHECK(connect(3) == MX_SUCCESS);
    // and others do not.
    for (uint32_t i = 0; i < 300; i++) {
        const uint32_t host = 2 * made_up + i / endpoints;
        p.forger.connect(host, endpoint_of(i), 1, 0x0f0f0f0f, key, 1);
        p.bench.pass(ms);
        p.forger.speak(host, endpoint_of(i), 1, p.one.session(), 1);
        p.bench.pass(ms);
    }
    CHECK(p.heard.lives >= 90);
    CHECK(p.heard.lives < 200);
    flood();
    CHECK(p.drops(EMX_CNT_DROP_CONNECT_ROOM) > 1000);
    CHECK(connect(4) == MX_NO_RESOURCES);
    p.bench.exchange(p.one, p.to_two, p.two);
}

TEST_CASE("addresses of dead partners: the peer that has most loses its first, and none names another")
{
    PartnerTable table;
    const auto live = [&](uint32_t peer, uint32_t session) {
        Partner *partner = table.add(std::make_unique<Partner>());
        partner->peer = peer;
        partner->address = {{uint64_t{peer} << 16, uint64_t{session} << 32 | (partner->index + 1)}};
        partner->life.die(MX_STATUS_BAD_SESSION);
        partner->named = true;
        table.set_latest(partner);
        return partner->address;
    };
    const auto code_of = [&](mx_endpoint_addr_t address) {
        const auto index = static_cast<uint32_t>(address.stuff[1]) - 1;
        const Partner *partner = table.raise(address, index);
        return partner ? partner->life.dead_code() : MX_STATUS_SUCCESS;
    };
    std::vector<mx_endpoint_addr_t> modest, lively;
    for (uint32_t session = 0; session <= tombs_each; session++)
        modest.push_back(live(1, session));
    for (uint32_t session = 0; session <= 2 * tombs_max; session++) {
        lively.push_back(live(2, session));
        if (table.is_sweep_due())
            table.sweep();
    }
    modest.pop_back(); // the latest lives are partners still
    lively.pop_back();
    table.sweep();
    for (const mx_endpoint_addr_t address : modest)
        CHECK(code_of(address) == MX_STATUS_BAD_SESSION);
    CHECK(code_of(lively.back()) == MX_STATUS_BAD_SESSION);
    for (std::size_t i = 0; i < tombs_max; i++)
        REQUIRE(code_of(lively[i]) == MX_STATUS_SUCCESS);
    // One that was raised is as good as before, and is freed like all.
    table.sweep();
    CHECK(table.at(static_cast<uint32_t>(modest[0].stuff[1]) - 1) == nullptr);
    CHECK(code_of(modest[0]) == MX_STATUS_BAD_SESSION);
}

TEST_CASE("made-up addresses take no place from others in the table of peers")
{
    constexpr uint32_t newcomer = made_up, silent = made_up + 1;
    Flooded p;
    uint32_t next = made_up + 2;
    const auto connect = [&p](uint32_t host) { p.forger.connect(host, first_free, 1, 0x0f0f0f0f, key, 1); };
    const auto flood = [&] {
        for (uint32_t end = next + 4000; next < end; next++) {
            connect(next);
            p.bench.pass(100 * us);
        }
        p.bench.pass(ms);
    };
    fw_peers *table = p.bench.hosts[0]->boards[0]->fw().peers;
    const auto index_of = [&](uint32_t host) { return fw_peer_find(table, p.forger.mac_of(host), ~0u); };
    flood();
    // Each still comes in, and stays when it shows that it hears us.
    connect(newcomer);
    p.bench.pass(ms);
    p.speak(first_free, newcomer);
    p.bench.pass(ms);
    REQUIRE(p.heard.lives == 1);
    const int place = index_of(newcomer);
    const mx_endpoint_addr_t address = p.heard.latest;
    // So does one that the program asks for, though it never answers.
    connect(silent);
    p.bench.pass(ms);
    mx_request_t request{};
    p.bench.tell(p.one, [&] {
        mx_iconnect(p.one.ep, p.forger.mac_of(silent), first_free + 1, key, 1, nullptr, &request);
    });
    const int asked = index_of(silent);
    flood();
    CHECK(place >= 0);
    CHECK(asked >= 0);
    CHECK(index_of(newcomer) == place);
    CHECK(index_of(silent) == asked);
    p.speak(first_free, newcomer);
    p.bench.pass(ms);
    CHECK(p.heard.lives == 1);
    CHECK(p.heard.latest.stuff[1] == address.stuff[1]);
    CHECK(p.drops(EMX_CNT_DROP_TABLE_FULL) == 0);
    p.bench.exchange(p.one, p.to_two, p.two);
    // A peer that is gone makes room again.
    p.bench.tell(p.one, [&] { mx_disconnect(p.one.ep, address); });
    flood();
    CHECK(index_of(newcomer) == -1);
    CHECK(index_of(silent) == asked);
}

TEST_CASE("early packets take bounded memory")
{
    constexpr uint32_t piece = 4096, pieces = 8, connects = 1000;
    const uint32_t senders = GENERATE(1u, endpoints);
    const std::size_t most = (senders == 1 ? std::size_t{4} : 48) << 20;
    CAPTURE(senders);
    Flooded p;
    const uint32_t frames = senders * early_window * pieces;
    const std::size_t growth = p.growth(connects + frames, [&](uint32_t i) {
        const auto from = static_cast<uint8_t>(first_free + i % senders);
        if (i < connects)
            return p.forger.connect(nobody, from, 1, 0x0f0f0f0f, key, 1);
        const uint32_t number = (i - connects) / senders;
        emx_msg msg{};
        msg.type = EMX_MEDIUM;
        msg.seq = static_cast<uint16_t>(2 + number / pieces); // 1 never comes
        msg.ack = 1;
        msg.msg_len = piece * pieces;
        msg.data_len = piece;
        msg.u.medium.frag = static_cast<uint8_t>(number % pieces);
        msg.u.medium.position = number % pieces * piece;
        p.forger.message(nobody, from, 1, p.one.session(), msg);
    });
    CHECK(growth < most);
    CHECK(growth > most / 4);
    p.bench.exchange(p.one, p.to_two, p.two);
}

namespace {

mx_param_t unexp_queue_max(uint32_t bytes)
{
    mx_param_t param{};
    param.key = MX_PARAM_UNEXP_QUEUE_MAX;
    param.val.unexp_queue_max = bytes;
    return param;
}

} // namespace

TEST_CASE("unexpected messages take no more than the program allows")
{
    Flooded p({}, {unexp_queue_max(1 << 20)});
    p.bench.tell(p.one, [&] { mx_register_unexp_handler(p.one.ep, nullptr, nullptr); });
    const std::size_t growth = p.growth(flood_frames(), [&](uint32_t i) {
        if (i < endpoints)
            p.forger.connect(nobody, endpoint_of(i), 1, 0x0f0f0f0f, key, 1);
        else
            p.speak(endpoint_of(i), nobody);
    });
    CHECK(growth < bound / 2);
}

TEST_CASE("a message that finds no room among the unexpected comes later, in its turn")
{
    const uint32_t length = GENERATE(8u, 1000u, 30000u, 100000u);
    constexpr uint32_t count = 100;
    CAPTURE(length);
    Partners p("1", {}, {unexp_queue_max(4096)});
    std::vector<char> out(length), in(length);
    std::vector<mx_request_t> sends(count);
    p.bench.tell(p.two, [&] {
        mx_segment_t source{out.data(), length};
        for (uint32_t i = 0; i < count; i++)
            mx_isend(p.two.ep, &source, 1, p.to_one, i, nullptr, &sends[i]);
    });
    p.bench.pass(sec);
    CHECK(p.one.process->context()->census().incoming <= 4096 / 100);
    for (uint32_t i = 0; i < count; i++)
        p.bench.tell(p.one, [&] {
            mx_request_t receive{};
            mx_segment_t sink{in.data(), length};
            mx_status_t status{};
            uint32_t done = 0;
            mx_irecv(p.one.ep, &sink, 1, 0, 0, nullptr, &receive);
            mx_wait(p.one.ep, &receive, MX_INFINITE, &status, &done);
            CHECK(status.code == MX_STATUS_SUCCESS);
            CHECK(status.match_info == i);
            CHECK(status.xfer_length == length);
        });
}

namespace {

constexpr uint8_t closed = 9; ///< endpoint of the first host that nobody has open

/// A frame that anyone may send, and that would draw an answer each time.
const struct {
    const char *what;
    std::function<void(Flooded &, uint32_t i)> frame;
    uint32_t rate = FW_ANSWERS; ///< of answers, in a second and at once
} drawing[] = {
    {"messages for a closed endpoint", [](Flooded &p, uint32_t) { p.speak(first_free, nobody, closed, 1); }},
    {"messages for no endpoint", [](Flooded &p, uint32_t) { p.speak(first_free, nobody, 255, 1); }},
    {"connects to a closed endpoint",
     [](Flooded &p, uint32_t i) { p.forger.connect(nobody, first_free, closed, 1 + i, key, 1); }},
    {"pulls from a closed endpoint",
     [](Flooded &p, uint32_t) { p.forger.pull(nobody, first_free, closed, 1); }},
    {"questions for a name", [](Flooded &p, uint32_t) { p.forger.ask_name(nobody); }},
    {"messages for another session",
     [](Flooded &p, uint32_t) { p.speak(first_free, nobody, 1, p.one.session() + 1); }},
    {"pulls from another session",
     [](Flooded &p, uint32_t) { p.forger.pull(nobody, first_free, 1, p.one.session() + 1); }},
    {"pulls from no window",
     [](Flooded &p, uint32_t) { p.forger.pull(nobody, first_free, 1, p.one.session()); }},
    {"connects with a wrong key",
     [](Flooded &p, uint32_t i) { p.forger.connect(nobody, first_free, 1, 1 + i, key + 1, 1); }},
    {"connects of an endpoint that answers none",
     [](Flooded &p, uint32_t) { p.forger.connect(nobody, first_free, 1, 0x0f0f0f0f, key, 1); }},
    {"connects in a partner's name", [](Flooded &p, uint32_t i) { p.forger.connect(1, 2, 1, 1 + i, key, 1); },
     1000},
};

} // namespace

TEST_CASE("frames of strangers draw a bounded number of answers, and a peer has its answer soon after")
{
    for (const auto &d : drawing)
        DYNAMIC_SECTION(d.what)
        {
            Flooded p;
            uint32_t sent = 0;
            p.bench.network.tap = [&](const Frame &f) { sent += board_mac(f.data() + 6) == p.bench.mac(0); };
            const uint32_t frames = flood_frames();
            const uint64_t start = p.bench.world.now();
            p.growth(frames, [&](uint32_t i) { d.frame(p, i); });
            const uint64_t allowed = d.rate + d.rate * (p.bench.world.now() - start) / sec;
            constexpr uint32_t unasked = 100; // of its own: it connects back, and repeats that
            CHECK(sent <= allowed + unasked);
            CHECK(sent >= d.rate);
            CHECK(p.drops(EMX_CNT_DROP_ANSWER) > frames / 4);

            mx_endpoint_addr_t address{};
            mx_return_t code = MX_SUCCESS;
            const auto ask = [&](uint32_t number, uint32_t with) {
                const uint64_t since = p.bench.world.now();
                p.bench.tell(p.two, [&] {
                    code = mx_connect(p.two.ep, p.bench.mac(0), number, with, MX_INFINITE, &address);
                });
                CHECK(p.bench.world.now() - since < ms); // not by a repeat
            };
            ask(closed, key);
            CHECK(code == MX_CONNECTION_FAILED);
            ask(1, key + 1);
            CHECK(code == MX_BAD_CONNECTION_KEY);
            Player &newcomer = p.bench.start(1, 3, "1");
            p.bench.exchange(newcomer, p.bench.connect(newcomer, p.bench.mac(0), 1), p.one);
            p.bench.exchange(p.two, p.to_one, p.one);
        }
}

} // namespace emx::sim

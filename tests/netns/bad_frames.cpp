// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Every malformed frame of the wire specification, section 13, sent by a raw socket into a living endpoint:
// dropped under its own counter, or refused, and the endpoint works as before.
#include "tests/netns/stranger.hpp"

#include <mx_extensions.h>

#include <catch2/catch.hpp>

#include <cstring>

using namespace emx;
using namespace emx::test;

namespace {

constexpr int kept_out = -1; ///< the socket filter drops it in the kernel
constexpr int ignored = -2; ///< taken in, without effect or counter
constexpr uint64_t stranger_mac = 0x0200000000cc;

struct BadFrame {
    std::string what;
    Frame frame;
    int counter;
};

std::vector<uint8_t> bytes(std::size_t count) { return std::vector<uint8_t>(count, 0x5a); }

/// A victim, a stranger it is connected with, and the proof that they still understand each other.
class Scene {
public:
    explicit Scene(char dialect)
        : sizes(dialect == 'W' ? sizes_w() : sizes_n(9000)),
          victim(hosts, dialect == 'W' ? "eth0:W" : "eth0:N=9000"),
          stranger(hosts, sizes, stranger_mac, victim)
    {
        REQUIRE(stranger.connect());
        works();
    }

    /// A good message arrives, and is acknowledged.
    void works()
    {
        std::vector<uint8_t> target(8), data(8, static_cast<uint8_t>(++serial_));
        fw_pkt tiny = stranger.packet(EMX_TINY);
        tiny.msg.match = 0xabc0000 + serial_;
        tiny.msg.msg_len = tiny.msg.data_len = 8;
        mx_request_t request = victim.receive(target.data(), 8, tiny.msg.match);
        stranger.send(tiny, data);
        stranger.advance();
        mx_status_t status{};
        REQUIRE(victim.progress_until([&] { return victim.complete(request, status); }));
        REQUIRE(status.code == MX_STATUS_SUCCESS);
        REQUIRE(target == data);
    }

    void check(const BadFrame &bad)
    {
        INFO(bad.what);
        const auto before = victim.counters();
        send_and_count(bad, before);
        works();
        only_that_counts(bad, before);
    }

    /// The same while a message is half here, so that none passes.
    void check_half_way(const BadFrame &bad)
    {
        INFO(bad.what);
        const auto before = victim.counters();
        send_and_count(bad, before);
        if (bad.counter < 0)
            victim.progress_in_vain([] { return false; }); // nothing tells that it was looked at
        only_that_counts(bad, before);
    }

    /// Refused with that reason.
    void check_nack(const BadFrame &bad, uint8_t type, uint8_t reason)
    {
        INFO(bad.what);
        stranger.forget_all();
        stranger.send(bad.frame);
        const auto nack = stranger.expect(type);
        REQUIRE(nack);
        CHECK(int(nack->msg.u.nack.reason) == int(reason));
        works();
    }

    TwoHosts hosts;
    const fw_sizes sizes;
    Victim victim;
    Stranger stranger;

private:
    using Counters = std::vector<uint32_t>;

    void send_and_count(const BadFrame &bad, const Counters &before)
    {
        stranger.send(bad.frame);
        if (bad.counter >= 0) {
            const auto c = static_cast<std::size_t>(bad.counter);
            INFO(fw_counter_label(static_cast<unsigned>(c)));
            CHECK(victim.progress_until([&] { return victim.counters()[c] > before[c]; }));
        }
    }

    void only_that_counts(const BadFrame &bad, const Counters &before)
    {
        const auto after = victim.counters();
        for (unsigned c = EMX_CNT_DROP_SHORT; c < EMX_CNT_COUNT; c++) {
            if (c >= EMX_CNT_RX_X_MEDIUM && c <= EMX_CNT_TX_X_DATA)
                continue; // they tell no drops, but stand behind some
            INFO(fw_counter_label(c));
            CHECK(after[c] - before[c] == (static_cast<int>(c) == bad.counter ? 1u : 0u));
        }
    }

    unsigned serial_ = 0;
};

fw_pkt eager(Scene &s, uint8_t type, uint32_t length)
{
    fw_pkt pkt = s.stranger.packet(type);
    pkt.msg.match = 0xbad;
    pkt.msg.msg_len = pkt.msg.data_len = length;
    return pkt;
}

fw_pkt medium(Scene &s, uint32_t message, uint8_t frag, uint32_t bytes_in_frame)
{
    fw_pkt pkt = eager(s, EMX_MEDIUM, message);
    pkt.msg.u.medium.frag = frag;
    pkt.msg.u.medium.position = frag * s.sizes.frag;
    pkt.msg.data_len = bytes_in_frame;
    return pkt;
}

/// Announces a large message to the victim, which receives it there; returns the announcement.
fw_pkt announce(Scene &s, std::vector<uint8_t> &target, mx_request_t &request)
{
    const auto total = static_cast<uint32_t>(target.size());
    fw_pkt rndv = eager(s, EMX_RNDV, total);
    rndv.msg.data_len = 0;
    rndv.msg.u.window = {0, 3, 9};
    request = s.victim.receive(target.data(), total, rndv.msg.match);
    s.stranger.send(rndv);
    s.stranger.advance();
    return rndv;
}

fw_pkt pull(Scene &s, const fw_pkt &rndv)
{
    fw_pkt pkt = s.stranger.packet(EMX_PULL);
    pkt.msg.u.window = rndv.msg.u.window;
    pkt.window = rndv.msg.u.window.id;
    pkt.total = rndv.msg.msg_len;
    pkt.handle = 0x77;
    pkt.magic = 0x1234;
    pkt.skip = rndv.msg.u.window.offset % s.sizes.reply;
    pkt.length = 1000;
    return pkt;
}

/// The victim starts a synchronous send of that many bytes to the stranger.
mx_request_t send_large(Scene &s, std::vector<uint8_t> &data)
{
    mx_endpoint_addr_t to;
    mx_request_t request = nullptr;
    // The stranger's number is known to the victim since it connected: the address costs one more round.
    REQUIRE(mx_iconnect(s.victim.endpoint(), s.stranger.mac(), Stranger::number, Stranger::key, 1, nullptr,
                        &request) == MX_SUCCESS);
    const auto asked = s.stranger.expect(EMX_CONNECT);
    REQUIRE(asked);
    fw_pkt reply = s.stranger.packet(EMX_CONNECT);
    reply.msg.u.connect = {Stranger::session, 0, 1, 1, asked->msg.u.connect.number, EMX_CONNECT_OK};
    s.stranger.send(reply);
    mx_status_t status{};
    REQUIRE(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    to = status.source;
    mx_segment_t segment{data.data(), static_cast<uint32_t>(data.size())};
    REQUIRE(mx_issend(s.victim.endpoint(), &segment, 1, to, 77, nullptr, &request) == MX_SUCCESS);
    return request;
}

} // namespace

TEST_CASE("bad_frames__outer_header", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    const auto tiny = [&](const std::vector<Change> &changes) {
        return s.stranger.frame(eager(s, EMX_TINY, 8), bytes(8), changes);
    };
    Frame shorter = tiny({});
    shorter.resize(59);
    s.check({"59 bytes", shorter, EMX_CNT_DROP_SHORT});
    const auto not_its_last = static_cast<uint8_t>(~s.victim.nic_id()); // its address is drawn by the kernel
    s.check({"another destination", tiny({{5, {not_its_last}}}), kept_out});
    s.check({"broadcast", tiny({{0, {255, 255, 255, 255, 255, 255}}}), kept_out});
    s.check({"multicast source", tiny({{6, {3}}}), EMX_CNT_DROP_BAD_SOURCE});
    Frame own = tiny({});
    std::copy(own.begin(), own.begin() + 6, own.begin() + 6);
    s.check({"our own source", own, EMX_CNT_DROP_BAD_SOURCE});
    s.check({"source 0", tiny({{6, {0, 0, 0, 0, 0, 0}}}), EMX_CNT_DROP_BAD_SOURCE});
    s.check({"unknown source", tiny({{11, {0x77}}}), EMX_CNT_DROP_UNKNOWN_PEER});
    for (uint8_t type : {0, 2, 32, 33, 34, 5, 31, 46, 255})
        s.check({"type " + std::to_string(type), tiny({{16, {type}}}), kept_out});
    s.check({"an endpoint that never connected", tiny({{18, {77}}}), EMX_CNT_DROP_PARTNER});
    s.check_nack({"closed endpoint", tiny({{17, {12}}}), 0}, EMX_NACK_LIB, EMX_NACK_CLOSED);
    s.check_nack({"impossible endpoint", tiny({{17, {99}}}), 0}, EMX_NACK_LIB, EMX_NACK_BAD_ENDPOINT);
    fw_pkt stale = eager(s, EMX_TINY, 0);
    stale.msg.session ^= 1;
    s.check_nack({"stale session", s.stranger.frame(stale), 0}, EMX_NACK_LIB, EMX_NACK_BAD_SESSION);
    for (uint16_t ahead : {256, 0x1fff}) {
        fw_pkt far = eager(s, EMX_TINY, 0);
        far.msg.seq = static_cast<uint16_t>(far.msg.seq + ahead);
        s.check({"number far ahead", s.stranger.frame(far), EMX_CNT_DROP_SEQUENCE});
    }
    fw_pkt other = eager(s, EMX_TINY, 0);
    other.msg.seq ^= 0x4000;
    s.check({"session bits of the number", s.stranger.frame(other), EMX_CNT_DROP_SEQUENCE});
    other.msg.seq ^= 0x4000;
    other.msg.ack ^= 0x8000;
    s.check({"session bits of the ack", s.stranger.frame(other), EMX_CNT_DROP_SEQUENCE});
}

namespace {

/// The same frame with a VLAN tag.
Frame tagged(Frame frame, uint16_t tag)
{
    const uint8_t bytes[] = {0x81, 0, static_cast<uint8_t>(tag >> 8), static_cast<uint8_t>(tag)};
    frame.insert(frame.begin() + 12, std::begin(bytes), std::end(bytes));
    return frame;
}

} // namespace

TEST_CASE("bad_frames__vlan_without_an_interface", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    constexpr uint16_t vlan = 5, priority = 7 << 13;
    for (const uint8_t type :
         {EMX_HOST_QUERY, EMX_TRUC, EMX_CONNECT, EMX_TINY, EMX_NACK_LIB, EMX_PULL_REPLY, EMX_X_DATA}) {
        fw_pkt pkt = s.stranger.packet(type);
        pkt.msg.u.nack.reason = EMX_NACK_CLOSED;
        pkt.magic = s.victim.number();
        s.check(
            {"type " + std::to_string(type), tagged(s.stranger.frame(pkt), vlan), EMX_CNT_DROP_OTHER_HOST});
    }
    fw_pkt beacon = s.stranger.packet(EMX_RAW);
    beacon.dst_mac = 0xffffffffffff;
    beacon.board = stranger_mac;
    s.check({"beacon", tagged(s.stranger.frame(beacon), vlan), EMX_CNT_DROP_OTHER_HOST});

    std::vector<uint8_t> target(8);
    fw_pkt tiny = eager(s, EMX_TINY, 8);
    mx_request_t request = s.victim.receive(target.data(), 8, tiny.msg.match);
    s.stranger.send(tagged(s.stranger.frame(tiny, bytes(8)), priority));
    s.stranger.advance();
    mx_status_t status{};
    CHECK(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    CHECK(target == bytes(8));
}

TEST_CASE("bad_frames__extension", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    fw_pkt pull = s.stranger.packet(EMX_X_PULL);
    pull.total = 1000;
    pull.x.unit = 500;
    pull.x.want[0] = 1;
    fw_pkt data = s.stranger.packet(EMX_X_DATA);
    data.msg.data_len = 8;
    const fw_pkt medium = eager(s, EMX_X_MEDIUM, 8), report = s.stranger.packet(EMX_X_REPORT);
    s.check({"report whose counter does not rise", s.stranger.frame(report), EMX_CNT_DROP_SEQUENCE});
    s.check({"x medium of a wrong checksum", s.stranger.frame(medium, bytes(8), {{51, {1}}}),
             EMX_CNT_DROP_CHECKSUM});
    s.check({"and of another session", s.stranger.frame(medium, bytes(8), {{36, {9}}, {51, {1}}}),
             EMX_CNT_DROP_CHECKSUM});
    const fw_pkt longest = eager(s, EMX_X_MEDIUM, 8943);
    s.check({"x medium longer than 16 bytes less", s.stranger.frame(longest, bytes(8943)),
             EMX_CNT_DROP_FRAGMENT});
    s.check({"x data of no pull", s.stranger.frame(data, bytes(8)), kept_out});
    s.check_nack({"x pull of no window", s.stranger.frame(pull), 0}, EMX_NACK_MCP, EMX_NACK_BAD_WINDOW);
    s.check({"behind the end", s.stranger.frame(pull, {}, {{47, {5}}}), EMX_CNT_DROP_PULL_SHAPE});
    for (uint8_t type : {111, 116})
        s.check({"type " + std::to_string(type), s.stranger.frame(report, {}, {{16, {type}}}), kept_out});
    auto elsewhere = [&](fw_pkt p) {
        p.msg.local_ep = 12;
        return s.stranger.frame(p, bytes(p.msg.data_len));
    };
    s.check_nack({"x medium to a closed endpoint", elsewhere(medium), 0}, EMX_NACK_LIB, EMX_NACK_CLOSED);
    s.check_nack({"x pull to a closed endpoint", elsewhere(pull), 0}, EMX_NACK_MCP, EMX_NACK_CLOSED);
    s.check({"x report to a closed endpoint", elsewhere(report), kept_out});
    s.check({"x data to a closed endpoint", elsewhere(data), kept_out});
}

TEST_CASE("bad_frames__tiny_small_medium_rndv", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    const auto changed = [&](uint8_t type, const std::vector<Change> &changes, std::size_t payload) {
        return s.stranger.frame(eager(s, type, 8), bytes(payload), changes);
    };
    s.check({"tiny of 33", changed(EMX_TINY, {{20, {0, 33}}}, 100), EMX_CNT_DROP_LENGTH});
    s.check({"tiny beyond the frame", changed(EMX_TINY, {{20, {0, 30}}}, 8), EMX_CNT_DROP_LENGTH});
    s.check({"small of 129", changed(EMX_SMALL, {{20, {0, 129}}}, 200), EMX_CNT_DROP_LENGTH});
    s.check({"small beyond the frame", changed(EMX_SMALL, {{20, {0, 128}}}, 100), EMX_CNT_DROP_LENGTH});

    const uint32_t frag = s.sizes.frag;
    const auto fragment = [&](uint32_t message, uint8_t number, uint32_t size) {
        return s.stranger.frame(medium(s, message, number, size), bytes(size));
    };
    s.check({"fragment of 0", fragment(100, 0, 0), EMX_CNT_DROP_FRAGMENT});
    s.check({"fragment over the limit", fragment(3 * frag, 0, frag + 1), EMX_CNT_DROP_FRAGMENT});
    s.check({"fragment number 200", fragment(2 * frag, 200, 100), EMX_CNT_DROP_FRAGMENT});
    s.check({"beyond the message", fragment(frag + 10, 1, 20), EMX_CNT_DROP_FRAGMENT});
    s.check({"an inner fragment that is not full", fragment(3 * frag, 0, 100), EMX_CNT_DROP_FRAGMENT});
    s.check({"message too long", fragment(s.sizes.medium_max + 1, 0, frag), EMX_CNT_DROP_FRAGMENT});
    if (s.sizes.dialect == FW_DIALECT_W)
        for (uint8_t exponent : {16, 40, 255}) {
            Frame f = fragment(2 * frag, 1, 100);
            f[43] = exponent;
            s.check({"exponent " + std::to_string(exponent), f, EMX_CNT_DROP_FRAGMENT});
        }
    s.check({"rndv with a data part of 7", s.stranger.frame(eager(s, EMX_RNDV, 100000), {}, {{20, {0, 7}}}),
             EMX_CNT_DROP_DATA_PART});
}

TEST_CASE("bad_frames__longer_than_a_slot", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    // The slots were made for an MTU of 9000.
    for (int host : {1, 0})
        s.hosts.run(host, "ip link set eth0 mtu 20000");
    constexpr std::size_t longer = 15000;
    fw_pkt tiny = eager(s, EMX_TINY, 8);
    s.check({"tiny of 33", s.stranger.frame(tiny, bytes(longer), {{20, {0, 33}}}), EMX_CNT_DROP_OVERSIZE});
    s.check({"fragment of 12000", s.stranger.frame(medium(s, 30000, 0, 12000), bytes(longer)),
             EMX_CNT_DROP_OVERSIZE});

    // The message of a short packet is there: any bytes may follow.
    std::vector<uint8_t> target(8);
    tiny = eager(s, EMX_TINY, 8);
    mx_request_t request = s.victim.receive(target.data(), 8, tiny.msg.match);
    s.stranger.send(tiny, bytes(longer));
    s.stranger.advance();
    mx_status_t status{};
    CHECK(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    CHECK(target == bytes(8));
}

TEST_CASE("bad_frames__fragments_that_contradict_each_other", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    const uint32_t frag = s.sizes.frag, total = 2 * frag;
    std::vector<uint8_t> target(total);
    const uint64_t match = medium(s, total, 0, frag).msg.match;
    mx_request_t request = s.victim.receive(target.data(), total, match);
    const fw_pkt first = medium(s, total, 0, frag);
    s.stranger.send(first, bytes(frag));
    s.stranger.advance();
    // While the message is half here, its number says other things.
    fw_pkt second = medium(s, total, 1, frag);
    second.msg.seq = first.msg.seq;
    fw_pkt wrong = second;
    wrong.msg.match++;
    s.check_half_way({"other match information", s.stranger.frame(wrong, bytes(frag)), EMX_CNT_DROP_CONTENT});
    wrong = second;
    wrong.msg.msg_len = total - 1;
    wrong.msg.data_len = frag - 1;
    s.check_half_way(
        {"other message length", s.stranger.frame(wrong, bytes(frag - 1)), EMX_CNT_DROP_CONTENT});
    wrong = eager(s, EMX_TINY, 8);
    wrong.msg.seq = first.msg.seq;
    s.check_half_way({"another type", s.stranger.frame(wrong, bytes(8)), ignored});
    // Nor does a later message pass it.
    fw_pkt later = eager(s, EMX_TINY, 8);
    std::vector<uint8_t> later_target(8);
    later.msg.match = match + 2;
    mx_request_t later_request = s.victim.receive(later_target.data(), 8, later.msg.match);
    s.stranger.send(later, bytes(8));
    s.stranger.advance();
    mx_status_t status{};
    CHECK(s.victim.progress_in_vain([&] { return s.victim.complete(later_request, status); }));
    CHECK_FALSE(s.victim.complete(request, status));
    s.stranger.send(second, bytes(frag));
    CHECK(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    CHECK(status.code == MX_STATUS_SUCCESS);
    CHECK(target == bytes(total));
    CHECK(s.victim.progress_until([&] { return s.victim.complete(later_request, status); }));
    CHECK(later_target == bytes(8));
    s.works();
}

TEST_CASE("bad_frames__pull_requests", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    std::vector<uint8_t> data(std::size_t{5} * s.sizes.reply);
    send_large(s, data);
    const auto rndv = s.stranger.expect(EMX_RNDV);
    REQUIRE(rndv);
    s.stranger.took(*rndv);
    const auto changed = [&](const std::function<void(fw_pkt &)> &change) {
        fw_pkt pkt = pull(s, *rndv);
        change(pkt);
        return s.stranger.frame(pkt);
    };
    constexpr int shape = EMX_CNT_DROP_PULL_SHAPE, range = EMX_CNT_DROP_PULL_RANGE;
    s.check({"skip of a whole frame", changed([&](fw_pkt &p) { p.skip = s.sizes.reply; }), shape});
    s.check({"length 0", changed([](fw_pkt &p) { p.length = 0; }), shape});
    s.check({"more frames than a block", changed([&](fw_pkt &p) {
                 p.length = s.sizes.reply * s.sizes.block;
                 p.skip = 1;
             }),
             shape});
    s.check({"first byte beyond 32 bits", changed([](fw_pkt &p) { p.frame = 0xffffffff; }), shape});
    s.check({"range outside the window", changed([&](fw_pkt &p) { p.frame = 5; }), range});
    s.check({"range half outside", changed([&](fw_pkt &p) {
                 p.frame = 4;
                 p.length = s.sizes.reply + 1;
                 p.skip = 0;
             }),
             range});
    constexpr uint8_t mcp = EMX_NACK_MCP;
    s.check_nack({"no such window", changed([](fw_pkt &p) { p.window = p.msg.u.window.id ^= 1; }), 0}, mcp,
                 EMX_NACK_BAD_WINDOW);
    s.check_nack({"old tag", changed([](fw_pkt &p) { p.msg.u.window.tag ^= 1; }), 0}, mcp,
                 EMX_NACK_BAD_WINDOW);
    s.check_nack({"another endpoint's window", changed([](fw_pkt &p) { p.msg.remote_ep = 10; }), 0}, mcp,
                 EMX_NACK_BAD_WINDOW);
    s.check_nack({"stale session", changed([](fw_pkt &p) { p.msg.session ^= 1; }), 0}, mcp,
                 EMX_NACK_BAD_SESSION);

    // A good request is served all the same.
    s.stranger.forget_all();
    s.stranger.send(changed([](fw_pkt &) {}));
    const auto reply = s.stranger.expect(EMX_PULL_REPLY);
    REQUIRE(reply);
    CHECK(reply->msg.data_len == 1000);
}

TEST_CASE("bad_frames__notifies", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    std::vector<uint8_t> data(100000);
    mx_request_t request = send_large(s, data);
    const auto rndv = s.stranger.expect(EMX_RNDV);
    REQUIRE(rndv);
    s.stranger.took(*rndv);
    fw_pkt notify = s.stranger.packet(EMX_NOTIFY);
    notify.msg.u.window = rndv->msg.u.window;
    notify.msg.msg_len = static_cast<uint32_t>(data.size());
    mx_status_t status{};
    const auto leftover = [&](const char *what, const std::function<void(fw_pkt &)> &change) {
        fw_pkt pkt = notify;
        change(pkt);
        pkt.msg.seq = s.stranger.next();
        const Frame frame = s.stranger.frame(pkt);
        s.stranger.advance(); // it is acknowledged by number
        s.check({what, frame, ignored});
        INFO(what);
        CHECK_FALSE(s.victim.complete(request, status));
    };
    leftover("notify of no window", [](fw_pkt &p) { p.msg.u.window.id ^= 1; });
    leftover("notify with an old tag", [](fw_pkt &p) { p.msg.u.window.tag ^= 1; });
    leftover("notify of more than the message", [](fw_pkt &p) { p.msg.msg_len++; });
    fw_pkt other = notify;
    other.msg.remote_ep = 10;
    s.check({"notify from an endpoint that never connected", s.stranger.frame(other), EMX_CNT_DROP_PARTNER});
    notify.msg.seq = s.stranger.next();
    s.stranger.send(notify);
    s.stranger.advance();
    CHECK(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    CHECK(status.code == MX_STATUS_SUCCESS);
    s.works();
}

TEST_CASE("bad_frames__as_long_as_a_full_reply", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    const uint32_t total = 3 * s.sizes.reply;
    std::vector<uint8_t> target(total);
    mx_request_t request = nullptr;
    announce(s, target, request);
    REQUIRE(s.stranger.expect(EMX_PULL));
    // An endpoint alone on its board has replies told apart by their length, soon after its first pull; until
    // then this is a message, of a number that the victim lets pass once.
    Frame padded = s.stranger.frame(eager(s, EMX_TINY, 8), bytes(8));
    padded.resize(9000 + 14);
    const auto drops = [&] { return s.victim.counters()[EMX_CNT_DROP_LENGTH]; };
    const uint32_t before = drops();
    CHECK(s.victim.progress_until([&] {
        s.stranger.send(padded);
        return drops() > before;
    }));
    mx_status_t status{};
    CHECK_FALSE(s.victim.complete(request, status));
}

TEST_CASE("bad_frames__pull_replies", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    const uint32_t unit = s.sizes.reply, total = 2 * unit + 100;
    std::vector<uint8_t> target(total);
    mx_request_t request = nullptr;
    const fw_pkt rndv = announce(s, target, request);
    const auto asked = s.stranger.expect(EMX_PULL);
    REQUIRE(asked);
    s.check({"rndv repeated with other contents", s.stranger.frame([&] {
                 fw_pkt again = rndv;
                 again.msg.match++;
                 again.msg.msg_len = 5;
                 return again;
             }()),
             EMX_CNT_DROP_SEQUENCE});

    const auto reply = [&](uint32_t frame, const std::function<void(fw_pkt &)> &change = {}) {
        fw_pkt pkt = s.stranger.packet(EMX_PULL_REPLY);
        pkt.handle = asked->handle;
        pkt.magic = asked->magic;
        pkt.frame = frame;
        pkt.position = frame * unit;
        pkt.msg.data_len = pkt.length = frame < 2 ? unit : 100;
        if (change)
            change(pkt);
        return s.stranger.frame(pkt, bytes(pkt.msg.data_len));
    };
    constexpr int unknown = EMX_CNT_DROP_REPLY_UNKNOWN, shape = EMX_CNT_DROP_REPLY_SHAPE;
    s.check({"unknown handle", reply(0, [](fw_pkt &p) { p.handle ^= 0x10000; }), unknown});
    s.check({"magic of no endpoint here", reply(0, [](fw_pkt &p) { p.magic ^= 0x100; }), unknown});
    s.check({"magic of another endpoint", reply(0, [](fw_pkt &p) { p.magic ^= 1; }), kept_out});
    s.check(
        {"from an unknown board", reply(0, [](fw_pkt &p) { p.src_mac ^= 2; }), EMX_CNT_DROP_UNKNOWN_PEER});
    s.check({"frame number outside",
             reply(0,
                   [&](fw_pkt &p) {
                       p.frame = 200;
                       p.position = 200 * unit;
                   }),
             shape});
    s.check({"position of another number", reply(0, [&](fw_pkt &p) { p.position = unit; }), shape});
    s.check({"one byte short", reply(0, [](fw_pkt &p) { p.length = --p.msg.data_len; }), shape});
    s.check({"beyond the message", reply(2, [](fw_pkt &p) { p.length = ++p.msg.data_len; }), shape});
    Frame cut = reply(0);
    cut.resize(cut.size() - 1);
    s.check({"longer than the frame", cut, EMX_CNT_DROP_LENGTH});
    s.stranger.send(reply(0));
    s.check({"repeated", reply(0), EMX_CNT_DROP_REPLY_DUPLICATE});
    mx_status_t status{};
    CHECK_FALSE(s.victim.complete(request, status));
    s.stranger.send(reply(1));
    s.stranger.send(reply(2));
    CHECK(s.victim.progress_until([&] { return s.victim.complete(request, status); }));
    CHECK(status.code == MX_STATUS_SUCCESS);
    CHECK(target == bytes(total));
    const auto notify = s.stranger.expect(EMX_NOTIFY);
    REQUIRE(notify);
    s.stranger.took(*notify);
    s.works();
    s.check(
        {"after the end", reply(1), ignored}); // waits, uncounted, until the next pull looks at its socket
}

TEST_CASE("bad_frames__truc_connect_nacks", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    fw_pkt truc = s.stranger.packet(EMX_TRUC);
    truc.msg.u.truc.counter = 5;
    s.check({"truc kind", s.stranger.frame(truc, {}, {{28, {0x54}}}), EMX_CNT_DROP_TRUC});
    s.check({"truc data part of 15", s.stranger.frame(truc, {}, {{20, {15}}}), EMX_CNT_DROP_DATA_PART});
    s.check({"truc copies differ", s.stranger.frame(truc, {}, {{32, {0, 0, 0, 1}}}), EMX_CNT_DROP_TRUC});
    fw_pkt wrong = truc;
    wrong.msg.session ^= 1;
    s.check({"truc of a stale session", s.stranger.frame(wrong), EMX_CNT_DROP_SESSION});
    s.check({"a good one", s.stranger.frame(truc), ignored});
    s.check({"truc counter not greater", s.stranger.frame(truc), EMX_CNT_DROP_SEQUENCE});
    wrong = truc;
    wrong.msg.u.truc.counter = 6;
    wrong.msg.ack = static_cast<uint16_t>(wrong.msg.ack + 100);
    s.check({"truc ack of what was never sent", s.stranger.frame(wrong), ignored});

    fw_pkt connect = s.stranger.packet(EMX_CONNECT);
    connect.msg.u.connect = {Stranger::session, Stranger::key, 1, 0, 1, 0};
    constexpr int bad = EMX_CNT_DROP_CONNECT;
    s.check({"connect data part of 15", s.stranger.frame(connect, {}, {{20, {15}}}), EMX_CNT_DROP_DATA_PART});
    s.check({"connect session of ones", s.stranger.frame(connect, {}, {{32, {255, 255, 255, 255}}}), bad});
    fw_pkt reply = connect;
    reply.msg.u.connect = {Stranger::session, 0, 1, 1, 200, EMX_CONNECT_OK};
    s.check({"connect reply without a request", s.stranger.frame(reply), bad});
    wrong = reply;
    wrong.msg.u.connect.number = 0;
    s.check({"connect reply that comes again", s.stranger.frame(wrong), EMX_CNT_DROP_SEQUENCE});
    wrong = reply;
    wrong.msg.session ^= 1;
    s.check({"connect reply with a wrong echo", s.stranger.frame(wrong), EMX_CNT_DROP_ECHO});
    s.check({"connect reply of status 1", s.stranger.frame(reply, {}, {{44, {1}}}), bad});
    Frame own = s.stranger.frame(connect);
    std::copy(own.begin(), own.begin() + 6, own.begin() + 6);
    s.check({"connect from our own board", own, EMX_CNT_DROP_BAD_SOURCE});

    fw_pkt nack = s.stranger.packet(EMX_NACK_LIB);
    for (uint8_t reason : {0, 4, 255}) {
        nack.msg.u.nack.reason = reason;
        s.check({"nack lib reason " + std::to_string(reason), s.stranger.frame(nack), EMX_CNT_DROP_NACK});
    }
    nack.msg.u.nack.reason = EMX_NACK_CLOSED;
    s.check({"nack lib of nothing outstanding", s.stranger.frame(nack), EMX_CNT_DROP_NACK});
    fw_pkt mcp = s.stranger.packet(EMX_NACK_MCP);
    mcp.handle = 0x10001;
    mcp.magic = 0x999900;
    for (uint8_t reason : {0, 5, 1}) {
        mcp.msg.u.nack.reason = reason;
        s.check({"nack mcp reason " + std::to_string(reason), s.stranger.frame(mcp), EMX_CNT_DROP_NACK});
    }
}

TEST_CASE("bad_frames__host_packets_and_beacons", "[frames]")
{
    Scene s(GENERATE('W', 'N'));
    fw_pkt query = s.stranger.packet(EMX_HOST_QUERY);
    query.magic = 1;
    s.check(
        {"broadcast query", s.stranger.frame(query, {}, {{0, {255, 255, 255, 255, 255, 255}}}), kept_out});
    fw_pkt reply = s.stranger.packet(EMX_HOST_REPLY);
    std::memcpy(reply.name, "evil:0", 7);
    reply.magic = 0xffffffff;
    constexpr int bad = EMX_CNT_DROP_HOST;
    const auto named = [&](const std::vector<Change> &changes) {
        return s.stranger.frame(reply, {}, changes);
    };
    s.check({"magic", named({}), EMX_CNT_DROP_ECHO});
    s.check({"name of 0", named({{17, {0}}}), bad});
    s.check({"name of 81", s.stranger.frame(reply, bytes(100), {{17, {81}}}), bad});
    s.check({"name beyond the frame", named({{17, {70}}}), bad});
    s.check({"name without end", named({{17, {6}}}), bad});
    s.check({"control character", named({{33, {0x1b}}}), bad});
    char name[MX_MAX_HOSTNAME_LEN] = "";
    mx_nic_id_to_hostname(s.stranger.mac(), name);
    CHECK(std::string(name).find("vil") == std::string::npos);

    fw_pkt raw = s.stranger.packet(EMX_RAW);
    raw.dst_mac = 0xffffffffffff;
    raw.board = 0x020000000777;
    const auto beacon = [&](const std::vector<Change> &changes) {
        return s.stranger.frame(raw, {}, changes);
    };
    Frame shorter = beacon({});
    shorter.resize(43);
    s.check({"beacon of 43 bytes", shorter, EMX_CNT_DROP_SHORT});
    s.check({"upper bits", beacon({{33, {1}}}), EMX_CNT_DROP_RAW});
    s.check({"address 0", beacon({{34, {0, 0, 0, 0, 0, 0}}}), EMX_CNT_DROP_RAW});
    s.check({"multicast", beacon({{34, {3}}}), EMX_CNT_DROP_RAW});
    Frame own = beacon({});
    for (std::size_t i = 0; i < 6; i++)
        own[34 + i] = static_cast<uint8_t>(s.victim.nic_id() >> (40 - 8 * i));
    s.check({"our own address", own, EMX_CNT_DROP_RAW});

    // The table is bounded: more than it holds come in, one for another, and who is at work keeps its place.
    constexpr uint32_t boards = 1100;
    const uint32_t before = s.victim.counters()[EMX_CNT_RX_RAW];
    for (uint32_t i = 0; i < boards; i++) {
        raw.board = 0x020000100000 + i;
        s.stranger.send(raw);
        if (i % 50 == 49)
            s.works();
    }
    CHECK(s.victim.progress_until([&] { return s.victim.counters()[EMX_CNT_RX_RAW] == before + boards; }));
    CHECK(s.victim.counters()[EMX_CNT_DROP_TABLE_FULL] == 0);
    s.works();
}

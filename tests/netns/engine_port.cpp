// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ports of the engine on two hosts: frames of every class, large transfers, both dialects.
#include "driver/base/clock.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/engine/engine.hpp"
#include "driver/mx_codes.hpp"
#include "tests/netns/engine_fixture.hpp"
#include "tests/support/becomes.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace emx;
using namespace emx::test;

namespace {

void round_trip(Pair &pair, uint8_t type, uint32_t bytes, bool summed = false)
{
    INFO("type " << int(type) << ", " << bytes << " bytes");
    const std::vector<std::byte> data = pattern(bytes, type);
    emx_msg msg = pair.message(0, type, bytes);
    msg.u.medium.summed = summed;
    msg.u.medium.crc = fw_crc32c(0, data.data(), bytes);
    Payload payload(data);
    REQUIRE(pair.port(0).send(msg, payload.data()));
    const emx_msg *event = pair.expect(1, type);
    CHECK(event->msg_len == bytes);
    CHECK(event->match == msg.match);
    CHECK(event->seq == msg.seq);
    CHECK(event->remote_ep == pair.port(0).number());
    CHECK(event->peer == pair.peer(1));
    CHECK((bytes == 0 || std::memcmp(reinterpret_cast<const void *>(event->data), data.data(), bytes) == 0));
    pair.port(1).consume();
}

std::array<uint8_t, EMX_FRAME_MIN> stray_frame(uint64_t to, uint64_t from, uint8_t type)
{
    std::array<uint8_t, EMX_FRAME_MIN> frame{};
    put_mac(frame.data(), to);
    put_mac(frame.data() + 6, from);
    frame[12] = EMX_ETHERTYPE >> 8;
    frame[13] = EMX_ETHERTYPE & 0xff;
    frame[16] = type;
    return frame;
}

void large(Pair &pair, uint32_t bytes, unsigned pieces)
{
    INFO(bytes << " bytes in " << pieces << " pieces");
    const std::vector<std::byte> source = pattern(bytes, 7);
    std::vector<std::byte> target(bytes + 1, std::byte{0xee});
    pair.transfer(source, target, pieces);
    CHECK(std::memcmp(source.data(), target.data(), bytes) == 0);
    CHECK(target[bytes] == std::byte{0xee});
}

} // namespace

TEST_CASE("engine__every_class_crosses_the_wire", "[netns][engine]")
{
    const std::string spec = GENERATE("eth0:W", "eth0:N=9000", "eth0:N=1500");
    INFO(spec);
    TwoHosts hosts;
    Pair pair(hosts, spec);
    for (uint32_t bytes : {0u, 1u, 20u, 32u})
        round_trip(pair, EMX_TINY, bytes);
    for (uint32_t bytes : {33u, 128u})
        round_trip(pair, EMX_SMALL, bytes);
    for (uint32_t bytes : {129u, 1000u, 1452u})
        round_trip(pair, EMX_MEDIUM, bytes);
    round_trip(pair, EMX_MEDIUM, pair.info(0).frag);
    CHECK(pair.port(1).counters().v[EMX_CNT_RX_TINY] == 4);
    CHECK(pair.port(0).counters().v[EMX_CNT_TX_TINY] == 4);
}

TEST_CASE("engine__fragments_of_the_extension_and_checksums_cross_the_wire", "[netns][engine]")
{
    const std::string spec = GENERATE("eth0:W", "eth0:N=9000", "eth0:N=1500");
    const bool summed = GENERATE(false, true);
    INFO(spec << (summed ? ", with checksums" : ""));
    TwoHosts hosts;
    Pair pair(hosts, spec);
    // As long as an MTU of 9000 takes, but for who says that the network takes less.
    const uint32_t longest = spec == "eth0:N=1500" ? 1428 : 8942;
    REQUIRE(pair.port(0).x_fragment() == longest);
    for (uint32_t bytes : {0u, 1u, 3u, 4u, 128u, 129u, longest / 2, longest - 1, longest})
        round_trip(pair, EMX_X_MEDIUM, bytes, summed);
    emx_msg longer = pair.message(0, EMX_X_MEDIUM, longest + 1);
    Payload payload(pattern(longest + 1, 1));
    CHECK_FALSE(pair.port(0).send(longer, payload.data()));
    pair.x_pulls = true;
    pair.x_sums = summed;
    for (uint32_t bytes : {1u, 8974u, 100000u, 4u << 20})
        large(pair, bytes, 1);
    large(pair, 1000000, 7);
    CHECK(pair.port(1).counters().v[EMX_CNT_RX_X_MEDIUM] == 9);
    CHECK(pair.port(1).counters().v[EMX_CNT_RX_X_DATA] > 0);
    CHECK(pair.port(1).counters().v[EMX_CNT_PULL_PLACED] > 0);
    CHECK(pair.port(1).counters().v[EMX_CNT_DROP_CHECKSUM] == 0);
}

TEST_CASE("engine__large_messages_arrive_whole", "[netns][engine]")
{
    const std::string spec = GENERATE("eth0:W", "eth0:N=9000", "eth0:N=1500");
    INFO(spec);
    TwoHosts hosts;
    Pair pair(hosts, spec);
    pair.x_pulls = GENERATE(false, true);
    const uint32_t most = std::getenv("EMX_FULL") ? 16u << 20 : 4u << 20;
    for (uint32_t bytes : {1u, 27u, 4096u, 4097u, 100000u, 1u << 20, most})
        large(pair, bytes, 1);
    large(pair, 1000000, 7);
    large(pair, 500000, 256);
    const emx_counters &counters = pair.port(1).counters();
    CHECK(counters.v[EMX_CNT_PULL_PLACED] > 0);
    CHECK((counters.v[EMX_CNT_RX_X_DATA] > 0) == pair.x_pulls);
    CHECK((counters.v[EMX_CNT_RX_PULL_REPLY] > 0) == !pair.x_pulls);
}

TEST_CASE("engine__after_a_pull_the_agent_still_answers_and_nothing_comes_twice", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:N=9000");
    large(pair, 100000, 1); // its first pull changes what looks at the interface's frames, and in what order
    large(pair, 3000000, 1);
    for (uint32_t bytes = 0; bytes <= 32; bytes++)
        round_trip(pair, EMX_TINY, bytes);
    CHECK(pair.port(1).counters().v[EMX_CNT_RX_TINY] == 33);
    emx_msg connect = pair.message(0, EMX_CONNECT, 0);
    connect.seq = 0; // it has none
    connect.match = 0; // no offer of the extension
    connect.remote_ep = 9; // nobody's
    connect.u.connect.session = 1;
    REQUIRE(pair.port(0).send(connect, nullptr));
    const emx_msg *refusal = pair.expect(0, EMX_NACK_LIB);
    CHECK(refusal->u.nack.reason == EMX_NACK_CLOSED);
    pair.port(0).consume();
    CHECK(pair.quiet(0));
}

TEST_CASE("engine__several_pulls_share_the_wire", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    const std::vector<std::byte> source = pattern(3000000, 9);
    std::vector<std::vector<std::byte>> targets(4, std::vector<std::byte>(source.size()));
    const int kind = GENERATE(0, 1, 2); // of the dialect, of both, of the extension
    for (std::size_t i = 0; i < targets.size(); i++) {
        pair.x_pulls = kind == 2 || (kind == 1 && i % 2);
        pair.begin(source, targets[i], static_cast<uint8_t>(i), i + 1, 3);
    }
    for (std::size_t i = 0; i < targets.size(); i++)
        pair.finish();
    for (const auto &target : targets)
        CHECK(target == source);
}

TEST_CASE("engine__two_boards_of_one_host_talk_over_lo", "[netns][engine]")
{
    const std::string spec = GENERATE("eth0:W", "eth0:N=9000");
    INFO(spec);
    TwoHosts hosts;
    Pair pair(hosts, spec, 0, 0);
    pair.x_pulls = GENERATE(false, true); // which does not go that way
    CHECK(pair.port(0).peer_is_local(pair.peer(0)));
    for (uint32_t bytes : {0u, 32u})
        round_trip(pair, EMX_TINY, bytes);
    round_trip(pair, EMX_MEDIUM, 4000);
    for (uint32_t bytes : {1u, 100000u, 4u << 20})
        large(pair, bytes, 1);
}

TEST_CASE("engine__frames_of_other_endpoints_never_arrive", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    hosts.enter(1);
    DeviceError error;
    const auto other = pair.device(1).open(0, 9, 0x5555, error);
    REQUIRE(other);
    for (int i = 0; i < 10; i++) {
        round_trip(pair, EMX_TINY, 8);
        CHECK(other->peek() == nullptr);
    }
    large(pair, 300000, 1);
    CHECK(other->peek() == nullptr);
    for (int c = 0; c < EMX_CNT_COUNT; c++)
        CHECK(other->counters().v[c] == 0);
}

TEST_CASE("engine__an_unfiltered_ring_ignores_frames_for_others", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    Port &alone = pair.port(1);
    round_trip(pair, EMX_TINY, 8);
    const emx_counters before = alone.counters();
    emx_msg msg = pair.message(0, EMX_TINY, 8);
    msg.remote_ep = 9;
    Payload payload(pattern(8, 1));
    REQUIRE(pair.port(0).send(msg, payload.data()));
    pair.expect(0, EMX_NACK_LIB); // the agent's, and nobody else's
    pair.port(0).consume();

    hosts.enter(0);
    InterfaceFacts facts;
    REQUIRE(query_interface("eth0", facts));
    hosts.foreign(0); // from now on the test sends from there, too
    const Fd raw = make_packet_socket(closed_filter(), nullptr);
    REQUIRE((raw && bind_packet_socket(raw.get(), facts.index, EMX_ETHERTYPE)));
    const uint64_t own = pair.info(1).nic_id;
    struct Stray {
        uint64_t mac;
        uint8_t type;
        uint8_t endpoint;
    };
    for (const Stray stray :
         {Stray{own + 1, EMX_TINY, 5}, Stray{own, EMX_TINY, 9}, Stray{own, EMX_HOST_REPLY, 0},
          Stray{own, EMX_PULL_REPLY, 5}, Stray{own, 99, 5}}) {
        std::array<uint8_t, EMX_FRAME_MIN> frame = stray_frame(stray.mac, facts.mac, stray.type);
        frame[17] = stray.endpoint;
        REQUIRE(::send(raw.get(), frame.data(), frame.size(), 0) > 0);
        alone.wait(~uint64_t{0}); // until the ring has one
    }
    CHECK(pair.quiet(1));
    CHECK(pair.quiet(0));
    for (int c = 0; c < EMX_CNT_COUNT; c++) {
        CAPTURE(c);
        CHECK(alone.counters().v[c] == before.v[c]);
    }

    // Pull replies for others, taken with those of the next pull.
    large(pair, 100000, 1);
    CHECK(pair.quiet(1)); // time to see that the two sockets are a group, and to take filters off
    const uint64_t replies = alone.counters().v[EMX_CNT_RX_PULL_REPLY];
    for (const Stray stray : {Stray{own + 1, EMX_PULL_REPLY, 5}, Stray{own, EMX_PULL_REPLY, 9}}) {
        std::array<uint8_t, EMX_FRAME_MIN> frame = stray_frame(stray.mac, facts.mac, stray.type);
        frame[31] = stray.endpoint;
        REQUIRE(::send(raw.get(), frame.data(), frame.size(), 0) > 0);
    }
    large(pair, 100000, 1);
    CHECK(alone.counters().v[EMX_CNT_RX_PULL_REPLY] >= 2 * replies); // more if it asked for some again
    for (const int c : {EMX_CNT_DROP_NOT_OURS, EMX_CNT_DROP_REPLY_UNKNOWN, EMX_CNT_DROP_ENDPOINT_BUSY})
        CHECK(alone.counters().v[c] == 0);
    round_trip(pair, EMX_TINY, 8);
}

TEST_CASE("engine__a_wake_up_or_a_frame_ends_a_wait", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    Port &port = pair.port(1);
    // tidy-allow(time): a wait that sleeps ends a few times until then, however busy the machine is
    const auto now = [] { return monotonic_ns(); };
    const uint64_t until = now() + 20000000, far = now() + std::chrono::nanoseconds(patience).count();
    int waits = 0;
    for (; now() < until; waits++) {
        CHECK(port.peek() == nullptr);
        port.wait(until);
    }
    CHECK(waits <= 5); // the only endpoint of a board is woken by what comes for the agent: names
    port.wake();
    port.wait(far);
    emx_msg msg = pair.message(0, EMX_TINY, 0);
    Payload payload({});
    REQUIRE(pair.port(0).send(msg, payload.data()));
    port.wait(far);
    pair.expect(1, EMX_TINY);
    port.consume();
    CHECK(now() < far);
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One table gives each packet its receiver (driver/board/packet_ways.hpp): socket filters, run here by a
// small interpreter, the predicates on frames, and the core agree with it.
#include "core_board.hpp"

#include <driver/board/filter.hpp>
#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>
#include <linux/if_packet.h>

#include <map>
#include <string>

using namespace emx;
using namespace emx::test;

namespace {

constexpr uint8_t endpoint = 5;
constexpr uint32_t ethernet_bytes = 14;

/// A frame as a program sees it: bytes, and the kernel's mark of its receiver.
struct Seen {
    const Frame &frame;
    uint8_t mark = PACKET_HOST;
    uint32_t skipped = 0; ///< bytes that the program does not see

    /// False beyond the end, where the kernel ends a program with 0.
    bool load(uint32_t at, uint32_t bytes, uint32_t &value) const
    {
        if (at == static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)) {
            value = mark;
            return true;
        }
        at += skipped;
        if (at + bytes > frame.size())
            return false;
        value = 0;
        for (uint32_t i = 0; i < bytes; i++)
            value = value << 8 | frame[at + i];
        return true;
    }
    uint32_t length() const { return static_cast<uint32_t>(frame.size()) - skipped; }
};

bool jumps(const sock_filter &step, uint32_t a)
{
    switch (BPF_OP(step.code)) {
    case BPF_JEQ: return a == step.k;
    case BPF_JGE: return a >= step.k;
    case BPF_JGT: return a > step.k;
    default: FAIL("a jump that no filter has"); return false;
    }
}

uint32_t calculated(const sock_filter &step, uint32_t a)
{
    switch (BPF_OP(step.code)) {
    case BPF_ADD: return a + step.k;
    case BPF_SUB: return a - step.k;
    case BPF_AND: return a & step.k;
    case BPF_RSH: return a >> step.k;
    default: FAIL("an operation that no filter has"); return 0;
    }
}

uint32_t width(const sock_filter &step)
{
    return BPF_SIZE(step.code) == BPF_W ? 4 : BPF_SIZE(step.code) == BPF_H ? 2 : 1;
}

/// The value that a program returns.
uint32_t run(const FilterProgram &program, const Seen &seen)
{
    uint32_t a = 0, x = 0;
    for (std::size_t at = 0; at < program.size(); at++) {
        const sock_filter &step = program[at];
        switch (BPF_CLASS(step.code)) {
        case BPF_RET: return step.k;
        case BPF_LD:
            if (BPF_MODE(step.code) == BPF_LEN)
                a = seen.length();
            else if (!seen.load(step.k, width(step), a))
                return 0;
            break;
        case BPF_ALU: a = calculated(step, a); break;
        case BPF_JMP: at += jumps(step, a) ? step.jt : step.jf; break;
        case BPF_MISC: (step.code & BPF_TXA ? a : x) = step.code & BPF_TXA ? x : a; break;
        default: FAIL("an instruction that no filter has");
        }
    }
    FAIL("a program without an end");
    return 0;
}

/// A frame of that type to board b; the endpoint's number where the table says, elsewhere others.
Frame frame_of(unsigned type, uint8_t number, uint64_t to = mac_b)
{
    Frame frame(EMX_FRAME_MIN, 0xee);
    for (unsigned i = 0; i < 6; i++)
        frame[i] = static_cast<uint8_t>(to >> (40 - 8 * i));
    frame[packet_type_at] = static_cast<uint8_t>(type);
    if (packet_ways[type].endpoint_at)
        frame[packet_ways[type].endpoint_at] = number;
    return frame;
}

bool passes(const FilterProgram &program, const Frame &frame, uint8_t mark = PACKET_HOST)
{
    return run(program, {frame, mark}) != 0;
}

template <typename Judge>
void for_all_types(Judge judge)
{
    for (unsigned type = 0; type < packet_ways.size(); type++) {
        CAPTURE(type);
        judge(type, packet_ways[type]);
    }
}

} // namespace

TEST_CASE("packet_ways__an_endpoints_filters_follow_the_table")
{
    const FilterProgram ring = endpoint_filter(mac_b, endpoint, false),
                        both = endpoint_filter(mac_b, endpoint, true), bulk = reply_filter(mac_b, endpoint);
    for_all_types([&](unsigned type, const PacketWay &way) {
        const bool to_ring = way.role == SocketRole::ring, to_bulk = way.role == SocketRole::bulk;
        const Frame own = frame_of(type, endpoint);
        REQUIRE(passes(ring, own) == to_ring);
        REQUIRE(passes(bulk, own) == to_bulk);
        REQUIRE(passes(both, own) == (to_ring || to_bulk));
        REQUIRE(passes(both, own, PACKET_OTHERHOST) == (to_ring || to_bulk)); // as all frames on lo are
        for (const FilterProgram *filter : {&ring, &bulk})
            REQUIRE_FALSE(passes(*filter, own, PACKET_OTHERHOST));
        for (const FilterProgram *filter : {&ring, &bulk, &both}) {
            REQUIRE_FALSE(passes(*filter, frame_of(type, endpoint + 1)));
            REQUIRE_FALSE(passes(*filter, frame_of(type, endpoint, mac_a)));
        }
    });
}

TEST_CASE("packet_ways__predicates_judge_as_the_filters_do")
{
    const FilterProgram ring = endpoint_filter(mac_b, endpoint, false), bulk = reply_filter(mac_b, endpoint);
    unsigned passed = 0;
    for_all_types([&](unsigned type, const PacketWay &) {
        for (const Frame &whole : {frame_of(type, endpoint), frame_of(type, endpoint + 1),
                                   frame_of(type, endpoint, mac_a), Frame(EMX_FRAME_MIN, endpoint)})
            for (const unsigned bytes : {16u, 17u, 18u, 25u, 26u, 31u, 32u, unsigned{EMX_FRAME_MIN}}) {
                Frame frame(whole.begin(), whole.begin() + bytes);
                const bool to_ring = passes_endpoint_filter(frame.data(), bytes, mac_b, endpoint);
                REQUIRE(to_ring == passes(ring, frame));
                REQUIRE(passes_reply_filter(frame.data(), bytes, mac_b, endpoint) == passes(bulk, frame));
                passed += to_ring;
            }
    });
    CHECK(passed > 50);
}

TEST_CASE("packet_ways__the_agent_gets_its_own_packets_and_those_it_refuses")
{
    std::bitset<EMX_ENDPOINTS_MAX> claimed;
    claimed[endpoint] = true;
    const FilterProgram agent = agent_filter(mac_b, claimed, {}, false);
    for_all_types([&](unsigned type, const PacketWay &way) {
        const bool own = way.role == SocketRole::agent;
        REQUIRE(passes(agent, frame_of(type, endpoint)) == own);
        REQUIRE(passes(agent, frame_of(type, endpoint + 1)) == (own || way.refusable));
        REQUIRE(passes(agent, frame_of(type, endpoint + 1, mac_a)) ==
                (type == EMX_RAW)); // a beacon is for all
        REQUIRE(passes(agent, frame_of(type, endpoint), PACKET_OTHERHOST)); // to be counted
    });
}

TEST_CASE("packet_ways__a_group_gives_pull_replies_to_its_second_member")
{
    for_all_types([](unsigned type, const PacketWay &way) {
        const Frame frame = frame_of(type, endpoint);
        const FilterProgram chooser = reply_chooser({});
        REQUIRE(run(chooser, {frame, PACKET_HOST, ethernet_bytes}) == (way.role == SocketRole::bulk));
        REQUIRE(run(chooser, {frame, PACKET_OTHERHOST, ethernet_bytes}) == 0);
    });
}

TEST_CASE("packet_ways__the_core_reads_the_same_bytes_and_refuses_the_same_types")
{
    const std::map<std::string, std::size_t> payloads = {{"medium_w", 4096}, {"pull_reply_w", 4096}};
    unsigned types = 0;
    for (const char *name :
         {"connect_request", "tiny", "small", "medium_w", "rndv", "pull_w", "pull_reply_w", "notify", "truc",
          "nack_lib", "nack_mcp", "x_medium", "x_report", "x_pull", "x_data", "x_address", "x_pack"}) {
        CAPTURE(name);
        Frame frame = golden(EMX_WIRE_FOLDER, name);
        if (const auto payload = payloads.find(name); payload != payloads.end())
            frame.resize(48 + payload->second);
        const PacketWay &way = packet_ways[frame[packet_type_at]];
        REQUIRE(way.endpoint_at != 0);
        frame[way.endpoint_at] = endpoint;
        TestBoard board(emx_get_mac(frame.data()), sizes_w());
        board.add_peer(emx_get_mac(frame.data() + 6));
        board.fw.ep_state[endpoint] = FW_EP_CLOSED;
        fw_pkt pkt{};
        REQUIRE(fw_check(&board.fw.sizes, 0, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        CHECK(pkt.msg.local_ep == endpoint);
        fw_fx fx{};
        CHECK(fw_demux(&board.fw, &pkt, &fx) == nullptr);
        CHECK((fx.kind == FW_FX_ANSWER) == way.refusable);
        types++;
    }
    unsigned of_endpoints = 0;
    for_all_types([&](unsigned, const PacketWay &way) { of_endpoints += way.endpoint_at != 0; });
    CHECK(types == of_endpoints);
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X PACK in the core: how its messages are laid down and taken out, who gets one, and what is refused.
#include "core_board.hpp"

#include <driver/core/fw_pack.h>
#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

using namespace emx::test;

namespace {

constexpr uint32_t own_session = 0xa1b2c3d4;

struct Content {
    uint64_t match;
    std::string data;
    bool operator==(const Content &) const = default;
};

/// Two boards that know each other; endpoint 2 of A sends to endpoint 5 of B.
struct PackPair {
    TestBoard a{mac_a, sizes_w()}, b{mac_b, sizes_w()};
    std::unique_ptr<fw_endpoint> from = std::make_unique<fw_endpoint>(), to = std::make_unique<fw_endpoint>();
    fw_pkt pkt{};
    fw_fx fx{};

    PackPair()
    {
        a.add_peer(mac_b);
        b.add_peer(mac_a);
        fw_endpoint_init(from.get(), &a.fw, 2, 0x11223344, 1);
        fw_endpoint_init(to.get(), &b.fw, 5, own_session, 1);
        to->counters = &b.counters;
        b.fw.ep[5] = to.get();
        b.fw.ep_state[5] = FW_EP_OPEN;
        from->x_pack = to->x_pack = 2000;
    }

    /// The frame as a library has it sent; empty: the core refuses to.
    Frame frame(const std::vector<Content> &all, uint16_t seq, bool summed) const
    {
        std::vector<uint8_t> payload;
        emx_msg msg{};
        for (const Content &one : all) {
            msg.match = one.match;
            msg.msg_len = static_cast<uint32_t>(one.data.size());
            payload.resize(payload.size() + FW_PACKED_HEADER);
            fw_pack_put(payload.data() + payload.size() - FW_PACKED_HEADER, &msg);
            payload.insert(payload.end(), one.data.begin(), one.data.end());
        }
        emx_msg pack{};
        pack.type = EMX_X_PACK;
        pack.remote_ep = 5;
        pack.session = own_session;
        pack.seq = seq;
        pack.ack = 7;
        pack.data_len = static_cast<uint32_t>(payload.size());
        pack.u.pack.count = static_cast<uint32_t>(all.size());
        pack.u.pack.summed = summed;
        pack.u.pack.crc = fw_crc32c(0, payload.data(), payload.size());
        Frame f(EMX_HEADER_MAX);
        int counter = 0;
        f.resize(fw_send(from.get(), &pack, f.data(), &counter));
        if (f.empty())
            return f;
        REQUIRE(counter == EMX_CNT_TX_X_PACK);
        f.insert(f.end(), payload.begin(), payload.end());
        f.resize(std::max<std::size_t>(f.size(), EMX_FRAME_MIN));
        return f;
    }

    /// "event", or the reason why the frame is dropped or refused.
    std::string outcome(const Frame &f)
    {
        if (const int why = fw_check(&b.fw.sizes, mac_b, f.data(), static_cast<uint32_t>(f.size()), &pkt))
            return fw_counter_label(static_cast<unsigned>(why));
        fw_endpoint *ep = fw_demux(&b.fw, &pkt, &fx);
        REQUIRE(ep == to.get());
        fw_rx(ep, &pkt, 1, &fx);
        return fx.kind == FW_FX_EVENT    ? "event"
               : fx.kind == FW_FX_ANSWER ? "refused"
                                         : fw_counter_label(fx.counter);
    }
};

std::vector<Content> some()
{
    return {{1, "hello"},
            {~uint64_t{0}, ""},
            {0x0123456789abcdef, std::string(32, 't')},
            {5, std::string(33, 's')},
            {6, std::string(128, 'm')},
            {7, std::string(129, 'n')},
            {8, std::string(700, 'o')}};
}

} // namespace

TEST_CASE("fw_pack__messages_come_out_as_they_were_put_in")
{
    // Numbers begin again behind the last, and the session bits on top of them stay.
    for (const uint16_t first : {uint16_t{1}, uint16_t{0x3ffe}, uint16_t{0x7fff}, uint16_t{0xffff}})
        for (const bool summed : {false, true}) {
            CAPTURE(first, summed);
            PackPair p;
            const Frame f = p.frame(some(), first, summed);
            REQUIRE(p.outcome(f) == "event");
            REQUIRE(p.fx.u.msg.type == EMX_X_PACK);
            fw_unpack one;
            fw_unpack_begin(&one, &p.fx.u.msg);
            std::vector<Content> got;
            while (fw_unpack_next(&one)) {
                const emx_msg &m = one.msg;
                REQUIRE(m.seq == (uint16_t)((first & 0xc000) | ((first + got.size()) & 0x3fff)));
                REQUIRE(m.type == (m.msg_len <= EMX_TINY_MAX    ? EMX_TINY
                                   : m.msg_len <= EMX_SMALL_MAX ? EMX_SMALL
                                                                : EMX_MEDIUM));
                if (m.type == EMX_MEDIUM)
                    REQUIRE((m.u.medium.frag == 0 && m.u.medium.position == 0));
                REQUIRE((m.ack == 7 && m.remote_ep == 2 && m.local_ep == 5 && m.session == own_session));
                REQUIRE(m.data_len == m.msg_len);
                got.push_back({m.match, std::string(reinterpret_cast<const char *>(m.data), m.data_len)});
            }
            REQUIRE(got == some());
        }
}

TEST_CASE("fw_rx__packs_are_for_endpoints_that_take_them")
{
    PackPair p;
    const Frame good = p.frame(some(), 1, true);
    REQUIRE(p.outcome(good) == "event");
    p.to->x_pack = 100;
    REQUIRE(p.outcome(good) == "drop: stated length wrong");
    p.to->x_pack = 0;
    REQUIRE(p.outcome(good) == "drop: extension not in use");
    p.to->x_pack = 2000;
    p.to->session++;
    REQUIRE(p.outcome(good) == "refused");
    Frame altered = good;
    altered[28] ^= 1; // the session itself may be what was altered
    REQUIRE(p.outcome(altered) == "drop: wrong checksum");
}

TEST_CASE("fw_rx__a_pack_with_a_wrong_byte_is_dropped_whole")
{
    PackPair p;
    const Frame good = p.frame(some(), 1, true);
    for (std::size_t at = 24; at < good.size(); at++) {
        if (at >= 32 && at < 36)
            continue; // the checksum: 0 would mean none
        CAPTURE(at);
        Frame other = good;
        other[at] ^= 0x10;
        REQUIRE(p.outcome(other) == "drop: wrong checksum");
    }
}

TEST_CASE("fw_rx__messages_of_a_pack_fill_it_exactly")
{
    PackPair p;
    const std::string bad = "drop: stated length wrong";
    const Frame good = p.frame({{1, "12345"}, {2, "678"}}, 1, false);
    REQUIRE(p.outcome(good) == "event");
    const auto with = [&](std::size_t at, uint8_t value) {
        Frame other = good;
        other[at] = value;
        return p.outcome(other);
    };
    REQUIRE(with(23, 1) == bad); // messages
    REQUIRE(with(23, 3) == bad);
    REQUIRE(with(21, 27) == bad); // bytes of all
    REQUIRE(with(21, 29) == bad);
    REQUIRE(with(49, 4) == bad); // bytes of the first
    REQUIRE(with(49, 6) == bad);
    REQUIRE(with(48, 1) == bad);
}

TEST_CASE("fw_send__packs_leave_only_where_they_may")
{
    PackPair p;
    p.from->x_pack = 7 * 10 + 5 + 32 + 33 + 128 + 129 + 700;
    REQUIRE(p.frame(some(), 1, false).size() == 40u + p.from->x_pack);
    p.from->x_pack--;
    REQUIRE(p.frame(some(), 1, false).empty());
    p.from->x_pack = 0;
    REQUIRE(p.frame(some(), 1, false).empty());
    p.from->x_pack = 4000;
    REQUIRE(p.frame(std::vector<Content>(256, Content{1, "x"}), 1, false).empty());
    REQUIRE(!p.frame(std::vector<Content>(255, Content{1, "x"}), 1, false).empty());
    REQUIRE(p.frame({}, 1, false).empty());
}

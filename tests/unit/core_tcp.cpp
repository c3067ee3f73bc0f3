// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pulls by TCP in the core (docs/protocol.md, TCP): units longer than frames, the frames under way, and the
// beginning anew by frames when a connection ends or nothing comes by it.
#include "core_pull_pair.hpp"

using namespace emx::test;

namespace {

constexpr uint16_t tcp_packet = FW_X_DATA_HEADER + 32768, under_way = 8;
constexpr uint16_t longest_frame = 1514;

/// A pair whose pulls go by TCP.
struct TcpPair : PullPair {
    explicit TcpPair(Wire wire = {}, uint64_t seed = 1) : PullPair(sizes_w(), wire, seed)
    {
        extend(longest_frame, 50);
        offer = emx_offer(1, 1, EMX_X_PULLS | EMX_X_TCP, longest_frame, 32);
        for (TestEndpoint *ep : {&sender, &puller})
            ep->fw->x_tcp = under_way;
        carrier = FW_BY_TCP;
        datagram = tcp_packet;
    }
    const fw_pace &pace() const { return puller.fw->pace; }
    void require_all_ok()
    {
        run();
        for (auto &[cookie, job] : jobs) {
            REQUIRE(int(job.status) == EMX_PULL_OK);
            REQUIRE(job.length == job.destination.size());
        }
        REQUIRE(puller.fw->outstanding == 0);
        REQUIRE(pace().pulls == 0);
        REQUIRE(pace().by[FW_BY_TCP] == 0);
        REQUIRE(pace().by[FW_BY_FRAMES] == 0);
        REQUIRE(pace().granted == 0);
    }
};

} // namespace

TEST_CASE("fw_xpull__by_tcp_units_are_longer_than_frames_and_requests_say_so")
{
    TcpPair pair;
    pair.start(1000000);
    uint32_t most = 0;
    while (pair.open_jobs()) {
        most = std::max(most, pair.puller.fw->outstanding);
        pair.deliver_next();
    }
    pair.require_all_ok();
    REQUIRE(most == under_way);
    REQUIRE(pair.copies == (1000000 + 32767) / 32768);
    for (const fw_pkt &request : pair.requests) {
        REQUIRE(request.x.carrier == FW_BY_TCP);
        REQUIRE(request.x.unit == 32768);
    }
    REQUIRE(pair.fallbacks.empty());
}

TEST_CASE("fw_xpull__without_frames_of_x_data_no_other_carrier_serves")
{
    TcpPair pair;
    pair.puller.fw->x_frame = 0;
    pair.mixed = true;
    pair.start(1000000);
    REQUIRE(pair.pace().by[FW_BY_TCP] == 0);
    pair.require_all_ok();
    for (const fw_pkt &request : pair.requests)
        REQUIRE(request.msg.type == EMX_PULL);
}

TEST_CASE("fw_xpull__a_connection_that_ends_lets_pulls_begin_anew_by_frames")
{
    for (const int after : {0, 1, 3, 9, 25}) {
        CAPTURE(after);
        TcpPair pair;
        pair.start(1000000, 77);
        pair.start(300000);
        for (int i = 0; i < after; i++)
            pair.deliver_next();
        pair.carrier_is_down = true;
        fw_pull_leave_tcp(pair.puller.fw.get(), pair.peer_of_a, 9, pair.now); // of another endpoint
        REQUIRE(pair.pace().by[FW_BY_TCP] == 2);
        fw_pull_leave_tcp(pair.puller.fw.get(), pair.peer_of_a, 2, pair.now);
        REQUIRE(pair.pace().by[FW_BY_TCP] == 0);
        pair.drain();
        REQUIRE(pair.fallbacks.empty()); // whoever lost the connection knows, and may have another by now
        REQUIRE(pair.requests.back().x.carrier == FW_BY_FRAMES);
        REQUIRE(pair.requests.back().x.unit == longest_frame - FW_X_DATA_HEADER);
        pair.require_all_ok(); // answers that are still on their way belong to no pull
        REQUIRE(pair.puller.counters.v[EMX_CNT_TCP_FALLBACK] == 2);
    }
}

TEST_CASE("fw_xpull__nothing_comes_by_tcp")
{
    for (const int after : {0, 1, 4, 20}) {
        CAPTURE(after);
        TcpPair pair;
        pair.start(1000000);
        for (int i = 0; i < after; i++)
            pair.deliver_next();
        pair.carrier_is_down = true;
        const uint64_t begun = pair.now;
        while (pair.fallbacks.empty()) {
            REQUIRE(pair.now < begun + 2000000000);
            if (pair.on_wire())
                pair.deliver_next();
            else
                pair.pass_time();
        }
        pair.require_all_ok();
        REQUIRE(pair.fallbacks.size() == 1);
    }
}

TEST_CASE("fw_xpull__a_lost_request_by_tcp_is_made_again")
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        CAPTURE(seed);
        TcpPair pair;
        pair.start(3000000);
        pair.start(77777);
        for (uint64_t step = 0; pair.open_jobs(); step++) {
            std::size_t request = 0;
            while (request < pair.on_wire() && pair.is_reply(request))
                request++;
            if (request < pair.on_wire() && (step * seed) % 7 == 3)
                pair.lose(request);
            else if (pair.on_wire())
                pair.deliver_next();
            else
                pair.pass_time();
        }
        pair.require_all_ok();
        REQUIRE(pair.fallbacks.empty());
    }
}

TEST_CASE("fw_pull_place__tells_where_the_payload_of_an_answer_belongs")
{
    TcpPair pair;
    const PullJob &job = pair.start(100000);
    const fw_endpoint &ep = *pair.puller.fw;
    const fw_pull &pull = ep.pull[job.slot];
    fw_pkt answer{};
    answer.handle = pull.handle;
    answer.magic = ep.magic;
    answer.frame = 3;
    answer.msg.data_len = 100000 - 3 * 32768;
    fw_place place{};
    REQUIRE(fw_pull_place(&ep, &answer, &place) == job.slot);
    REQUIRE(place.position == 3 * 32768);
    REQUIRE(place.length == 100000 - 3 * 32768);
    fw_pkt other = answer;
    other.msg.data_len++;
    REQUIRE(fw_pull_place(&ep, &other, &place) == -1);
    other = answer;
    other.frame = 4;
    REQUIRE(fw_pull_place(&ep, &other, &place) == -1);
    other = answer;
    other.handle += 256;
    REQUIRE(fw_pull_place(&ep, &other, &place) == -1);
    other = answer;
    other.magic++;
    REQUIRE(fw_pull_place(&ep, &other, &place) == -1);
    pair.require_all_ok();
    REQUIRE(fw_pull_place(&ep, &answer, &place) == -1);
}

TEST_CASE("fw_check__x_data_longer_than_any_request_asks_for_is_none")
{
    TestBoard board(mac_b, sizes_w());
    board.add_peer(mac_a);
    fw_pkt pkt = zeroed<fw_pkt>();
    pkt.msg.type = EMX_X_DATA;
    pkt.src_mac = mac_a;
    pkt.dst_mac = mac_b;
    pkt.msg.data_len = pkt.length = 100;
    Frame frame = make_frame(sizes_w(), pkt, std::vector<uint8_t>(100, 3));
    const auto judge = [&](uint16_t states) {
        emx_w_x_data data;
        std::memcpy(&data, frame.data() + EMX_OUTER_LEN, sizeof(data));
        data.length = emx_put16(states);
        std::memcpy(frame.data() + EMX_OUTER_LEN, &data, sizeof(data));
        return fw_check_for(&board.fw, mac_b, frame.data(), uint32_t{FW_X_DATA_HEADER} + states, &pkt);
    };
    REQUIRE(judge(EMX_X_UNIT_MAX) == 0);
    REQUIRE(judge(EMX_X_UNIT_MAX + 1) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(judge(65535) == EMX_CNT_DROP_REPLY_SHAPE);
}

TEST_CASE("fw_window__serves_long_units_by_tcp_alone")
{
    TcpPair pair;
    pair.sender.fw->x_tcp = 0; // its host has no TCP
    pair.start(100000);
    pair.deliver_next();
    REQUIRE(pair.drops.at(EMX_CNT_DROP_PULL_SHAPE) == 1);
}

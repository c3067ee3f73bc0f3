// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Datagrams in the core: addresses, headers (driver/core/fw_address.c), and pulls that ask for them.
#include "core_pull_pair.hpp"

using namespace emx::test;

namespace {

constexpr uint16_t datagram = 1472, held = 124;

/// A pair whose pulls go by datagrams on an MTU of 1500.
struct DatagramPair : PullPair {
    explicit DatagramPair(Wire wire = {}, uint64_t seed = 1) : PullPair(sizes_w(), wire, seed)
    {
        extend(1514, 64);
        puller.fw->x_datagram = ::datagram;
        puller.fw->x_datagrams = held;
        PullPair::datagram = ::datagram;
        carrier = FW_BY_DATAGRAMS;
    }
    const fw_pace &pace() const { return puller.fw->pace; }
    uint64_t count(int counter) const { return puller.counters.v[counter]; }
};

void require_all_ok(DatagramPair &pair)
{
    pair.run();
    for (auto &[cookie, job] : pair.jobs) {
        REQUIRE(int(job.status) == EMX_PULL_OK);
        REQUIRE(job.length == job.destination.size());
    }
    REQUIRE(pair.puller.fw->outstanding == 0);
    REQUIRE(pair.pace().pulls == 0);
    REQUIRE(pair.pace().by[FW_BY_DATAGRAMS] == 0);
    REQUIRE(pair.pace().granted == 0);
}

fw_address address()
{
    fw_address a{};
    a.secret = 0x1122334455667788;
    a.session = 0x11223344;
    a.address = 0x0a000001;
    a.port = EMX_X_PORT + 5;
    a.bytes = datagram;
    a.remote_ep = 2;
    return a;
}

} // namespace

TEST_CASE("fw_address__arrives_as_it_was_told")
{
    for (const auto &[is_answer, takes_fragments] : {std::pair<uint8_t, uint8_t>{0, 0}, {1, 0}, {0, 1}}) {
        TestBoard a(mac_a, sizes_w()), b(mac_b, sizes_w());
        TestEndpoint hears(a, 2, 0x11223344), tells(b, 5, 0xa1b2c3d4);
        fw_address to = address();
        to.is_answer = is_answer;
        to.takes_fragments = takes_fragments;
        to.peer = b.add_peer(mac_a);
        const uint32_t teller = a.add_peer(mac_b);
        fw_fx fx{};
        fw_address_tell(tells.fw.get(), &to, &fx);
        REQUIRE(fx.kind == FW_FX_TX);
        REQUIRE(fx.counter == EMX_CNT_TX_X_ADDRESS);
        const Frame frame = tx_frame(fx);
        auto hear = [&] {
            fw_pkt pkt;
            REQUIRE(fw_check_for(&a.fw, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
            fw_endpoint *ep = fw_demux(&a.fw, &pkt, &fx);
            REQUIRE(ep);
            fw_rx(ep, &pkt, 0, &fx);
        };
        hear(); // by a host without datagrams
        REQUIRE(fx.kind == FW_FX_DROP);
        REQUIRE(fx.counter == EMX_CNT_DROP_EXTENSION);
        hears.fw->x_datagram = datagram;
        hear();
        REQUIRE(fx.kind == FW_FX_ADDRESS);
        const fw_address &heard = fx.u.address;
        REQUIRE(heard.secret == to.secret);
        REQUIRE(heard.peer == teller);
        REQUIRE(heard.session == 0xa1b2c3d4);
        REQUIRE(heard.address == to.address);
        REQUIRE(heard.port == to.port);
        REQUIRE(heard.bytes == to.bytes);
        REQUIRE(heard.remote_ep == 5);
        REQUIRE(heard.is_answer == is_answer);
        REQUIRE(heard.takes_fragments == takes_fragments);
        hears.fw->session++;
        hear();
        REQUIRE(fx.kind == FW_FX_DROP);
        REQUIRE(fx.counter == EMX_CNT_DROP_SESSION);
    }
}

TEST_CASE("fw_datagram__a_header_sealed_and_unsealed_is_that_of_the_frame")
{
    fw_pkt pkt = zeroed<fw_pkt>();
    pkt.msg.type = EMX_X_DATA;
    pkt.src_mac = mac_a;
    pkt.dst_mac = mac_b;
    pkt.tag = 7;
    pkt.msg.local_ep = 5;
    pkt.msg.data_len = pkt.length = 100;
    const Frame frame = make_frame(sizes_w(), pkt, std::vector<uint8_t>(100, 3));
    REQUIRE(fw_datagram_secret(frame.data()) == 0);
    Frame changed = frame;
    fw_datagram_seal(changed.data(), 0x1122334455667788);
    REQUIRE(fw_datagram_secret(changed.data()) == 0x1122334455667788);
    REQUIRE(std::equal(changed.begin() + EMX_OUTER_LEN, changed.end(), frame.begin() + EMX_OUTER_LEN));
    for (const uint8_t type : {EMX_X_PULL, EMX_TINY, EMX_CONNECT, EMX_PULL_REPLY}) {
        Frame other = changed; // nothing else comes in datagrams
        other[EMX_OUTER_LEN] = type;
        REQUIRE(fw_datagram_secret(other.data()) == 0);
    }
    for (std::size_t at = 8; at < 12; at++) {
        Frame other = changed;
        other[at] ^= 1;
        REQUIRE(fw_datagram_secret(other.data()) == 0);
    }
    fw_datagram_unseal(changed.data(), mac_a, mac_b, 7);
    REQUIRE(changed == frame);
}

TEST_CASE("fw_xpull__by_datagrams_frames_are_shorter_and_requests_say_so")
{
    for (const uint32_t length : {1u, 1431u, 1432u, 1433u, 65536u, 1000003u}) {
        CAPTURE(length);
        DatagramPair pair;
        pair.start(length, 13);
        REQUIRE(pair.requests.at(0).x.unit == datagram - FW_X_DATA_HEADER);
        require_all_ok(pair);
        for (const fw_pkt &request : pair.requests)
            REQUIRE(request.x.carrier == FW_BY_DATAGRAMS);
        REQUIRE(pair.copies == (length + 1431) / 1432);
        REQUIRE(pair.drops.empty());
        REQUIRE(pair.fallbacks.empty());
    }
}

TEST_CASE("fw_xpull__datagrams_under_way_are_as_many_as_their_queue_holds")
{
    DatagramPair pair;
    uint32_t most = 0;
    for (int i = 0; i < 3; i++)
        pair.start(2000000);
    while (pair.open_jobs()) {
        pair.deliver_next();
        most = std::max(most, pair.puller.fw->outstanding);
    }
    REQUIRE(most == held);
    REQUIRE(pair.count(EMX_CNT_RESEND_PULL) == 0);
    pair.carrier = FW_BY_FRAMES; // with one by frames, no queue gets more than it holds
    pair.start(2000000);
    pair.carrier = FW_BY_DATAGRAMS;
    pair.start(2000000);
    most = 0;
    while (pair.open_jobs()) {
        most = std::max(most, pair.puller.fw->outstanding);
        pair.deliver_next();
        if (pair.pace().by[FW_BY_DATAGRAMS] != pair.pace().pulls)
            REQUIRE(pair.puller.fw->outstanding <= held);
    }
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__datagrams_that_never_come_are_left_for_frames")
{
    DatagramPair pair;
    pair.carrier_is_down = true;
    pair.start(100000);
    const uint64_t begin = pair.now;
    require_all_ok(pair);
    REQUIRE(pair.count(EMX_CNT_DATAGRAM_FALLBACK) == 1);
    REQUIRE(pair.fallbacks.size() == 1);
    REQUIRE(pair.fallbacks[0].peer == pair.peer_of_a);
    REQUIRE(pair.fallbacks[0].remote_ep == 2);
    REQUIRE(pair.fallbacks[0].session == 0x11223344);
    REQUIRE(pair.requests.back().x.carrier == FW_BY_FRAMES);
    REQUIRE(pair.requests.back().x.unit == datagram - FW_X_DATA_HEADER); // the frames stay as they are
    REQUIRE(pair.now - begin < 100000000); // not the limit of the pull
    pair.carrier_is_down = false;
    pair.start(100000); // the host decides about the next
    REQUIRE(pair.requests.back().x.carrier == FW_BY_DATAGRAMS);
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__datagrams_that_cease_in_the_middle_are_left_for_frames")
{
    for (const int after : {1, 5, 16, 100, 600}) {
        CAPTURE(after);
        DatagramPair pair;
        pair.start(1000000);
        for (int i = 0; i < after; i++)
            pair.deliver_next();
        pair.carrier_is_down = true;
        require_all_ok(pair);
        REQUIRE(pair.fallbacks.size() == 1);
    }
}

TEST_CASE("fw_xpull__loss_of_some_datagrams_is_no_reason_to_leave_them")
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        CAPTURE(seed);
        DatagramPair pair({0.02, 0.01, 0.1, 8}, seed);
        pair.start(3000000);
        pair.start(77777);
        require_all_ok(pair);
        REQUIRE(pair.fallbacks.empty());
    }
}

TEST_CASE("fw_xpull__cancelled_pulls_leave_nothing_of_datagrams")
{
    DatagramPair pair;
    pair.start(100000);
    REQUIRE(pair.pace().by[FW_BY_DATAGRAMS] == 1);
    fw_pull_cancel(pair.puller.fw.get(), 1);
    REQUIRE(pair.pace().by[FW_BY_DATAGRAMS] == 0);
    REQUIRE(pair.pace().pulls == 0);
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames reach their endpoint or are refused: fw_demux, fw_rx and fw_send (wire specification, sections
// 6, 11.1, 13).
#include "core_board.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace emx::test;

namespace {

constexpr uint32_t session = 0x11223344;

/// Board A with endpoint 2 open, and peer B, which calls A by tag 3.
struct Bench {
    TestBoard board{mac_a, sizes_w()};
    TestEndpoint endpoint{board, 2, session};
    uint32_t peer = board.add_peer(mac_b, 3);
    fw_fx fx{};
    fw_pkt pkt{};

    /// A packet of B for endpoint `ep`.
    fw_pkt &make(uint8_t type, uint8_t ep = 2, uint32_t to_session = session)
    {
        pkt = zeroed<fw_pkt>();
        pkt.msg.type = type;
        pkt.msg.local_ep = ep;
        pkt.msg.remote_ep = 5;
        pkt.msg.session = to_session;
        pkt.msg.seq = 77;
        pkt.advert = 3;
        pkt.dst_mac = mac_a;
        pkt.src_mac = mac_b;
        pkt.handle = 0x400023;
        pkt.magic = endpoint.fw->magic;
        return pkt;
    }

    /// Demultiplexes and receives; the endpoint, or nullptr.
    fw_endpoint *give()
    {
        fx = fw_fx{};
        fw_endpoint *ep = fw_demux(&board.fw, &pkt, &fx);
        if (ep)
            fw_rx(ep, &pkt, 0, &fx);
        return ep;
    }

    /// "NACK_LIB 2", "drop: ...", "event", "replies" and so on.
    std::string outcome()
    {
        give();
        switch (fx.kind) {
        case FW_FX_DROP: return fw_counter_label(fx.counter);
        case FW_FX_EVENT: return "event";
        case FW_FX_REPLIES: return "replies";
        case FW_FX_ANSWER: return nack();
        default: return "effect " + std::to_string(fx.kind);
        }
    }

    /// Decodes the frame sent and checks what every refusal has in common.
    std::string nack()
    {
        Frame frame = tx_frame(fx);
        fw_pkt p;
        REQUIRE(fw_check(&board.fw.sizes, mac_b, frame.data(), static_cast<uint32_t>(frame.size()), &p) == 0);
        REQUIRE(p.src_mac == mac_a);
        REQUIRE(p.tag == 3);
        REQUIRE(p.msg.local_ep == 5);
        if (p.msg.type == EMX_NACK_LIB) {
            REQUIRE(p.msg.remote_ep == pkt.msg.local_ep);
            REQUIRE(p.msg.seq == 77);
            REQUIRE(fx.counter == EMX_CNT_TX_NACK_LIB);
            REQUIRE(frame[26] == 0); // tag, copied
            REQUIRE(frame[27] == 3);
        } else if (p.msg.type == EMX_NACK_MCP) {
            REQUIRE(p.handle == pkt.handle);
            REQUIRE(p.magic == pkt.magic);
            REQUIRE(fx.counter == EMX_CNT_TX_NACK_MCP);
        }
        return std::string(fw_type_name(p.msg.type)) + " " + std::to_string(p.msg.u.nack.reason);
    }
};

const uint8_t sequenced_types[] = {EMX_TINY, EMX_SMALL, EMX_MEDIUM, EMX_RNDV, EMX_NOTIFY};

} // namespace

TEST_CASE("fw_peer_pin__its_packets_have_sizes_of_its_own")
{
    Bench b;
    const uint32_t other = b.board.add_peer(0x02000000000c);
    const fw_sizes n = sizes_n(9000);
    const auto taken = [&](const fw_sizes &s, uint64_t from, uint8_t type) {
        fw_pkt p = b.make(type);
        p.src_mac = from;
        p.msg.msg_len = p.msg.data_len = type == EMX_MEDIUM ? 5000 : 8;
        p.total = p.length = 40000;
        const Frame frame = make_frame(s, p, std::vector<uint8_t>(p.msg.data_len));
        return fw_check_for(&b.board.fw, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &b.pkt);
    };
    REQUIRE(taken(n, mac_b, EMX_MEDIUM) == EMX_CNT_DROP_DIALECT_MEDIUM);
    REQUIRE(fw_peer_pin(b.board.fw.peers, b.peer, 9000) == 0);
    CHECK(taken(n, mac_b, EMX_MEDIUM) == 0);
    CHECK(b.pkt.msg.msg_len == 5000);
    CHECK(taken(n, mac_b, EMX_PULL) == 0);
    CHECK(b.pkt.length == 40000);
    CHECK(taken(n, mac_b, EMX_TINY) == 0);
    CHECK(taken(sizes_w(), mac_b, EMX_TINY) == 0); // alike in all
    CHECK(taken(n, 0x02000000000c, EMX_MEDIUM) == EMX_CNT_DROP_DIALECT_MEDIUM);
    CHECK(taken(n, 0x02000000000d, EMX_MEDIUM) == EMX_CNT_DROP_DIALECT_MEDIUM); // a stranger

    // Outgoing packets: the bytes of a length are elsewhere, and a fragment may be longer.
    emx_msg msg{};
    uint8_t header[EMX_HEADER_MAX] = {};
    int counter = 0;
    msg.type = EMX_MEDIUM;
    msg.msg_len = msg.data_len = 8000;
    msg.peer = other;
    CHECK(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 0);
    msg.peer = b.peer;
    REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 48);
    CHECK(header[20] == 0);
    CHECK(header[22] == 8000 / 256);
    msg.peer = other;
    msg.msg_len = msg.data_len = 4000;
    REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 48);
    CHECK(header[20] == 4000 / 256);
    CHECK(header[22] == 0);
}

TEST_CASE("fw_peer_pin__takes_possible_dialects_only")
{
    Bench b;
    fw_peers *t = b.board.fw.peers;
    fw_sizes own{};
    const fw_sizes *board = &b.board.fw.sizes;
    for (uint16_t nonsense : {2, 255})
        CHECK(fw_peer_pin(t, b.peer, nonsense) == -1);
    CHECK(fw_peer_pin(t, 7, FW_SPEAKS_W) == -1); // no such peer
    CHECK(t->pinned == 0);
    CHECK(fw_peer_sizes(t, board, b.peer, &own) == board);
    CHECK(fw_peer_sizes(t, board, ~0u, &own) == board);
    REQUIRE(fw_peer_pin(t, b.peer, 9000) == 0);
    CHECK(fw_peer_sizes(t, board, b.peer, &own) == &own);
    CHECK(own.reply == 8968);
    fw_peer_name(t, b.peer, "named:0"); // says nothing of dialects
    fw_peer_learn(t, b.peer, "learned:0");
    CHECK(fw_peer_sizes(t, board, b.peer, &own) == &own);

    fw_sizes room = *board;
    fw_peers_widen(t, &room);
    CHECK(room.frag == 8192);
    CHECK(room.reply == 8968);
    CHECK(room.payload_min == 8986);
    CHECK(room.dialect == board->dialect);
    CHECK(fw_sizes_widen(&room, board) == 0);

    fw_peers_unpin(t);
    CHECK(t->pinned == 0);
    CHECK(fw_peer_sizes(t, board, b.peer, &own) == board);
}

TEST_CASE("fw_demux__closed_endpoints_refuse")
{
    Bench b;
    for (uint8_t ep : {7, 31, 32, 255}) {
        std::string reason = ep >= 32 ? " 1" : " 2";
        CAPTURE(int(ep));
        for (uint8_t type : sequenced_types) {
            b.make(type, ep);
            REQUIRE(b.outcome() == "NACK_LIB" + reason);
        }
        b.make(EMX_CONNECT, ep);
        REQUIRE(b.outcome() == "NACK_LIB" + reason);
        b.make(EMX_CONNECT, ep).msg.u.connect.is_reply = 1;
        REQUIRE(b.outcome() == "drop: no such endpoint");
        b.make(EMX_PULL, ep);
        REQUIRE(b.outcome() == "NACK_MCP" + reason);
        for (uint8_t type : {EMX_TRUC, EMX_PULL_REPLY, EMX_NACK_LIB, EMX_NACK_MCP}) {
            b.make(type, ep);
            REQUIRE(b.outcome() == "drop: no such endpoint");
        }
    }
    REQUIRE(b.board.counters.v[EMX_CNT_RX_TINY] == 4);
    REQUIRE(b.endpoint.counters.v[EMX_CNT_RX_TINY] == 0);
}

TEST_CASE("fw_demux__pulls_of_the_other_dialect_are_refused_as_it_reads_refusals")
{
    for (const bool is_w : {true, false}) {
        Bench b;
        b.board.fw.sizes = is_w ? sizes_w() : sizes_n(9000);
        fw_window_open(b.endpoint.fw.get(), 7, 42, b.peer, 5, 100000);
        // The whole message, its first block, and its last.
        for (const uint32_t frame : {0, 3, 10})
            for (const auto &[endpoint, to, reason] :
                 {std::tuple{2, session, 4}, {2, session + 1, 3}, {7, 1u, 2}, {255, 1u, 1}}) {
                CAPTURE(is_w, frame, endpoint, reason);
                fw_pkt p = b.make(EMX_PULL, static_cast<uint8_t>(endpoint));
                p.msg.session = to;
                p.window = 7;
                p.msg.u.window.tag = 42;
                p.total = 100000;
                p.frame = frame;
                p.length = 5000;
                const Frame bytes = make_frame(is_w ? sizes_n(9000) : sizes_w(), p);
                const uint64_t counted = b.board.counters.v[EMX_CNT_DROP_DIALECT_PULL];
                REQUIRE(fw_check_for(&b.board.fw, mac_a, bytes.data(), static_cast<uint32_t>(bytes.size()),
                                     &b.pkt) == 0);
                REQUIRE(b.pkt.handle == p.handle);
                REQUIRE(b.pkt.magic == p.magic);
                REQUIRE(b.outcome() == "NACK_MCP " + std::to_string(reason));
                REQUIRE(b.board.counters.v[EMX_CNT_DROP_DIALECT_PULL] == counted + 1);
            }
    }
}

TEST_CASE("fw_demux__answers_to_forgeable_frames_are_bounded")
{
    // Whatever the type, endpoint and session, the answer is an ANSWER.
    int answers = 0;
    for (unsigned type = 0; type < 128; type++)
        for (uint8_t ep : {2, 7, 255})
            for (uint32_t to_session : {session, session + 1}) {
                CAPTURE(type, int(ep), to_session);
                Bench b;
                b.endpoint.fw->x_frame = 1514;
                b.make(static_cast<uint8_t>(type), ep, to_session);
                b.pkt.total = b.pkt.length = b.pkt.x.unit = 1;
                if (type >= EMX_RAW && fw_type_name(type))
                    b.give();
                CHECK(int(b.fx.kind) != FW_FX_TX);
                answers += b.fx.kind == FW_FX_ANSWER;
            }
    CHECK(answers > 40);
}

TEST_CASE("fw_may_answer__bounds_answers_at_once_and_in_a_second")
{
    fw_bucket bucket{};
    uint64_t now = GENERATE(uint64_t{0}, uint64_t{1} << 62);
    const auto taken = [&] {
        uint32_t n = 0;
        while (n < 2 * FW_ANSWERS && fw_may_answer(&bucket, now))
            n++;
        return n;
    };
    CHECK(taken() == FW_ANSWERS);
    CHECK(taken() == 0);
    now += 1000000000 / FW_ANSWERS;
    CHECK(taken() == 1);
    now += 500000000;
    CHECK(taken() == FW_ANSWERS / 2);
    now += uint64_t{3600} * 1000000000;
    CHECK(taken() == FW_ANSWERS); // no more for having waited
}

TEST_CASE("fw_demux__packets_of_the_extension")
{
    Bench b;
    auto outcome = [&](uint8_t type, uint8_t ep, uint32_t to_session) {
        b.make(type, ep, to_session);
        return b.outcome();
    };
    const std::string unused = "drop: extension not in use";
    const std::pair<uint8_t, const char *> closed[] = {{EMX_X_MEDIUM, "NACK_LIB 2"},
                                                       {EMX_X_REPORT, "drop: no such endpoint"},
                                                       {EMX_X_PULL, "NACK_MCP 2"},
                                                       {EMX_X_DATA, "drop: no such endpoint"},
                                                       {EMX_X_ADDRESS, "drop: no such endpoint"},
                                                       {EMX_X_PACK, "NACK_LIB 2"}};
    for (auto [type, want] : closed) {
        CAPTURE(fw_type_name(type));
        REQUIRE(outcome(type, 7, session) == want);
        REQUIRE(outcome(type, 2, session) == (type == EMX_X_REPORT ? "event"
                                              : type == EMX_X_DATA ? "drop: pull reply of no pull"
                                                                   : unused));
    }
    REQUIRE(outcome(EMX_X_MEDIUM, 2, session + 1) == "NACK_LIB 3");
    REQUIRE(outcome(EMX_X_PACK, 2, session + 1) == "NACK_LIB 3");
    REQUIRE(outcome(EMX_X_REPORT, 2, session + 1) == "drop: stale session");
    REQUIRE(outcome(EMX_X_PULL, 2, session + 1) == "NACK_MCP 3");
    REQUIRE(b.endpoint.counters.v[EMX_CNT_RX_X_MEDIUM] == 2);
    REQUIRE(b.board.counters.v[EMX_CNT_RX_X_PULL] == 1);
}

namespace {

/// An X MEDIUM of B, whole, with a checksum, as the engine has it.
Frame fragment(Bench &b, uint32_t bytes, uint32_t to_session)
{
    fw_pkt &p = b.make(EMX_X_MEDIUM, 2, to_session);
    p.tag = 1;
    p.msg.msg_len = p.msg.data_len = bytes;
    std::vector<uint8_t> data(bytes);
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = static_cast<uint8_t>(i * 3);
    Frame frame = make_frame(b.board.fw.sizes, p, data);
    fw_put_checksum(frame.data(), fw_crc32c(0, data.data(), bytes));
    return frame;
}

std::string outcome_of(Bench &b, const Frame &frame)
{
    const int why =
        fw_check(&b.board.fw.sizes, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &b.pkt);
    return why ? fw_counter_label(static_cast<unsigned>(why)) : b.outcome();
}

} // namespace

TEST_CASE("fw_rx__fragments_of_the_extension_and_their_checksums")
{
    Bench b;
    const std::string altered = "drop: wrong checksum";
    REQUIRE(outcome_of(b, fragment(b, 100, session)) == "drop: extension not in use");
    b.endpoint.fw->x_frag = 1000;
    REQUIRE(outcome_of(b, fragment(b, 1001, session)) == "drop: bad medium fragment");
    for (uint32_t bytes : {0u, 1u, 100u, 1000u}) {
        CAPTURE(bytes);
        const Frame good = fragment(b, bytes, session);
        REQUIRE(outcome_of(b, good) == "event");
        REQUIRE(b.fx.u.msg.type == EMX_X_MEDIUM);
        REQUIRE(b.fx.u.msg.data_len == bytes);
        Frame none = good;
        std::fill_n(none.begin() + 48, 4, uint8_t{0});
        REQUIRE(outcome_of(b, none) == "event");
        for (std::size_t at :
             {24, 28, 37, 48, 53}) { // number, match information, session, checksum, reserved
            CAPTURE(at);
            Frame other = good;
            other[at] ^= 4;
            REQUIRE(outcome_of(b, other) == altered);
        }
        if (bytes > 0) {
            Frame other = good;
            other[56 + bytes - 1] ^= 0x80;
            REQUIRE(outcome_of(b, other) == altered);
        }
    }
    REQUIRE(outcome_of(b, fragment(b, 100, session + 1)) == "NACK_LIB 3");
}

TEST_CASE("fw_send__fragments_of_the_extension")
{
    Bench b;
    emx_msg msg{};
    msg.type = EMX_X_MEDIUM;
    msg.peer = b.peer;
    msg.remote_ep = 5;
    msg.session = 7;
    msg.msg_len = 2000;
    msg.data_len = 1000;
    msg.u.medium.frag = 1;
    msg.u.medium.position = 1000;
    uint8_t header[EMX_HEADER_MAX];
    int counter = 0;
    REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 0); // a platform without X MEDIUM
    b.endpoint.fw->x_frag = 999;
    REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 0);
    b.endpoint.fw->x_frag = 1000;
    for (const uint8_t summed : {0, 1}) {
        Frame frame(1056, 0x5a);
        msg.u.medium.summed = summed;
        msg.u.medium.crc = fw_crc32c(0, &frame[56], 1000);
        REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 56);
        REQUIRE(counter == EMX_CNT_TX_X_MEDIUM);
        std::copy(header, header + 56, frame.begin());
        fw_pkt p;
        REQUIRE(fw_check(&b.board.fw.sizes, mac_b, frame.data(), 1056, &p) == 0);
        REQUIRE((p.x.checksum != 0) == (summed != 0));
        REQUIRE(fw_checksum_fits(&p, frame.data(), msg.u.medium.crc));
        REQUIRE(p.msg.u.medium.position == 1000);
    }
    msg.u.medium.position = 999;
    REQUIRE(fw_send(b.endpoint.fw.get(), &msg, header, &counter) == 0);
}

TEST_CASE("fw_demux__foreign_endpoints_are_left_alone")
{
    Bench b;
    b.board.fw.ep_state[7] = FW_EP_FOREIGN;
    for (unsigned type = EMX_TRUC; type <= EMX_NACK_MCP; type++) {
        b.make(static_cast<uint8_t>(type), 7);
        REQUIRE(b.outcome() == "drop: endpoint not ready");
    }
}

TEST_CASE("fw_rx__sessions")
{
    Bench b;
    for (uint8_t type : sequenced_types) {
        b.make(type);
        REQUIRE(b.outcome() == "event");
        b.make(type, 2, session + 1);
        REQUIRE(b.outcome() == "NACK_LIB 3");
        b.make(type, 2, EMX_SESSION_NONE);
        REQUIRE(b.outcome() == "NACK_LIB 3");
    }
    b.make(EMX_TRUC);
    REQUIRE(b.outcome() == "event");
    b.make(EMX_TRUC, 2, 1);
    REQUIRE(b.outcome() == "drop: stale session");
    b.make(EMX_PULL, 2, 1);
    REQUIRE(b.outcome() == "NACK_MCP 3");
    b.make(EMX_CONNECT, 2, 0);
    REQUIRE(b.outcome() == "event");
    b.make(EMX_CONNECT, 2, 1).msg.u.connect.is_reply = 1;
    REQUIRE(b.outcome() == "drop: answer to a stranger");
    b.make(EMX_CONNECT).msg.u.connect.is_reply = 1;
    REQUIRE(b.outcome() == "event");
    b.make(EMX_NACK_LIB, 2, 0);
    REQUIRE(b.outcome() == "event");
    REQUIRE(b.fx.u.msg.peer == b.peer);
    REQUIRE(b.endpoint.counters.v[EMX_CNT_RX_CONNECT] == 3);
}

TEST_CASE("fw_rx__pulls_meet_windows")
{
    Bench b;
    fw_window_open(b.endpoint.fw.get(), 7, 42, b.peer, 5, 100000);
    auto pull = [&]() -> fw_pkt & {
        fw_pkt &p = b.make(EMX_PULL);
        p.window = 7;
        p.msg.u.window.tag = 42;
        p.length = 4096;
        p.frame = 9;
        return p;
    };
    pull();
    REQUIRE(b.outcome() == "replies");
    REQUIRE(b.fx.u.replies.count == 1);
    REQUIRE(b.fx.u.replies.position == 36864);
    REQUIRE(b.fx.u.replies.reply.dst_mac == mac_b);
    REQUIRE(b.fx.u.replies.reply.tag == 3);
    pull().window = 8;
    REQUIRE(b.outcome() == "NACK_MCP 4");
    pull().window = 0x107; // dialect N can say it
    REQUIRE(b.outcome() == "NACK_MCP 4");
    pull().msg.u.window.tag = 41;
    REQUIRE(b.outcome() == "NACK_MCP 4");
    pull().msg.remote_ep = 6;
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_ANSWER);
    b.board.add_peer(0x02000000000c, 3);
    pull().src_mac = 0x02000000000c;
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_ANSWER);
    pull().frame = 24; // bytes 98304 .. 102399
    REQUIRE(b.outcome() == "drop: pull outside window");
    pull().frame = 24;
    b.pkt.length = 100000 - 98304;
    REQUIRE(b.outcome() == "replies");
    pull().frame = 24;
    b.pkt.length = 100000 - 98304 + 1;
    REQUIRE(b.outcome() == "drop: pull outside window");
    pull().msg.u.window.offset = 3840; // and frame 0 would begin before the message
    b.pkt.frame = 0;
    REQUIRE(b.outcome() == "drop: pull outside window");
    b.pkt.skip = 3840;
    REQUIRE(b.outcome() == "replies");
    REQUIRE(b.fx.u.replies.position == 0);
    REQUIRE(b.fx.u.replies.len_first == 256);
    REQUIRE(b.fx.u.replies.count == 2);
    pull().msg.u.window.offset = 0xffffffff;
    REQUIRE(b.outcome() == "drop: pull outside window");
    fw_window_close(b.endpoint.fw.get(), 7, 42);
    pull();
    REQUIRE(b.outcome() == "NACK_MCP 4");
}

TEST_CASE("fw_rx__section_15_18_reply_of_frame_9")
{
    Bench b;
    fw_window_open(b.endpoint.fw.get(), 7, 42, b.peer, 5, 3840 + 100000);
    b.make(EMX_PULL).window = 7;
    b.pkt.msg.u.window.tag = 42;
    b.pkt.msg.u.window.offset = 3840;
    b.pkt.frame = 8;
    b.pkt.length = 32768;
    REQUIRE(b.outcome() == "replies");
    REQUIRE(b.fx.u.replies.position == 28928);
    REQUIRE(b.fx.u.replies.count == 8);
    std::vector<uint8_t> window(3840 + 100000);
    Frame frame = reply_frames(b.board.fw.sizes, b.fx.u.replies, window.data())[1];
    REQUIRE(frame[17] == 9);
    REQUIRE((frame[22] << 8 | frame[23]) == 33024);
}

TEST_CASE("fw_rx__replies_of_no_pull")
{
    Bench b;
    emx_msg rndv{};
    rndv.peer = b.peer;
    rndv.remote_ep = 5;
    int slot = fw_pull_start(b.endpoint.fw.get(), &rndv, 100000, 1, 0);
    uint32_t handle = b.endpoint.fw->pull[slot].handle;
    fw_fx fx;
    while (fw_next(b.endpoint.fw.get(), 0, &fx)) {
    }
    auto reply = [&]() -> fw_pkt & {
        fw_pkt &p = b.make(EMX_PULL_REPLY);
        p.handle = handle;
        p.frame = 1;
        p.position = 4096;
        p.msg.data_len = 4096;
        return p;
    };
    reply().handle += 256;
    REQUIRE(b.outcome() == "drop: pull reply of no pull");
    reply().handle += 1;
    REQUIRE(b.outcome() == "drop: pull reply of no pull");
    reply().magic ^= 0x100;
    REQUIRE(b.outcome() == "drop: pull reply of no pull");
    b.board.add_peer(0x02000000000c);
    reply().src_mac = 0x02000000000c;
    REQUIRE(b.outcome() == "drop: pull reply of no pull");
    for (uint32_t position : {0u, 4095u, 4097u, 8192u, 0xffffffffu}) {
        reply().position = position;
        REQUIRE(b.outcome() == "drop: pull reply misplaced");
    }
    for (uint32_t length : {0u, 4095u, 4097u}) {
        reply().msg.data_len = length;
        REQUIRE(b.outcome() == "drop: pull reply misplaced");
    }
    for (uint32_t frame : {0u, 2u, 200u, 255u}) {
        reply().frame = frame;
        REQUIRE(b.outcome() == "drop: pull reply misplaced");
    }
    reply();
    REQUIRE(b.outcome() == "effect " + std::to_string(FW_FX_COPY));
    REQUIRE(b.fx.u.copy.source == 32);
    reply();
    REQUIRE(b.outcome() == "drop: pull reply repeated");
    reply().frame = 0;
    b.pkt.position = 0;
    REQUIRE(b.outcome() == "effect " + std::to_string(FW_FX_COPY));
    reply(); // now below the base
    REQUIRE(b.outcome() == "drop: pull reply repeated");
    b.make(EMX_NACK_MCP).handle = handle + 256;
    b.pkt.msg.u.nack.reason = 4;
    REQUIRE(b.outcome() == "drop: bad nack");
    b.make(EMX_NACK_MCP).handle = handle;
    b.pkt.magic ^= 0x100;
    REQUIRE(b.outcome() == "drop: bad nack");
    b.make(EMX_NACK_MCP).handle = handle;
    b.pkt.msg.u.nack.reason = 4;
    REQUIRE(b.outcome() == "event");
    REQUIRE(int(b.fx.u.msg.type) == EMX_EV_PULL_DONE);
    REQUIRE(int(b.fx.u.msg.u.pull.status) == EMX_PULL_BAD_WINDOW);
    reply().frame = 2;
    b.pkt.position = 8192;
    REQUIRE(b.outcome() == "drop: pull reply of no pull");
}

TEST_CASE("fw_demux__strangers")
{
    Bench b;
    const uint64_t stranger = 0x0200000000cc;
    for (unsigned type : {1, 3, 4, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45}) {
        bool may_come =
            type == EMX_RAW || type == EMX_HOST_QUERY || type == EMX_HOST_REPLY || type == EMX_CONNECT;
        b.board.fw.peers->open = 1;
        b.make(static_cast<uint8_t>(type)).src_mac = stranger;
        b.pkt.board = stranger;
        b.give();
        REQUIRE(int(b.fx.kind) == (may_come ? FW_FX_PEER : FW_FX_DROP));
        if (may_come)
            REQUIRE(b.fx.u.host.mac == stranger);
        b.board.fw.peers->open = 0;
        if (type == EMX_RAW) { // said to everybody
            b.give();
            REQUIRE(int(b.fx.kind) == FW_FX_NONE);
        } else {
            REQUIRE(b.outcome() == "drop: unknown peer");
        }
    }
    b.board.fw.peers->open = 1;
    b.make(EMX_CONNECT).src_mac = stranger;
    b.pkt.advert = 0x1234;
    b.give();
    REQUIRE(fw_peer_add(b.board.fw.peers, b.fx.u.host.mac) == 1);
    REQUIRE(b.outcome() == "event");
    REQUIRE(b.fx.u.msg.peer == 1);
    REQUIRE(b.board.fw.tags->tag[1] == 0x1234);
}

TEST_CASE("fw_demux__tags_are_hints")
{
    Bench b;
    b.board.add_peer(0x02000000000c);
    for (uint16_t tag : {0, 1, 2, 77, 0xffff}) {
        b.make(EMX_TINY).tag = tag;
        REQUIRE(b.outcome() == "event");
        REQUIRE(b.fx.u.msg.peer == b.peer);
    }
}

TEST_CASE("fw_demux__host_matters")
{
    Bench b;
    b.make(EMX_HOST_QUERY).advert = 0x55;
    b.pkt.magic = 0xabcdef01;
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_ANSWER);
    REQUIRE(b.fx.counter == EMX_CNT_TX_HOST_REPLY);
    Frame frame = tx_frame(b.fx);
    fw_pkt p;
    REQUIRE(fw_check(&b.board.fw.sizes, mac_b, frame.data(), static_cast<uint32_t>(frame.size()), &p) == 0);
    REQUIRE(int(p.msg.type) == EMX_HOST_REPLY);
    REQUIRE(std::string(p.name) == "node:0");
    REQUIRE(p.magic == 0xabcdef01);
    REQUIRE(p.advert == b.peer);
    REQUIRE(p.tag == 0x55);
    b.board.fw.answers_hosts = 0;
    b.make(EMX_HOST_QUERY).advert = 0x56;
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_NONE);
    REQUIRE(b.board.fw.tags->tag[b.peer] == 0x56);
    b.make(EMX_HOST_REPLY).magic = 1;
    REQUIRE(b.outcome() == "drop: answer to a stranger");
    b.make(EMX_HOST_REPLY).magic = b.board.fw.query_magic;
    b.pkt.advert = 0x57;
    std::memcpy(b.pkt.name, "other:0", 8);
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_NAME);
    REQUIRE(std::string(b.fx.u.host.name) == "other:0");
    REQUIRE(b.fx.u.host.peer == b.peer);
    REQUIRE(b.board.fw.tags->tag[b.peer] == 0x57);
    b.make(EMX_RAW).board = mac_b;
    b.pkt.src_mac = 0x0200000000ee; // the beacon counts, not the source
    b.pkt.serial = 9;
    b.give();
    REQUIRE(int(b.fx.kind) == FW_FX_BEACON);
    REQUIRE(b.fx.u.host.mac == mac_b);
    REQUIRE(b.fx.u.host.peer == b.peer);
    REQUIRE(b.fx.u.host.serial == 9);
    REQUIRE(b.board.counters.v[EMX_CNT_RX_HOST_QUERY] == 2);
    REQUIRE(b.board.counters.v[EMX_CNT_RX_RAW] == 1);
}

TEST_CASE("fw_send__checks_messages_of_the_library")
{
    Bench b;
    uint8_t header[EMX_HEADER_MAX];
    int counter = -1;
    emx_msg m{};
    auto send = [&] { return fw_send(b.endpoint.fw.get(), &m, header, &counter); };
    auto make = [&](uint8_t type, uint32_t msg_len = 0, uint32_t data_len = 0) {
        m = emx_msg{};
        m.type = type;
        m.remote_ep = 5;
        m.peer = b.peer;
        m.msg_len = msg_len;
        m.data_len = data_len;
    };
    make(EMX_TINY, 5, 5);
    REQUIRE(send() == 40);
    REQUIRE(counter == EMX_CNT_TX_TINY);
    REQUIRE(header[15] == 3); // tag
    REQUIRE(header[17] == 5); // to
    REQUIRE(header[18] == 2); // from
    m.peer = 1;
    REQUIRE(send() == 0);
    make(EMX_TINY, 33, 33);
    REQUIRE(send() == 0);
    make(EMX_SMALL, 128, 128);
    REQUIRE(send() == 40);
    make(EMX_SMALL, 128, 127);
    REQUIRE(send() == 0);
    make(EMX_MEDIUM, 5000, 904);
    m.u.medium.frag = 1;
    m.u.medium.position = 4096;
    REQUIRE(send() == 48);
    REQUIRE(header[43] == 12);
    m.data_len = 903;
    REQUIRE(send() == 0);
    make(EMX_RNDV, 0xffffffff);
    REQUIRE(send() == 48);
    m.data_len = 1;
    REQUIRE(send() == 0);
    make(EMX_CONNECT);
    m.u.connect.session = session;
    REQUIRE(send() == 48);
    REQUIRE(counter == EMX_CNT_TX_CONNECT);
    REQUIRE(header[27] == b.peer); // advert
    m.match = emx_offer(1, 1, 0, 9014, 32);
    REQUIRE(send() == 64);
    m.match = emx_offer(1, 2, 0, 9014, 32);
    REQUIRE(send() == 0);
    m.match = 0;
    m.u.connect.session = EMX_SESSION_NONE;
    REQUIRE(send() == 0);
    make(EMX_TRUC);
    REQUIRE(send() == 44);
    make(EMX_NOTIFY);
    REQUIRE(send() == 40);
    make(EMX_X_REPORT);
    m.data_len = EMX_X_STATE_LEN;
    REQUIRE(send() == 40);
    m.data_len = EMX_X_STATE_LEN + 1;
    REQUIRE(send() == 0);
    for (unsigned type : {0, 1, 2, 3, 4, 34, 41, 42, 45, 46, 111, 112, 114, 115, 116, 200, 255}) {
        make(static_cast<uint8_t>(type));
        REQUIRE(send() == 0);
    }
}

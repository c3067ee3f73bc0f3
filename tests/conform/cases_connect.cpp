// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: connecting, disconnecting, address contexts (API 3.9, checklist 10, 16, 20).
#include "kit.hpp"

namespace emx::conform {
namespace {

size_t other(const Rank &r) { return static_cast<size_t>(1 - r.id); }

CONFORM(connect_again_is_the_same_partner, 2, foreign)
{
    Net net = open_net(r);
    mx_endpoint_addr_t first = net.to[other(r)];
    int mark = 0;
    void *context = &mark;
    REQUIRE_OK(mx_get_endpoint_addr_context(first, &context));
    CHECK(context == nullptr);
    REQUIRE_OK(mx_set_endpoint_addr_context(first, &mark));
    mx_endpoint_addr_t again = connect_to(r, net.ep, net.nic[other(r)], net.eid[other(r)]);
    CHECK(std::memcmp(&first, &again, sizeof first) == 0);
    REQUIRE_OK(mx_get_endpoint_addr_context(again, &context));
    CHECK(context == &mark);
    uint64_t nic = 0;
    uint32_t eid = 0, s1 = 0, s2 = 1;
    REQUIRE_OK(mx_decompose_endpoint_addr2(first, &nic, &eid, &s1));
    REQUIRE_OK(mx_decompose_endpoint_addr2(again, &nic, &eid, &s2));
    CHECK_EQ(s1, s2);
    CHECK_EQ(nic, net.nic[other(r)]);
    CHECK_EQ(eid, net.eid[other(r)]);
    r.barrier();
}

CONFORM(context_of_the_address_is_seen_through_a_receive, 2, foreign)
{
    Net net = open_net(r);
    int mark = 0;
    REQUIRE_OK(mx_set_endpoint_addr_context(net.to[other(r)], &mark));
    send(r, net.ep, "x", 1, net.to[other(r)], 9);
    char c;
    mx_status_t s = recv(r, net.ep, &c, 1, 9);
    void *context = nullptr;
    REQUIRE_OK(mx_get_endpoint_addr_context(s.source, &context));
    CHECK(context == &mark);
    CHECK(std::memcmp(&s.source, &net.to[other(r)], sizeof s.source) == 0);
    r.barrier();
}

CONFORM(connect_to_a_closed_endpoint_fails_at_once, 2, foreign)
{
    Net net = open_net(r, false);
    double start = r.now_ms();
    mx_endpoint_addr_t a;
    CHECK_EQ(mx_connect(net.ep, net.nic[other(r)], 25, key, patience, &a), MX_CONNECTION_FAILED);
    CHECK_TOOK(start, 0, 100);
    r.barrier();
}

CONFORM(connect_with_the_wrong_key, 2, foreign)
{
    Net net = open_net(r, false);
    mx_endpoint_addr_t a;
    CHECK_EQ(mx_connect(net.ep, net.nic[other(r)], net.eid[other(r)], key + 1, patience, &a),
             MX_BAD_CONNECTION_KEY);
    r.barrier();
    a = connect_to(r, net.ep, net.nic[other(r)], net.eid[other(r)]); // and the right one still works
    send(r, net.ep, "x", 1, a, 1);
    char c;
    recv(r, net.ep, &c, 1, 1);
    r.barrier();
}

CONFORM(connect_to_an_impossible_number, 2, foreign)
{
    Net net = open_net(r, false);
    mx_endpoint_addr_t a;
    CHECK_EQ(mx_connect(net.ep, net.nic[other(r)], 200, key, patience, &a), MX_BAD_ENDPOINT_ID);
    r.barrier();
}

CONFORM(connect_to_an_unknown_nic, 1, any)
{
    Endpoint ep(r);
    double start = r.now_ms();
    mx_endpoint_addr_t a;
    mx_request_t q = nullptr;
    // Multicast addresses are never boards, whether the peer table is open or not.
    CHECK_EQ(mx_connect(ep, 0x0100deadbeefull, 0, key, patience, &a), MX_NIC_NOT_FOUND);
    CHECK_EQ(mx_connect(ep, 0, 0, key, patience, &a), MX_NIC_NOT_FOUND);
    CHECK_EQ(mx_iconnect(ep, 0x0100deadbeefull, 0, key, 1, nullptr, &q), MX_NIC_NOT_FOUND);
    CHECK_TOOK(start, 0, 100);
}

CONFORM(connect_times_out, 2, apart | foreign)
{
    Net net = open_net(r, false);
    if (r.id == 0)
        r.cut(true);
    r.barrier();
    if (r.id == 0) {
        double start = r.now_ms();
        mx_endpoint_addr_t a;
        CHECK_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], key, 300, &a), MX_TIMEOUT);
        CHECK_TOOK(start, 299, 1000);
        r.cut(false);
    }
    r.barrier();
}

CONFORM(connect_to_oneself, 1, any)
{
    Endpoint ep(r);
    mx_endpoint_addr_t a{};
    CHECK_EQ(mx_connect(ep, ep.nic(), ep.eid(), key + 5, patience, &a), MX_BAD_CONNECTION_KEY);
    REQUIRE_OK(mx_connect(ep, ep.nic(), ep.eid(), key, patience, &a));
    mx_endpoint_addr_t self = ep.self();
    CHECK(std::memcmp(&a, &self, sizeof a) == 0);
}

CONFORM(everybody_connects_to_everybody_at_once, 4, any)
{
    Net net = open_net(r, false);
    std::vector<mx_request_t> q(4, nullptr);
    for (size_t i = 0; i < 4; i++)
        if (static_cast<int>(i) != r.id)
            REQUIRE_OK(mx_iconnect(net.ep, net.nic[i], net.eid[i], key, i, nullptr, &q[i]));
    for (size_t i = 0; i < 4; i++) {
        if (static_cast<int>(i) == r.id)
            continue;
        mx_status_t s = finish_ok(r, net.ep, q[i]);
        CHECK_EQ(s.match_info, i);
        send(r, net.ep, &i, sizeof i, s.source, 100 + static_cast<uint64_t>(r.id));
    }
    for (size_t i = 0, got = 99; i < 4; i++)
        if (static_cast<int>(i) != r.id) {
            recv(r, net.ep, &got, sizeof got, 100 + i);
            CHECK_EQ(got, static_cast<size_t>(r.id));
        }
    r.barrier();
}

CONFORM(iconnect_status, 2, foreign)
{
    Net net = open_net(r, false);
    int mark = 0;
    mx_request_t q = nullptr;
    mx_status_t s{};
    uint32_t result = 0;
    REQUIRE_OK(mx_iconnect(net.ep, net.nic[other(r)], net.eid[other(r)], key, 0xabcd, &mark, &q));
    REQUIRE_OK(mx_wait_any(net.ep, patience, 0xabcd, all_bits, &s, &result));
    REQUIRE_EQ(result, 1u);
    CHECK_EQ(s.code, MX_STATUS_SUCCESS);
    CHECK_EQ(s.match_info, 0xabcdu);
    CHECK(s.context == &mark);
    CHECK_EQ(s.msg_length, 0u);
    CHECK_EQ(s.xfer_length, 0u);
    send(r, net.ep, "abc", 3, s.source, 4);
    char text[4] = {};
    recv(r, net.ep, text, 3, 4);
    CHECK_EQ(std::string(text), "abc");
    REQUIRE_OK(mx_iconnect(net.ep, net.nic[other(r)], net.eid[other(r)], key + 1, 1, nullptr, &q));
    CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_BAD_KEY);
    REQUIRE_OK(mx_iconnect(net.ep, net.nic[other(r)], 26, key, 1, nullptr, &q));
    CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_ENDPOINT_CLOSED);
    REQUIRE_OK(mx_iconnect(net.ep, net.nic[other(r)], 201, key, 1, nullptr, &q));
    CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_BAD_ENDPOINT);
    r.barrier();
}

CONFORM(iconnect_can_be_cancelled, 2, apart | foreign_second)
{
    Net net = open_net(r, false);
    if (r.id == 0)
        r.cut(true);
    r.barrier();
    if (r.id == 0) {
        mx_request_t q = nullptr;
        REQUIRE_OK(mx_iconnect(net.ep, net.nic[1], net.eid[1], key, 1, nullptr, &q));
        uint32_t result = 0;
        progress_for(r, net.ep, 20);
        CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_SUCCESS);
        CHECK_EQ(result, 1u);
        CHECK(q == nullptr);
        r.cut(false);
        mx_status_t s;
        REQUIRE_OK(mx_wait_any(net.ep, in_vain(r, 700), 0, 0, &s, &result)); // no completion comes
        CHECK_EQ(result, 0u);
        REQUIRE_OK(mx_iconnect(net.ep, net.nic[1], net.eid[1], key, 1, nullptr, &q));
        finish_ok(r, net.ep, q);
    }
    r.barrier();
}

CONFORM(a_computing_peer_answers_connects, 2, foreign)
{
    Net net = open_net(r, false);
    if (r.id == 0) {
        double start = r.now_ms();
        connect_to(r, net.ep, net.nic[1], net.eid[1]);
        CHECK_TOOK(start, 0, 500);
    }
    r.barrier(); // where the peer computes all the while
}

CONFORM(disconnect_own_zero_and_dead_addresses, 2, any)
{
    Net net = open_net(r);
    mx_endpoint_addr_t a = net.to[other(r)], zero{};
    CHECK_EQ(mx_disconnect(net.ep, zero), MX_SUCCESS);
    CHECK_EQ(mx_disconnect(net.ep, net.ep.self()), MX_SUCCESS);
    r.barrier();
    CHECK_EQ(mx_disconnect(net.ep, a), MX_SUCCESS);
    CHECK_EQ(mx_disconnect(net.ep, a), MX_SUCCESS);
    void *context = &a;
    CHECK_EQ(mx_set_endpoint_addr_context(a, nullptr), MX_SUCCESS);
    CHECK_EQ(mx_get_endpoint_addr_context(a, &context), MX_SUCCESS);
    char c = 'q', d = 0; // one's own address stays usable
    mx_request_t q = irecv(r, net.ep, &d, 1, 1);
    send(r, net.ep, &c, 1, net.ep.self(), 1);
    finish_ok(r, net.ep, q);
    CHECK_EQ(d, 'q');
    r.barrier();
}

CONFORM(disconnect_fails_what_is_pending, 2, foreign_second)
{
    Net net = open_net(r);
    std::vector<uint8_t> data(100000);
    if (r.id == 0) {
        mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
        mx_request_t sync = issend(r, net.ep, data.data(), 10, net.to[1], 2);
        progress_for(r, net.ep, 50);
        mx_endpoint_addr_t old = net.to[1];
        REQUIRE_OK(mx_disconnect(net.ep, old));
        mx_status_t s{};
        CHECK(completes(r, net.ep, large, 0, &s));
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK(completes(r, net.ep, sync, 0, &s));
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
        mx_request_t later = isend(r, net.ep, data.data(), 10, old, 3);
        s = finish(r, net.ep, later, patience);
        CHECK(s.code == MX_STATUS_ENDPOINT_UNREACHABLE || s.code == MX_STATUS_BAD_SESSION);
        mx_endpoint_addr_t again = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        send(r, net.ep, data.data(), 5, again, 4);
    } else {
        recv(r, net.ep, data.data(), 5, 4);
    }
    r.barrier();
}

CONFORM(disconnect_keeps_posted_receives_and_drops_unexpected, 2, any)
{
    Net net = open_net(r);
    if (r.id == 0) {
        send(r, net.ep, "old", 3, net.to[1], 1);
        r.barrier();
        r.barrier();
        mx_endpoint_addr_t again = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        send(r, net.ep, "new", 3, again, 2);
    } else {
        await_unexpected(r, net.ep, 1);
        char text[4] = {};
        mx_request_t q = irecv(r, net.ep, text, 3, 2);
        r.barrier();
        REQUIRE_OK(mx_disconnect(net.ep, net.to[0]));
        mx_status_t s;
        uint32_t result = 1;
        REQUIRE_OK(mx_iprobe(net.ep, 1, all_bits, &s, &result));
        CHECK_EQ(result, 0u);
        r.barrier();
        connect_to(r, net.ep, net.nic[0], net.eid[0]);
        finish_ok(r, net.ep, q);
        CHECK_EQ(std::string(text), "new");
    }
    r.barrier();
}

/// A send that its peer threw away by disconnecting ends when the peer is back; both know how the
/// other counts then.
void ends_at_the_sender(Rank &r)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(5, 100000), room(100000);
    if (r.id == 0) {
        mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
        mx_request_t sync = issend(r, net.ep, data.data(), 10, net.to[1], 2);
        CHECK_EQ(finish(r, net.ep, large).code, MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK_EQ(finish(r, net.ep, sync).code, MX_STATUS_ENDPOINT_UNREACHABLE);
    } else {
        await_unexpected(r, net.ep, 1);
        await_unexpected(r, net.ep, 2);
        REQUIRE_OK(mx_disconnect(net.ep, net.to[0]));
        net.to[0] = connect_to(r, net.ep, net.nic[0], net.eid[0]);
    }
    r.barrier();
    if (r.id == 0)
        net.to[1] = connect_to(r, net.ep, net.nic[1], net.eid[1]);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == r.id) {
            send(r, net.ep, data.data(), 100000, net.to[1 - r.id], 3);
        } else {
            recv(r, net.ep, room.data(), 100000, 3);
            CHECK_PATTERN(room, 5, 100000);
        }
    }
    r.barrier();
}

CONFORM(disconnect_ends_sends_that_wait_here, 2, any) { ends_at_the_sender(r); }

CONFORM(disconnect_ends_sends_without_extension, 2, bare)
{
    r.env("EMX_EXTENSION", "0");
    Session session(r);
    ends_at_the_sender(r);
}

/// Sends, which nobody takes for now, that end with a disconnect, and a message over a new connection.
void disconnect_and_return(Rank &r, Net &net, const std::function<void()> &before_connect)
{
    std::vector<uint8_t> data = pattern(6, 100000);
    mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
    mx_request_t sync = issend(r, net.ep, data.data(), 10, net.to[1], 2);
    progress_for(r, net.ep, 10);
    REQUIRE_OK(mx_disconnect(net.ep, net.to[1]));
    mx_status_t s{};
    CHECK(completes(r, net.ep, large, 0, &s));
    CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
    CHECK(completes(r, net.ep, sync, 0, &s));
    CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
    before_connect();
    net.to[1] = connect_to(r, net.ep, net.nic[1], net.eid[1]);
    mx_request_t last = issend(r, net.ep, data.data(), 5, net.to[1], 4);
    finish_ok(r, net.ep, last);
}

/// The peer finds all of the old life in its queue, and the new connect behind it.
CONFORM(disconnect_before_the_peer_has_looked, 2, foreign_second)
{
    Net net = open_net(r);
    for (int turn = 0; turn < 3; turn++) {
        r.barrier();
        if (r.id == 0) {
            r.freeze(1);
            disconnect_and_return(r, net, [&] { r.thaw(1); });
        } else {
            std::vector<uint8_t> data(5);
            recv(r, net.ep, data.data(), 5, 4);
            CHECK_PATTERN(data, 6, 5);
        }
    }
    r.barrier();
}

/// The peer never gets them, and counts as before until it is told otherwise.
void disconnect_behind_a_cut(Rank &r)
{
    Net net = open_net(r);
    r.barrier();
    if (r.id == 0) {
        r.cut(true);
        disconnect_and_return(r, net, [&] { r.cut(false); });
    } else {
        std::vector<uint8_t> data(5);
        recv(r, net.ep, data.data(), 5, 4);
        CHECK_PATTERN(data, 6, 5);
    }
    r.barrier();
}

CONFORM(disconnect_while_the_link_is_cut, 2, apart) { disconnect_behind_a_cut(r); }

CONFORM(disconnect_while_the_link_is_cut_without_extension, 2, bare | apart)
{
    r.env("EMX_EXTENSION", "0");
    Session session(r);
    disconnect_behind_a_cut(r);
}

CONFORM(reply_without_connecting_back, 2, foreign)
{
    Net net = open_net(r, false);
    char c = 0;
    std::vector<uint8_t> big = pattern(3, 200000), room(200000);
    if (r.id == 0) {
        mx_endpoint_addr_t a = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        send(r, net.ep, "q", 1, a, 1);
        recv(r, net.ep, &c, 1, 2);
        CHECK_EQ(c, 'a');
        recv(r, net.ep, room.data(), 200000, 3);
        CHECK_PATTERN(room, 3, 200000);
    } else {
        mx_status_t s = recv(r, net.ep, &c, 1, 1);
        send(r, net.ep, "a", 1, s.source, 2);
        send(r, net.ep, big.data(), 200000, s.source, 3);
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: what users see when peers, hosts and cables fail (API 3.8, 7; checklist 16, 17).
#include "kit.hpp"

namespace emx::conform {
namespace {

CONFORM(a_killed_peer_closes_pending_sends, 2, any)
{
    Net net = open_net(r);
    if (r.id == 1) {
        await_unexpected(r, net.ep, 2); // announced, and acknowledged soon
        r.barrier();
        progress_until_killed(r, net.ep);
    }
    std::vector<uint8_t> data(100000);
    char posted = 0;
    mx_request_t receive = irecv(r, net.ep, &posted, 1, 5);
    mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
    mx_request_t sync = issend(r, net.ep, data.data(), 10, net.to[1], 2);
    r.barrier();
    progress_for(r, net.ep, 100);
    r.kill(1);
    double start = r.now_ms();
    mx_request_t later = issend(r, net.ep, data.data(), 10, net.to[1], 3);
    CHECK_EQ(finish(r, net.ep, later).code, MX_STATUS_ENDPOINT_CLOSED);
    CHECK_EQ(finish(r, net.ep, large).code, MX_STATUS_ENDPOINT_CLOSED);
    CHECK_EQ(finish(r, net.ep, sync).code, MX_STATUS_ENDPOINT_CLOSED);
    CHECK_TOOK(start, 0, 5000);
    CHECK(stays_pending(r, net.ep, receive, 50)); // stays posted
    mx_endpoint_addr_t a;
    CHECK_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], key, patience, &a), MX_CONNECTION_FAILED);
}

CONFORM(a_killed_peer_closes_an_idle_rendezvous, 2, any)
{
    // No later send asks: the announced message alone must find out.
    Net net = open_net(r);
    if (r.id == 1) {
        await_unexpected(r, net.ep, 1);
        r.barrier();
        progress_until_killed(r, net.ep);
    }
    std::vector<uint8_t> data(100000);
    mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
    r.barrier();
    progress_for(r, net.ep, 100);
    r.kill(1);
    CHECK_EQ(finish(r, net.ep, large, 60000).code, MX_STATUS_ENDPOINT_CLOSED);
}

CONFORM(a_reopened_endpoint_is_another_session, 2, foreign)
{
    Net net = open_net(r);
    char c = 0;
    if (r.id == 1) {
        uint32_t eid = net.eid[1];
        net.ep.close();
        Endpoint again(r, eid);
        r.barrier();
        r.barrier();
        recv(r, again, &c, 1, 2);
        CHECK_EQ(c, 'n');
    } else {
        r.barrier();
        mx_request_t q = issend(r, net.ep, "o", 1, net.to[1], 1);
        CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_BAD_SESSION);
        q = isend(r, net.ep, "o", 1, net.to[1], 1);
        mx_status_t s = finish(r, net.ep, q); // may have been reported complete before the refusal
        CHECK(s.code == MX_STATUS_BAD_SESSION || s.code == MX_STATUS_SUCCESS);
        mx_endpoint_addr_t again = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        CHECK(std::memcmp(&again, &net.to[1], sizeof again) != 0);
        uint64_t nic;
        uint32_t eid, s1 = 0, s2 = 0;
        REQUIRE_OK(mx_decompose_endpoint_addr2(net.to[1], &nic, &eid, &s1));
        REQUIRE_OK(mx_decompose_endpoint_addr2(again, &nic, &eid, &s2));
        CHECK(s1 != s2);
        r.barrier();
        send(r, net.ep, "n", 1, again, 2);
    }
    r.barrier();
}

// The connect of a stranger does not outlive it (wire specification, 7.3).
CONFORM(a_connect_outlives_the_news_of_another_session, 2, foreign_second)
{
    // Both connect at once: the one that stayed learns of the other's new life while its own connect,
    // which the new life is to answer, is under way; with messages for the old life pending, and without.
    Net net = open_net(r);
    mx_endpoint_addr_t to = net.to[static_cast<size_t>(1 - r.id)];
    for (uint64_t round = 0; round < 20; round++) {
        mx_request_t old = nullptr;
        char c = 0;
        if (r.id == 1) {
            net.ep.close();
            net.ep = Endpoint(r, net.eid[1]);
        }
        r.barrier();
        if (r.id == 0 && round % 2)
            old = issend(r, net.ep, "o", 1, to, 1);
        const auto other = static_cast<size_t>(1 - r.id);
        to = connect_to(r, net.ep, net.nic[other], net.eid[other]);
        send(r, net.ep, "n", 1, to, 100 + round);
        recv(r, net.ep, &c, 1, 100 + round);
        CHECK_EQ(c, 'n');
        if (old)
            CHECK(finish(r, net.ep, old).code != MX_STATUS_SUCCESS);
        r.barrier();
    }
}

CONFORM(a_new_session_fails_what_went_to_the_old_one, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data(100000);
    char c = 0;
    if (r.id == 1) {
        await_unexpected(r, net.ep, 1);
        uint32_t eid = net.eid[1];
        net.ep.close();
        Endpoint again(r, eid);
        mx_endpoint_addr_t a = connect_to(r, again, net.nic[0], net.eid[0]);
        send(r, again, "h", 1, a, 2);
        recv(r, again, &c, 1, 3);
    } else {
        mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
        mx_status_t hello = recv(r, net.ep, &c, 1, 2);
        mx_status_t s = finish(r, net.ep, large);
        CHECK(s.code == MX_STATUS_ENDPOINT_UNREACHABLE || s.code == MX_STATUS_BAD_SESSION ||
              s.code == MX_STATUS_ENDPOINT_CLOSED);
        send(r, net.ep, "n", 1, hello.source, 3);
    }
    r.barrier();
}

CONFORM(a_frozen_peer_is_not_reported_early, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 50000), room(50000);
    if (r.id == 0) {
        r.barrier();
        r.freeze(1);
        mx_request_t small = issend(r, net.ep, data.data(), 100, net.to[1], 1);
        mx_request_t large = isend(r, net.ep, data.data(), 50000, net.to[1], 2);
        CHECK(stays_pending(r, net.ep, small, 2500));
        CHECK(!completes(r, net.ep, large, 0));
        r.thaw(1);
        finish_ok(r, net.ep, small);
        finish_ok(r, net.ep, large);
    } else {
        mx_request_t a = irecv(r, net.ep, room.data(), 100, 1);
        r.barrier();
        finish_ok(r, net.ep, a);
        recv(r, net.ep, room.data(), 50000, 2);
        CHECK_PATTERN(room, 1, 50000);
    }
    r.barrier();
}

CONFORM(a_computing_peer_keeps_receiving, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 10000), room(10000);
    if (r.id == 0) {
        double start = r.now_ms();
        std::vector<mx_request_t> eager;
        for (int i = 0; i < 100; i++)
            eager.push_back(isend(r, net.ep, data.data(), 10000, net.to[1], 2));
        for (mx_request_t &q : eager)
            finish_ok(r, net.ep, q);
        CHECK_TOOK(start, 0, 1500);
        r.barrier();
    } else {
        r.barrier(); // computes until all is sent
        for (int i = 0; i < 100; i++)
            recv(r, net.ep, room.data(), 10000, 2);
        CHECK_PATTERN(room, 1, 10000);
    }
    r.barrier();
}

CONFORM(an_away_sender_keeps_sending, 2, foreign)
{
    Net net = open_net(r);
    const uint32_t size = 1 << 20;
    std::vector<uint8_t> data = pattern(1, size), room(size);
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, data.data(), size, net.to[1], 1);
        r.barrier();
        r.barrier(); // away until all is received
        finish_ok(r, net.ep, q);
    } else {
        r.barrier();
        double start = r.now_ms();
        recv(r, net.ep, room.data(), size, 1);
        CHECK_TOOK(start, 0, 2500);
        CHECK_PATTERN(room, 1, size);
        r.barrier();
    }
    r.barrier();
}

CONFORM(request_timeout_is_at_least_half_a_second, 2, apart | foreign_second)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        double start = r.now_ms();
        mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
        REQUIRE_OK(mx_set_request_timeout(net.ep, q, 1));
        mx_status_t s{};
        CHECK(completes(r, net.ep, q, patience, &s));
        CHECK_TOOK(start, 490, 3500);
        CHECK(s.code == MX_STATUS_TIMEOUT || s.code == MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK_EQ(mx_set_request_timeout(net.ep, nullptr, 1000), MX_SUCCESS); // for later ones
        q = nullptr;
        mx_return_t code = mx_iconnect(net.ep, net.nic[1], net.eid[1], key, 1, nullptr, &q);
        REQUIRE_OK(code);
        CHECK(completes(r, net.ep, q, patience, &s));
        CHECK(s.code == MX_STATUS_TIMEOUT || s.code == MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK_EQ(mx_set_request_timeout(net.ep, nullptr, 0), MX_SUCCESS); // the default again
        r.cut(false);
    }
    r.barrier();
}

CONFORM(request_timeout_leaves_receives_alone, 1, any)
{
    Endpoint ep(r);
    mx_request_t q = irecv(r, ep, nullptr, 0, 1);
    REQUIRE_OK(mx_set_request_timeout(ep, q, 1));
    CHECK(stays_pending(r, ep, q, 1500));
    uint32_t result = 0;
    CHECK_EQ(mx_cancel(ep, &q, &result), MX_SUCCESS);
    CHECK_EQ(result, 1u);
}

CONFORM(a_short_cut_is_healed, 2, apart | foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 300000), room(300000);
    mx_request_t q = r.id == 1 ? irecv(r, net.ep, room.data(), 300000, 1) : nullptr;
    if (r.id == 0) {
        r.cut(true);
        mx_request_t large = isend(r, net.ep, data.data(), 300000, net.to[1], 1);
        mx_request_t small = isend(r, net.ep, data.data(), 100, net.to[1], 2);
        progress_for(r, net.ep, 1200);
        r.cut(false);
        finish_ok(r, net.ep, large);
        finish_ok(r, net.ep, small);
    } else {
        finish_ok(r, net.ep, q);
        CHECK_PATTERN(room, 1, 300000);
        recv(r, net.ep, room.data(), 300000, 2);
    }
    r.barrier();
}

CONFORM(exit_without_close_closes, 2, real | foreign_first)
{
    Net net = open_net(r);
    if (r.id == 1) {
        r.barrier();
        r.kill(1); // ends this process with everything open
    }
    r.barrier();
    mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
    CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_ENDPOINT_CLOSED);
}

CONFORM(a_receive_under_way_fails_when_the_sender_dies, 2, apart | foreign_first)
{
    Net net = open_net(r);
    const uint32_t size = 8 << 20;
    std::vector<uint8_t> data(size);
    if (r.id == 1) {
        mx_request_t q = isend(r, net.ep, data.data(), size, net.to[0], 1);
        r.barrier();
        finish(r, net.ep, q, 60000);
        return; // killed before
    }
    await_unexpected(r, net.ep, 1);
    r.barrier();
    r.cut(true); // it starts, and cannot come to its end
    mx_request_t q = irecv(r, net.ep, data.data(), size, 1);
    progress_for(r, net.ep, 20);
    uint32_t result = 7;
    CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u); // matched
    r.kill(1);
    r.cut(false);
    mx_status_t s = finish(r, net.ep, q, 30000);
    CHECK(s.code == MX_STATUS_ENDPOINT_CLOSED || s.code == MX_STATUS_ENDPOINT_UNREACHABLE ||
          s.code == MX_STATUS_ABORTED);
    CHECK_EQ(s.xfer_length, 0u);
    CHECK_EQ(s.msg_length, size);
}

CONFORM(a_dead_host_is_unreachable_after_the_limit, 2, apart | simulated)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        double start = r.now_ms();
        mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
        mx_status_t s = finish(r, net.ep, q, 2000000);
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK_TOOK(start, 400000, 700000);
        start = r.now_ms();
        mx_endpoint_addr_t a;
        CHECK_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], key, MX_INFINITE, &a), MX_TIMEOUT);
        CHECK_TOOK(start, 400000, 700000);
        r.cut(false);
        a = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        send(r, net.ep, "y", 1, a, 2);
    } else {
        char c = 0;
        mx_request_t q = irecv(r, net.ep, &c, 1, 2);
        mx_status_t s = finish(r, net.ep, q, 3000000);
        CHECK_EQ(s.code, MX_STATUS_SUCCESS);
        CHECK_EQ(c, 'y');
    }
    r.barrier();
}

CONFORM(a_peer_that_computes_for_long_is_not_dead, 2, simulated)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 50000), room(50000);
    if (r.id == 0) {
        mx_request_t small = isend(r, net.ep, data.data(), 100, net.to[1], 1);
        mx_request_t large = isend(r, net.ep, data.data(), 50000, net.to[1], 2);
        mx_request_t sync = issend(r, net.ep, data.data(), 10, net.to[1], 3);
        for (mx_request_t *q : {&small, &large, &sync})
            CHECK_EQ(finish(r, net.ep, *q, 2000000).code, MX_STATUS_SUCCESS);
    } else {
        r.sleep_ms(1200000);
        recv(r, net.ep, room.data(), 100, 1);
        recv(r, net.ep, room.data(), 50000, 2);
        CHECK_PATTERN(room, 1, 50000);
        recv(r, net.ep, room.data(), 10, 3);
    }
    r.barrier();
}

CONFORM(one_dead_peer_does_not_slow_others, 3, any)
{
    Net net = open_net(r);
    uint64_t v = 0;
    if (r.id == 2) {
        r.barrier();
        progress_until_killed(r, net.ep);
        return;
    }
    r.barrier();
    if (r.id == 0) {
        r.freeze(2);
        std::vector<uint8_t> data(1000);
        for (int i = 0; i < 200; i++)
            isend(r, net.ep, data.data(), 1000, net.to[2], 1);
        double start = r.now_ms();
        for (uint64_t i = 0; i < 200; i++) {
            send(r, net.ep, &i, sizeof i, net.to[1], 2);
            recv(r, net.ep, &v, sizeof v, 3);
            CHECK_EQ(v, i);
        }
        CHECK_TOOK(start, 0, 3000);
        r.kill(2);
    } else {
        for (uint64_t i = 0; i < 200; i++) {
            recv(r, net.ep, &v, sizeof v, 2);
            send(r, net.ep, &v, sizeof v, net.to[0], 3);
        }
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: life of a request: test, wait, any, peek, cancel, forget, ibuffered, wakeup
// (API 2.4, 2.5, 3.5, 3.6, 3.8; checklist 11 to 13, 15).
#include "kit.hpp"

#include <open-mx.h>

#include <algorithm>
#include <bit>

namespace emx::conform {
namespace {

size_t other(const Rank &r) { return static_cast<size_t>(1 - r.id); }

CONFORM(not_complete_leaves_the_status_alone, 1, any)
{
    Endpoint ep(r);
    mx_request_t q = irecv(r, ep, nullptr, 0, 1), copy = q;
    mx_status_t s{};
    s.msg_length = 4711;
    uint32_t result = 7;
    CHECK_EQ(mx_test(ep, &q, &s, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    result = 7;
    CHECK_EQ(mx_test_any(ep, 0, 0, &s, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    CHECK_EQ(s.msg_length, 4711u);
    CHECK(q == copy);
}

CONFORM(waits_time_out, 1, any)
{
    Endpoint ep(r);
    mx_request_t q = irecv(r, ep, nullptr, 0, 1), copy = q, peeked = nullptr;
    mx_status_t s{};
    s.msg_length = 4711;
    uint32_t result = 7;
    auto timed = [&](auto call) {
        double start = r.now_ms();
        result = 7;
        CHECK_EQ(call(), MX_SUCCESS);
        CHECK_EQ(result, 0u);
        CHECK_TOOK(start, 99, 300);
    };
    timed([&] { return mx_wait(ep, &q, 100, &s, &result); });
    timed([&] { return mx_wait_any(ep, 100, 0, 0, &s, &result); });
    timed([&] { return mx_peek(ep, 100, &peeked, &result); });
    CHECK(q == copy);
    CHECK_EQ(s.msg_length, 4711u);
    uint32_t cancelled = 0; // still pending and valid
    CHECK_EQ(mx_cancel(ep, &q, &cancelled), MX_SUCCESS);
    CHECK_EQ(cancelled, 1u);
}

CONFORM(peek_gives_the_oldest_until_it_is_reaped, 2, foreign)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier(); // the receives are posted
        for (uint64_t m : {3u, 1u, 2u})
            send(r, net.ep, &m, sizeof m, net.to[1], m);
    } else {
        uint64_t v[4];
        std::vector<mx_request_t> q(4);
        for (uint64_t m : {1u, 2u, 3u})
            q[m] = irecv(r, net.ep, &v[m], sizeof v[m], m, all_bits, &v[m]);
        r.barrier();
        for (uint64_t m : {3u, 1u, 2u}) {
            mx_request_t a = nullptr, b = nullptr;
            uint32_t result = 0;
            REQUIRE_OK(mx_peek(net.ep, patience, &a, &result));
            CHECK_EQ(result, 1u);
            REQUIRE_OK(mx_ipeek(net.ep, &b, &result));
            CHECK_EQ(result, 1u);
            CHECK(a == b);
            CHECK(a == q[m]); // the handle that irecv gave
            void *context = nullptr;
            CHECK_EQ(mx_context(&a, &context), MX_SUCCESS);
            CHECK(context == &v[m]);
            mx_status_t s{};
            REQUIRE_OK(mx_test(net.ep, &a, &s, &result));
            CHECK_EQ(result, 1u);
            CHECK(a == nullptr);
            CHECK_EQ(s.match_info, m);
            CHECK_EQ(v[m], m);
        }
        mx_request_t none = nullptr;
        uint32_t result = 1;
        REQUIRE_OK(mx_ipeek(net.ep, &none, &result));
        CHECK_EQ(result, 0u);
    }
    r.barrier();
}

CONFORM(test_any_covers_sends, 2, foreign)
{
    Net net = open_net(r);
    if (r.id == 0) {
        int a = 0, b = 0;
        mx_request_t first = isend(r, net.ep, "1", 1, net.to[1], 0x101, &a);
        isend(r, net.ep, "2", 1, net.to[1], 0x202, &b);
        mx_status_t s{};
        uint32_t result = 0;
        REQUIRE_OK(mx_wait_any(net.ep, patience, 0x200, 0xf00, &s, &result));
        REQUIRE_EQ(result, 1u);
        CHECK_EQ(s.match_info, 0x202u);
        CHECK(s.context == &b);
        REQUIRE_OK(mx_test_any(net.ep, 0x200, 0xf00, &s, &result));
        CHECK_EQ(result, 0u);
        REQUIRE_OK(mx_wait_any(net.ep, patience, 0x101, all_bits, &s, &result));
        CHECK_EQ(result, 1u);
        CHECK(s.context == &a);
        // The handle is dead now, and must not hit whatever takes its place.
        mx_request_t stale = first;
        mx_request_t fresh = irecv(r, net.ep, nullptr, 0, 5);
        CHECK_EQ(mx_test(net.ep, &stale, &s, &result), MX_BAD_REQUEST);
        stale = first;
        CHECK_EQ(mx_wait(net.ep, &stale, 50, &s, &result), MX_BAD_REQUEST);
        stale = first;
        void *context = nullptr;
        CHECK_EQ(mx_context(&stale, &context), MX_BAD_REQUEST);
        CHECK_EQ(mx_cancel(net.ep, &stale, &result), MX_BAD_REQUEST);
        CHECK_EQ(mx_cancel(net.ep, &fresh, &result), MX_SUCCESS);
        CHECK_EQ(result, 1u);
    } else {
        char c;
        recv(r, net.ep, &c, 1, 0x101);
        recv(r, net.ep, &c, 1, 0x202);
    }
    r.barrier();
}

CONFORM(completions_come_in_order, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t order[] = {4, 0, 3, 1, 2};
    uint64_t v[5];
    if (r.id == 1)
        for (uint64_t i = 0; i < 5; i++)
            irecv(r, net.ep, &v[i], sizeof v[i], i);
    r.barrier();
    if (r.id == 0) {
        for (uint64_t m : order)
            send(r, net.ep, &m, sizeof m, net.to[1], m);
    } else {
        for (uint64_t m : order) {
            mx_status_t s{};
            uint32_t result = 0;
            REQUIRE_OK(mx_wait_any(net.ep, patience, 0, 0, &s, &result));
            REQUIRE_EQ(result, 1u);
            CHECK_EQ(s.match_info, m);
        }
    }
    r.barrier();
}

CONFORM(copies_of_a_handle_work, 2, foreign)
{
    Net net = open_net(r);
    uint32_t value = 0;
    if (r.id == 0) {
        value = 42;
        send(r, net.ep, &value, sizeof value, net.to[1], 1);
    } else {
        auto stored = reinterpret_cast<uintptr_t>(irecv(r, net.ep, &value, sizeof value, 1));
        auto copy = reinterpret_cast<mx_request_t>(stored); // as a Java long would keep it
        finish_ok(r, net.ep, copy);
        CHECK_EQ(value, 42u);
    }
    r.barrier();
}

CONFORM(null_and_foreign_requests, 1, any)
{
    Endpoint a(r), b(r);
    mx_request_t none = nullptr, q = irecv(r, a, nullptr, 0, 1), copy = q;
    mx_status_t s{};
    uint32_t result = 7;
    void *context = nullptr;
    CHECK_EQ(mx_test(a, &none, &s, &result), MX_BAD_REQUEST);
    CHECK_EQ(result, 0u);
    CHECK_EQ(mx_wait(a, &none, 10, &s, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_cancel(a, &none, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_ibuffered(a, &none, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_forget(a, &none), MX_BAD_REQUEST);
    CHECK_EQ(mx_context(&none, &context), MX_BAD_REQUEST);
    CHECK_EQ(mx_test(b, &copy, &s, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_cancel(b, &copy, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_test(a, nullptr, &s, &result), MX_BAD_REQUEST);
    auto odd = reinterpret_cast<mx_request_t>(uintptr_t{0x1234567});
    CHECK_EQ(mx_test(a, &odd, &s, &result), MX_BAD_REQUEST);
    CHECK_EQ(mx_cancel(a, &q, &result), MX_SUCCESS);
    CHECK_EQ(result, 1u);
}

CONFORM(context_of_a_pending_request, 1, any)
{
    Endpoint ep(r);
    int mark = 0;
    mx_request_t q = irecv(r, ep, nullptr, 0, 1, all_bits, &mark);
    void *context = nullptr;
    CHECK_EQ(mx_context(&q, &context), MX_SUCCESS);
    CHECK(context == &mark);
    uint32_t result = 0;
    CHECK_EQ(mx_cancel(ep, &q, &result), MX_SUCCESS);
}

CONFORM(cancel_an_unmatched_receive, 2, foreign)
{
    Net net = open_net(r);
    char a = 0, b = 0;
    if (r.id == 1) {
        mx_request_t q = irecv(r, net.ep, &a, 1, 1);
        uint32_t result = 0;
        CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_SUCCESS);
        CHECK_EQ(result, 1u);
        CHECK(q == nullptr);
        mx_status_t s;
        REQUIRE_OK(mx_test_any(net.ep, 0, 0, &s, &result)); // no event, no status
        CHECK_EQ(result, 0u);
        q = irecv(r, net.ep, &b, 1, 1);
        r.barrier();
        finish_ok(r, net.ep, q);
        CHECK_EQ(a, 0);
        CHECK_EQ(b, 'x');
    } else {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
    }
    r.barrier();
}

CONFORM(cancel_comes_too_late, 2, foreign)
{
    Net net = open_net(r);
    char a = 0;
    if (r.id == 1) {
        mx_request_t q = irecv(r, net.ep, &a, 1, 1), copy = q;
        r.barrier();
        mx_request_t done = nullptr;
        uint32_t result = 0;
        REQUIRE_OK(mx_peek(net.ep, patience, &done, &result));
        CHECK(done == q);
        CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_SUCCESS);
        CHECK_EQ(result, 0u);
        CHECK(q == copy);
        finish_ok(r, net.ep, q);
        CHECK_EQ(a, 'x');
    } else {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
    }
    r.barrier();
}

CONFORM(cancel_of_a_send_is_refused, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 50000);
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, data.data(), 50000, net.to[1], 1), copy = q;
        uint32_t result = 7;
        CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_CANCEL_NOT_SUPPORTED);
        CHECK_EQ(result, 0u);
        CHECK(q == copy);
        finish_ok(r, net.ep, q);
    } else {
        std::vector<uint8_t> room(50000);
        recv(r, net.ep, room.data(), 50000, 1);
        CHECK_PATTERN(room, 1, 50000);
    }
    r.barrier();
}

CONFORM(forgotten_requests_still_happen, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 100000), room(100000);
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, data.data(), 100000, net.to[1], 1);
        CHECK_EQ(mx_forget(net.ep, &q), MX_SUCCESS);
        CHECK(q == nullptr);
        send(r, net.ep, "end", 3, net.to[1], 2);
        char c;
        recv(r, net.ep, &c, 1, 3); // the peer has it all: the buffer is free again
        mx_status_t s;
        uint32_t result = 0;
        REQUIRE_OK(mx_test_any(net.ep, 0, 0, &s, &result));
        CHECK_EQ(result, 0u);
    } else {
        mx_request_t q = irecv(r, net.ep, room.data(), 100000, 1);
        CHECK_EQ(mx_forget(net.ep, &q), MX_SUCCESS);
        CHECK(q == nullptr);
        char text[4] = {};
        recv(r, net.ep, text, 3, 2);
        progress_until(r, net.ep,
                       [&] { return verify(room.data(), 1, 100000) == 100000; }); // nothing tells when
        CHECK_PATTERN(room, 1, 100000);
        progress_for(r, net.ep, 20);
        mx_status_t s;
        uint32_t result = 0;
        REQUIRE_OK(mx_test_any(net.ep, 0, 0, &s, &result));
        CHECK_EQ(result, 0u);
        send(r, net.ep, "k", 1, net.to[0], 3);
    }
    r.barrier();
}

CONFORM(forget_a_complete_request, 1, any)
{
    Endpoint ep(r);
    char c = 0;
    mx_request_t s = isend(r, ep, "x", 1, ep.self(), 1);
    mx_request_t q = irecv(r, ep, &c, 1, 1);
    uint32_t result = 0;
    mx_request_t done = nullptr;
    REQUIRE_OK(mx_peek(ep, patience, &done, &result));
    CHECK_EQ(mx_forget(ep, &s), MX_SUCCESS);
    CHECK_EQ(mx_forget(ep, &q), MX_SUCCESS);
    mx_status_t status;
    REQUIRE_OK(mx_wait_any(ep, 50, 0, 0, &status, &result));
    CHECK_EQ(result, 0u);
    CHECK_EQ(c, 'x');
}

CONFORM(ibuffered_tells_when_the_buffer_is_free, 2, any)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 50000), room(50000);
    if (r.id == 0) {
        uint32_t result = 7;
        mx_request_t large = isend(r, net.ep, data.data(), 50000, net.to[1], 1);
        CHECK_EQ(mx_ibuffered(net.ep, &large, &result), MX_SUCCESS);
        CHECK_EQ(result, 0u);
        r.barrier();
        mx_request_t done = nullptr;
        REQUIRE_OK(mx_peek(net.ep, patience, &done, &result));
        CHECK(done == large);
        CHECK_EQ(mx_ibuffered(net.ep, &large, &result), MX_SUCCESS);
        CHECK_EQ(result, 1u); // complete
        finish_ok(r, net.ep, large); // and not reaped by the question
    } else {
        mx_request_t q = irecv(r, net.ep, room.data(), 50000, 9);
        uint32_t result = 7;
        CHECK_EQ(mx_ibuffered(net.ep, &q, &result), MX_BAD_REQUEST);
        CHECK_EQ(mx_cancel(net.ep, &q, &result), MX_SUCCESS);
        r.barrier();
        recv(r, net.ep, room.data(), 50000, 1);
    }
    r.barrier();
}

CONFORM(buffered_waits, 2, any)
{
    Net net = open_net(r);
    std::vector<uint8_t> data(50000);
    if (r.id == 0) {
        uint32_t result = 7;
        mx_request_t q = isend(r, net.ep, data.data(), 50000, net.to[1], 1);
        double start = r.now_ms();
        CHECK_EQ(mx_buffered(net.ep, &q, 100, &result), MX_SUCCESS);
        CHECK_EQ(result, 0u);
        CHECK_TOOK(start, 99, 300);
        r.barrier();
        CHECK_EQ(mx_buffered(net.ep, &q, patience, &result), MX_SUCCESS);
        CHECK_EQ(result, 1u);
        finish_ok(r, net.ep, q);
    } else {
        r.barrier();
        recv(r, net.ep, data.data(), 50000, 1);
    }
    r.barrier();
}

CONFORM(self_messages, 1, any)
{
    Endpoint ep(r);
    for (uint32_t length : {0u, 1u, 32u, 128u, 5000u, 32768u, 32769u, 200000u}) {
        std::vector<uint8_t> data = pattern(length, length), room(length + 1, 0xee);
        mx_request_t s = isend(r, ep, data.data(), length, ep.self(), 1);
        if (length <= 32768)
            finish_ok(r, ep, s); // buffered: before the receive is posted
        mx_request_t q = irecv(r, ep, room.data(), length + 1, 1);
        mx_status_t status = finish_ok(r, ep, q); // drives the send as well
        mx_endpoint_addr_t self = ep.self();
        CHECK(std::memcmp(&status.source, &self, sizeof self) == 0);
        CHECK_EQ(status.xfer_length, length);
        CHECK_PATTERN(room, length, length);
        CHECK_EQ(room[length], 0xee);
        if (s)
            finish_ok(r, ep, s);
    }
}

CONFORM(synchronous_self_send_waits_for_the_match, 1, any)
{
    Endpoint ep(r);
    for (uint32_t length : {0u, 10u, 50000u}) {
        std::vector<uint8_t> data = pattern(1, length), room(length);
        mx_request_t s = issend(r, ep, data.data(), length, ep.self(), 1);
        CHECK(stays_pending(r, ep, s, 30));
        mx_request_t q = irecv(r, ep, room.data(), length, 1);
        finish_ok(r, ep, q);
        finish_ok(r, ep, s);
        CHECK_PATTERN(room, 1, length);
    }
}

CONFORM(self_messages_keep_their_order, 1, any)
{
    Endpoint ep(r);
    const uint32_t sizes[] = {40000, 0, 100, 32768, 5, 70000};
    std::vector<std::vector<uint8_t>> data, room;
    std::vector<mx_request_t> s, q;
    for (uint64_t i = 0; i < 6; i++) {
        data.push_back(pattern(i, sizes[i]));
        room.emplace_back(sizes[i]);
        s.push_back(i % 2 ? issend(r, ep, data[i].data(), sizes[i], ep.self(), i)
                          : isend(r, ep, data[i].data(), sizes[i], ep.self(), i));
    }
    for (uint64_t i = 0; i < 6; i++)
        q.push_back(irecv(r, ep, room[i].data(), sizes[i], 0, 0));
    for (uint64_t i = 0; i < 6; i++) {
        CHECK_EQ(finish_ok(r, ep, q[i]).match_info, i);
        finish_ok(r, ep, s[i]);
        CHECK_PATTERN(room[i], i, sizes[i]);
    }
}

CONFORM(truncated_self_message, 1, any)
{
    Endpoint ep(r);
    std::vector<uint8_t> data = pattern(1, 50000), room(50000, 0xee);
    for (uint32_t length : {100u, 50000u}) {
        mx_request_t s = isend(r, ep, data.data(), length, ep.self(), 1);
        mx_request_t q = irecv(r, ep, room.data(), 60, 1);
        mx_status_t status = finish(r, ep, q);
        CHECK_EQ(status.code, MX_STATUS_TRUNCATED);
        CHECK_EQ(status.xfer_length, 60u);
        CHECK_EQ(status.msg_length, length);
        CHECK_PATTERN(room, 1, 60);
        CHECK_EQ(room[60], 0xee);
        status = finish(r, ep, s);
        CHECK_EQ(status.code, length > 32768 ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
    }
}

/// Calls of the error handlers of both layers, and the last code.
struct Heard {
    int calls = 0;
    int code = 0;
} heard;

mx_return_t hear(char *, mx_return_t code)
{
    heard = {heard.calls + 1, static_cast<int>(code)};
    return code;
}

omx_return_t omx_hear(const char *, omx_return_t code)
{
    heard = {heard.calls + 1, static_cast<int>(code)};
    return code;
}

/// A request that ends in some way, and its status. Both layers have the same handles.
struct Ending {
    mx_endpoint_t ep;
    mx_request_t q;
    uint64_t match;
    uint32_t result = 0;
    mx_status_t mx{};
    omx_status_t omx{};
    omx_endpoint_t omx_ep = reinterpret_cast<omx_endpoint_t>(ep);
    omx_request_t *omx_q = reinterpret_cast<omx_request_t *>(&q);
};

/// A way to reap a request. `waits`: also one that has not ended yet. `tells`: gives a status.
struct Way {
    const char *name;
    bool second_layer, waits, tells;
    int (*reap)(Ending &e);
};

const Way ways[] = {
    {"mx_test", false, false, true, [](Ending &e) -> int { return mx_test(e.ep, &e.q, &e.mx, &e.result); }},
    {"mx_wait", false, true, true,
     [](Ending &e) -> int { return mx_wait(e.ep, &e.q, patience, &e.mx, &e.result); }},
    {"mx_test_any", false, false, true,
     [](Ending &e) -> int { return mx_test_any(e.ep, e.match, all_bits, &e.mx, &e.result); }},
    {"mx_wait_any", false, true, true,
     [](Ending &e) -> int { return mx_wait_any(e.ep, patience, e.match, all_bits, &e.mx, &e.result); }},
    {"mx_ipeek", false, false, true,
     [](Ending &e) -> int {
         return mx_ipeek(e.ep, &e.q, &e.result) + mx_test(e.ep, &e.q, &e.mx, &e.result);
     }},
    {"mx_peek", false, true, true,
     [](Ending &e) -> int {
         return mx_peek(e.ep, patience, &e.q, &e.result) + mx_wait(e.ep, &e.q, patience, &e.mx, &e.result);
     }},
    {"mx_forget", false, false, false, [](Ending &e) -> int { return mx_forget(e.ep, &e.q); }},
    {"omx_test", true, false, true,
     [](Ending &e) -> int { return omx_test(e.omx_ep, e.omx_q, &e.omx, &e.result); }},
    {"omx_wait", true, true, true,
     [](Ending &e) -> int { return omx_wait(e.omx_ep, e.omx_q, &e.omx, &e.result, patience); }},
    {"omx_wait for nothing", true, false, true,
     [](Ending &e) -> int { return omx_wait(e.omx_ep, e.omx_q, &e.omx, &e.result, 0); }},
    {"omx_test_any", true, false, true,
     [](Ending &e) -> int { return omx_test_any(e.omx_ep, e.match, all_bits, &e.omx, &e.result); }},
    {"omx_wait_any", true, true, true,
     [](Ending &e) -> int { return omx_wait_any(e.omx_ep, e.match, all_bits, &e.omx, &e.result, patience); }},
    {"omx_wait_any for nothing", true, false, true,
     [](Ending &e) -> int { return omx_wait_any(e.omx_ep, e.match, all_bits, &e.omx, &e.result, 0); }},
    {"omx_ipeek", true, false, true,
     [](Ending &e) -> int {
         return omx_ipeek(e.omx_ep, e.omx_q, &e.result) + omx_test(e.omx_ep, e.omx_q, &e.omx, &e.result);
     }},
    {"omx_peek", true, true, true,
     [](Ending &e) -> int {
         return omx_peek(e.omx_ep, e.omx_q, &e.result, patience) +
                omx_wait(e.omx_ep, e.omx_q, &e.omx, &e.result, patience);
     }},
    {"omx_forget", true, false, false, [](Ending &e) -> int { return omx_forget(e.omx_ep, e.omx_q); }},
};

/// An end that is no success, with its codes as a status of each layer and as the handler hears it; 0: not.
struct End {
    const char *name;
    int code, omx_code, handler_code;
    std::function<mx_request_t(uint64_t match, void *context)> post;
};

/// Ways to end requests of rank 0, whose way to the other one is cut.
std::vector<End> all_ends(Rank &r, Net &net)
{
    static char much[5] = "1234", little[2], large[100000];
    auto cancelled = [&r, &net](mx_request_t q) {
        uint32_t result = 0;
        auto *both = reinterpret_cast<omx_request_t *>(&q);
        CHECK_EQ(omx_cancel_notest(reinterpret_cast<omx_endpoint_t>(mx_endpoint_t{net.ep}), both, &result),
                 OMX_SUCCESS);
        CHECK_EQ(result, 1u);
        return q;
    };
    auto timed_out = [&r, &net](mx_request_t q) {
        REQUIRE_OK(mx_set_request_timeout(net.ep, q, 1));
        return q;
    };
    auto connect = [&r, &net](uint64_t match, void *context) {
        mx_request_t q = nullptr;
        REQUIRE_OK(mx_iconnect(net.ep, net.nic[1], net.eid[1], key, match, context, &q));
        return q;
    };
    /// Ends a message to ourselves, whose other end is done with.
    auto without = [&r, &net](mx_request_t q, mx_request_t peer) {
        finish(r, net.ep, peer);
        return q;
    };
    return {
        {"cancelled receive", MX_STATUS_CANCELLED, OMX_CANCELLED, 0,
         [=, &r, &net](uint64_t m, void *c) {
             return cancelled(irecv(r, net.ep, little, 2, m, all_bits, c));
         }},
        {"cancelled connect", MX_STATUS_CANCELLED, OMX_CANCELLED, 0,
         [=](uint64_t m, void *c) { return cancelled(connect(m, c)); }},
        {"timed out connect", MX_STATUS_TIMEOUT, OMX_TIMEOUT, MX_TIMEOUT,
         [=](uint64_t m, void *c) { return timed_out(connect(m, c)); }},
        {"timed out synchronous send", MX_STATUS_TIMEOUT, OMX_TIMEOUT, MX_TIMEOUT,
         [=, &r, &net](uint64_t m, void *c) {
             return timed_out(issend(r, net.ep, much, 5, net.to[1], m, c));
         }},
        {"timed out large send", MX_STATUS_TIMEOUT, OMX_TIMEOUT, MX_TIMEOUT,
         [=, &r, &net](uint64_t m, void *c) {
             return timed_out(isend(r, net.ep, large, 100000, net.to[1], m, c));
         }},
        {"truncated receive", MX_STATUS_TRUNCATED, OMX_MESSAGE_TRUNCATED, OMX_MESSAGE_TRUNCATED,
         [=, &r, &net](uint64_t m, void *c) {
             mx_request_t q = irecv(r, net.ep, little, 2, m, all_bits, c);
             return without(q, isend(r, net.ep, much, 5, net.ep.self(), m));
         }},
        {"truncated synchronous receive", MX_STATUS_TRUNCATED, OMX_MESSAGE_TRUNCATED, OMX_MESSAGE_TRUNCATED,
         [=, &r, &net](uint64_t m, void *c) {
             mx_request_t q = irecv(r, net.ep, little, 2, m, all_bits, c);
             return without(q, issend(r, net.ep, much, 5, net.ep.self(), m));
         }},
        {"truncated synchronous send", MX_STATUS_TRUNCATED, OMX_MESSAGE_TRUNCATED, OMX_MESSAGE_TRUNCATED,
         [=, &r, &net](uint64_t m, void *c) {
             mx_request_t q = issend(r, net.ep, much, 5, net.ep.self(), m, c);
             return without(q, irecv(r, net.ep, little, 2, m));
         }},
    };
}

void reap(Rank &r, mx_endpoint_t ep, const Way &way, const End &end, uint64_t match)
{
    auto want = [&](int got, int wanted, const char *what) {
        if (got != wanted)
            r.fail(__FILE__, __LINE__,
                   std::string(way.name) + ", " + end.name + ": " + what + ": got " + show(got) + ", want " +
                       show(wanted));
    };
    int mark = 0;
    mx_set_error_handler(client_errors_return);
    Ending e{ep, end.post(match, &mark), match};
    mx_request_t ended = nullptr;
    if (!way.waits)
        REQUIRE_OK(mx_peek(ep, patience, &ended, &e.result));
    if (way.second_layer)
        omx_set_error_handler(nullptr, omx_hear);
    else
        mx_set_error_handler(hear);
    heard = {};
    want(way.reap(e), 0, "call");
    want(heard.calls, end.handler_code ? 1 : 0, "calls of the handler");
    want(heard.code, end.handler_code, "code for the handler");
    want(e.q == nullptr || std::strstr(way.name, "any"), 1, "handle gone");
    if (!way.tells)
        return;
    const mx_status_t told = way.second_layer ? std::bit_cast<mx_status_t>(e.omx) : e.mx;
    want(static_cast<int>(e.result), 1, "result");
    want(static_cast<int>(told.code), way.second_layer ? end.omx_code : end.code, "status");
    want(told.match_info == match, 1, "match information");
    want(told.context == &mark, 1, "context");
}

CONFORM(requests_that_fail_reach_the_handler_and_cancelled_ones_do_not, 2, simulated | apart)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        uint64_t match = 100;
        for (const Way &way : ways)
            for (const End &end : all_ends(r, net))
                reap(r, net.ep, way, end, ++match);
        mx_set_error_handler(client_errors_return);
        r.cut(false);
    }
    r.barrier();
}

CONFORM(disabled_progression_takes_nothing_in, 2, any)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
        r.barrier();
    } else {
        REQUIRE_OK(mx_disable_progression(net.ep));
        char c = 0;
        mx_request_t q = irecv(r, net.ep, &c, 1, 1);
        r.barrier();
        r.barrier();
        CHECK(stays_pending(r, net.ep, q, 50));
        REQUIRE_OK(mx_reenable_progression(net.ep));
        finish_ok(r, net.ep, q);
        CHECK_EQ(c, 'x');
        REQUIRE_OK(mx_disable_progression(net.ep)); // a flag, not a counter
        REQUIRE_OK(mx_disable_progression(net.ep));
        REQUIRE_OK(mx_reenable_progression(net.ep));
        send(r, net.ep, "y", 1, net.ep.self(), 2);
        recv(r, net.ep, &c, 1, 2);
    }
    r.barrier();
}

CONFORM(complete_requests_are_told_while_progression_is_disabled, 1, any)
{
    Endpoint ep(r);
    mx_request_t s = isend(r, ep, "x", 1, ep.self(), 1);
    REQUIRE_OK(mx_disable_progression(ep));
    mx_request_t done = nullptr;
    uint32_t result = 0;
    REQUIRE_OK(mx_ipeek(ep, &done, &result));
    CHECK_EQ(result, 1u);
    CHECK(done == s);
    CHECK(completes(r, ep, s, 0));
    REQUIRE_OK(mx_reenable_progression(ep));
}

CONFORM(a_wakeup_is_not_remembered, 1, any)
{
    Endpoint ep(r);
    REQUIRE_OK(mx_wakeup(ep));
    double start = r.now_ms();
    mx_status_t s;
    uint32_t result = 1;
    REQUIRE_OK(mx_wait_any(ep, 100, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    CHECK_TOOK(start, 99, 300);
}

CONFORM(close_with_everything_pending, 2, any)
{
    Net net = open_net(r);
    std::vector<uint8_t> data(100000), room(100000);
    irecv(r, net.ep, room.data(), 100000, 99);
    if (r.id == 0) {
        isend(r, net.ep, data.data(), 100000, net.to[1], 1);
        issend(r, net.ep, data.data(), 1, net.to[1], 2);
        mx_request_t q = nullptr;
        REQUIRE_OK(mx_iconnect(net.ep, net.nic[other(r)], net.eid[other(r)], key, 1, nullptr, &q));
    }
    r.barrier();
    CHECK_EQ(net.ep.close(), MX_SUCCESS);
    Endpoint again(r);
    r.barrier();
}

CONFORM(close_delivers_what_was_reported_sent, 2, any)
{
    Net net = open_net(r);
    const uint64_t count = 40;
    if (r.id == 0) {
        for (uint64_t i = 0; i < count; i++)
            send(r, net.ep, &i, sizeof i, net.to[1], i);
        CHECK_EQ(net.ep.close(), MX_SUCCESS);
    } else {
        uint64_t got = 0;
        for (uint64_t i = 0; i < count; i++) {
            recv(r, net.ep, &got, sizeof got, i);
            CHECK_EQ(got, i);
        }
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

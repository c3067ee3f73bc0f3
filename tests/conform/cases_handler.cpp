// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: the unexpected handler (API 3.10, checklist 14).
#include "kit.hpp"

#include <functional>

namespace emx::conform {
namespace {

/// Record of what a handler saw; the action decides.
struct Seen {
    Rank *r = nullptr;
    mx_endpoint_t ep = nullptr;
    int calls = 0;
    std::vector<uint64_t> matches;
    std::vector<uint32_t> lengths;
    std::vector<bool> data;
    mx_endpoint_addr_t source{};
    std::function<mx_unexp_handler_action_t(uint64_t match, uint32_t length, void *data)> act;
};

mx_unexp_handler_action_t handler(void *context, mx_endpoint_addr_t source, uint64_t match, uint32_t length,
                                  void *data)
{
    auto *seen = static_cast<Seen *>(context);
    seen->calls++;
    seen->matches.push_back(match);
    seen->lengths.push_back(length);
    seen->data.push_back(data != nullptr);
    seen->source = source;
    return seen->act ? seen->act(match, length, data) : MX_RECV_CONTINUE;
}

CONFORM(handler_is_called_once_per_message, 2, foreign_first)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {0, 32, 128, 129, 1024, 32768, 32769, 200000};
    const size_t count = sizeof sizes / sizeof *sizes;
    std::vector<uint8_t> room(200000);
    if (r.id == 0) {
        r.barrier();
        std::vector<mx_request_t> q;
        for (size_t i = 0; i < count; i++)
            q.push_back(isend(r, net.ep, room.data(), sizes[i], net.to[1], i));
        q.push_back(issend(r, net.ep, room.data(), 10, net.to[1], count));
        for (mx_request_t &s : q)
            finish_ok(r, net.ep, s);
    } else {
        Seen seen;
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, count);
        progress_for(r, net.ep, 50);
        REQUIRE_EQ(seen.calls, static_cast<int>(count) + 1);
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(seen.matches[i], i);
            CHECK_EQ(seen.lengths[i], sizes[i]);
            if (sizes[i] <= 512) // the shortest that the model peer's first fragments are
                CHECK(seen.data[i]);
            if (sizes[i] > 32768)
                CHECK(!seen.data[i]);
        }
        CHECK(!seen.data[count]); // synchronous
        CHECK(std::memcmp(&seen.source, &net.to[0], sizeof seen.source) == 0);
        for (size_t i = 0; i <= count; i++)
            recv(r, net.ep, room.data(), 200000, i);
        CHECK_EQ(seen.calls, static_cast<int>(count) + 1);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_is_shown_what_fits_one_packet, 2, any)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {0, 32, 33, 128, 129, 1024, r.fragment()}; // Open MPI relies on it up to 1024
    const size_t count = std::size(sizes);
    std::vector<uint8_t> room(r.fragment());
    if (r.id == 0) {
        r.barrier();
        for (size_t i = 0; i < count; i++)
            send(r, net.ep, room.data(), sizes[i], net.to[1], i);
    } else {
        Seen seen;
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, count - 1);
        REQUIRE_EQ(seen.calls, static_cast<int>(count));
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(seen.lengths[i], sizes[i]);
            CHECK(seen.data[i]);
        }
        for (size_t i = 0; i < count; i++)
            recv(r, net.ep, room.data(), sizes[i], i);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_is_shown_the_same_by_every_way, 2, bare)
{
    const uint32_t packet = r.fragment();
    const struct {
        uint32_t length;
        bool synchronous, shown;
    } messages[] = {{0, false, true},      {32, false, true},          {128, false, true},
                    {packet, false, true}, {packet + 1, false, false}, {32768, false, false},
                    {32769, false, false}, {0, true, false},           {32, true, false},
                    {5000, true, false},   {32769, true, false}};
    const size_t count = std::size(messages);
    for (const char *self_off : {static_cast<const char *>(nullptr), "1"})
        for (const char *memory_off : {static_cast<const char *>(nullptr), "1"}) {
            r.env("OMX_DISABLE_SELF", self_off);
            r.env("OMX_DISABLE_SHARED", memory_off);
            Session session(r);
            Net net = open_net(r); // nobody connects to itself
            const std::vector<uint8_t> data = pattern(1, 32769);
            std::vector<uint8_t> room(data.size());
            Seen seen;
            seen.act = [&](uint64_t match, uint32_t length, void *p) {
                CHECK_EQ(length, messages[match % count].length);
                CHECK_EQ(p != nullptr, messages[match % count].shown);
                CHECK(!p || verify(static_cast<uint8_t *>(p), 1, length) == length);
                CHECK(p != data.data()); // it is the sender's
                return MX_RECV_CONTINUE;
            };
            REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
            r.barrier();
            std::vector<mx_request_t> sends;
            for (size_t i = 0; i < 2 * count; i++)
                sends.push_back((messages[i % count].synchronous ? issend : isend)(
                    r, net.ep, data.data(), messages[i % count].length, net.to[i / count], i, nullptr));
            progress_until(r, net.ep, [&] { return seen.calls == static_cast<int>(2 * count); });
            REQUIRE_EQ(seen.calls, static_cast<int>(2 * count));
            for (size_t i = 0; i < 2 * count; i++) // of ourselves and of the other rank
                recv(r, net.ep, room.data(), 32769, static_cast<size_t>(r.id) * count + i % count);
            for (mx_request_t &q : sends)
                finish_ok(r, net.ep, q);
            r.barrier();
        }
}

CONFORM(handler_does_not_see_expected_or_earlier_messages, 2, foreign_first)
{
    Net net = open_net(r);
    char c = 0;
    if (r.id == 0) {
        send(r, net.ep, "a", 1, net.to[1], 1);
        r.barrier();
        r.barrier();
        send(r, net.ep, "b", 1, net.to[1], 2);
        send(r, net.ep, "c", 1, net.to[1], 3);
    } else {
        await_unexpected(r, net.ep, 1);
        r.barrier();
        Seen seen;
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        mx_request_t q = irecv(r, net.ep, &c, 1, 2);
        r.barrier();
        finish_ok(r, net.ep, q);
        await_unexpected(r, net.ep, 3);
        CHECK_EQ(seen.calls, 1);
        recv(r, net.ep, &c, 1, 1);
        recv(r, net.ep, &c, 1, 3);
        CHECK_EQ(seen.calls, 1);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_posts_the_receive, 2, foreign_first)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {0, 20, 1000, 32768, 100000};
    if (r.id == 0) {
        r.barrier();
        for (uint32_t length : sizes) {
            std::vector<uint8_t> data = pattern(length, length);
            send(r, net.ep, data.data(), length, net.to[1], length);
        }
    } else {
        Seen seen;
        seen.ep = net.ep;
        std::vector<std::vector<uint8_t>> rooms;
        std::vector<mx_request_t> q;
        seen.act = [&](uint64_t match, uint32_t length, void *) {
            rooms.emplace_back(length);
            mx_segment_t s{rooms.back().data(), length};
            q.push_back(nullptr);
            CHECK_EQ(mx_irecv(net.ep, &s, 1, match, all_bits, nullptr, &q.back()), MX_SUCCESS);
            mx_status_t status;
            uint32_t result = 7;
            CHECK_EQ(mx_test(net.ep, &q.back(), &status, &result), MX_SUCCESS);
            CHECK_EQ(result, 0u); // not bound yet
            return MX_RECV_CONTINUE;
        };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        progress_until(r, net.ep, [&] { return seen.calls == 5; });
        REQUIRE_EQ(q.size(), 5u);
        for (size_t i = 0; i < 5; i++) {
            mx_status_t s = finish_ok(r, net.ep, q[i]);
            CHECK_EQ(s.xfer_length, sizes[i]);
            CHECK_PATTERN(rooms[i], sizes[i], sizes[i]);
        }
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_consumes, 2, foreign_first)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 100000);
    if (r.id == 0) {
        r.barrier();
        mx_request_t small = isend(r, net.ep, data.data(), 100, net.to[1], 1);
        mx_request_t medium = isend(r, net.ep, data.data(), 30000, net.to[1], 2);
        mx_request_t large = isend(r, net.ep, data.data(), 100000, net.to[1], 3);
        mx_request_t sync = issend(r, net.ep, data.data(), 50, net.to[1], 4);
        mx_request_t empty = issend(r, net.ep, data.data(), 0, net.to[1], 5);
        CHECK_EQ(finish(r, net.ep, small).code, MX_STATUS_SUCCESS);
        CHECK_EQ(finish(r, net.ep, medium).code, MX_STATUS_SUCCESS);
        for (mx_request_t *q : {&large, &sync}) {
            mx_status_t s = finish(r, net.ep, *q);
            CHECK_EQ(s.code, MX_STATUS_TRUNCATED);
            CHECK_EQ(s.xfer_length, 0u);
        }
        CHECK_EQ(finish(r, net.ep, empty).code, MX_STATUS_SUCCESS);
        send(r, net.ep, "end", 3, net.to[1], 6);
    } else {
        Seen seen;
        seen.act = [&](uint64_t match, uint32_t length, void *p) {
            if (match == 1 && p)
                CHECK_EQ(verify(static_cast<uint8_t *>(p), 1, length), length);
            return match < 6 ? MX_RECV_FINISHED : MX_RECV_CONTINUE;
        };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, 6);
        CHECK_EQ(seen.calls, 6);
        mx_status_t s;
        uint32_t result = 0;
        REQUIRE_OK(mx_iprobe(net.ep, 0, 0, &s, &result));
        CHECK_EQ(s.match_info, 6u); // the others are gone
        char text[4];
        recv(r, net.ep, text, 3, 6);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_replies, 2, foreign_first)
{
    Net net = open_net(r);
    uint64_t v = 0;
    const uint64_t count = 50;
    if (r.id == 0) {
        r.barrier();
        for (uint64_t i = 0; i < count; i++) {
            mx_request_t q = irecv(r, net.ep, &v, sizeof v, 2);
            send(r, net.ep, &i, sizeof i, net.to[1], 1);
            finish_ok(r, net.ep, q);
            CHECK_EQ(v, i + 1000);
        }
        send(r, net.ep, "end", 3, net.to[1], 9);
    } else {
        Seen seen;
        seen.act = [&](uint64_t match, uint32_t, void *p) {
            if (match != 1 || !p)
                return MX_RECV_CONTINUE;
            uint64_t x;
            std::memcpy(&x, p, sizeof x);
            x += 1000;
            mx_segment_t s{&x, sizeof x};
            CHECK_EQ(mx_isend(net.ep, &s, 1, seen.source, 2, nullptr, nullptr), MX_SUCCESS);
            return MX_RECV_FINISHED;
        };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, 9);
        char text[4];
        recv(r, net.ep, text, 3, 9);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

CONFORM(handler_may_not_block_or_close, 2, foreign_first)
{
    Net net = open_net(r);
    char c;
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
    } else {
        Seen seen;
        seen.act = [&](uint64_t, uint32_t, void *) {
            mx_status_t s;
            uint32_t result = 7;
            mx_endpoint_addr_t a;
            mx_request_t q = nullptr;
            CHECK_EQ(mx_close_endpoint(net.ep), MX_CLOSE_IN_HANDLER);
            CHECK_EQ(mx_connect(net.ep, net.nic[0], net.eid[0], key, 100, &a), MX_FAILURE);
            CHECK_EQ(mx_disable_progression(net.ep), MX_SUCCESS);
            CHECK_EQ(mx_wait_any(net.ep, 0, 0, 0, &s, &result), MX_SUCCESS);
            CHECK_EQ(result, 0u);
            CHECK_EQ(mx_peek(net.ep, 0, &q, &result), MX_SUCCESS);
            CHECK_EQ(result, 0u);
            CHECK_EQ(mx_test_any(net.ep, 0, 0, &s, &result), MX_SUCCESS);
            CHECK_EQ(mx_iprobe(net.ep, 0, 0, &s, &result), MX_SUCCESS);
            int mark = 0;
            void *context = nullptr;
            CHECK_EQ(mx_set_endpoint_addr_context(seen.source, &mark), MX_SUCCESS);
            CHECK_EQ(mx_get_endpoint_addr_context(seen.source, &context), MX_SUCCESS);
            CHECK(context == &mark);
            return MX_RECV_CONTINUE;
        };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, 1);
        CHECK_EQ(seen.calls, 1);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
        recv(r, net.ep, &c, 1, 1);
    }
    r.barrier();
}

CONFORM(handler_disconnects, 2, foreign_first)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
        char c;
        recv(r, net.ep, &c, 1, 2);
    } else {
        Seen seen;
        seen.act = [&](uint64_t, uint32_t, void *) {
            CHECK_EQ(mx_disconnect(net.ep, seen.source), MX_SUCCESS);
            return MX_RECV_FINISHED;
        };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        progress_until(r, net.ep, [&] { return seen.calls != 0; });
        CHECK_EQ(seen.calls, 1);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
        mx_endpoint_addr_t again = connect_to(r, net.ep, net.nic[0], net.eid[0]);
        send(r, net.ep, "y", 1, again, 2);
    }
    r.barrier();
}

CONFORM(handler_that_answers_nonsense_continues, 2, foreign_first)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
    } else {
        Seen seen;
        seen.act = [](uint64_t, uint32_t, void *) { return static_cast<mx_unexp_handler_action_t>(42); };
        REQUIRE_OK(mx_register_unexp_handler(net.ep, handler, &seen));
        r.barrier();
        await_unexpected(r, net.ep, 1);
        REQUIRE_OK(mx_register_unexp_handler(net.ep, nullptr, nullptr));
        char c = 0;
        recv(r, net.ep, &c, 1, 1);
        CHECK_EQ(c, 'x');
    }
    r.barrier();
}

CONFORM(handler_sees_self_messages, 1, any)
{
    Endpoint ep(r);
    Seen seen;
    seen.act = [&](uint64_t match, uint32_t, void *p) {
        CHECK(match != 1 || (p && *static_cast<char *>(p) == 'x'));
        return match == 1 ? MX_RECV_FINISHED : MX_RECV_CONTINUE;
    };
    REQUIRE_OK(mx_register_unexp_handler(ep, handler, &seen));
    send(r, ep, "x", 1, ep.self(), 1);
    send(r, ep, "y", 1, ep.self(), 2);
    char c = 0;
    recv(r, ep, &c, 1, 2);
    CHECK_EQ(c, 'y');
    CHECK_EQ(seen.calls, 2);
    REQUIRE_OK(mx_register_unexp_handler(ep, nullptr, nullptr));
}

struct OldForm {
    mx_endpoint_t ep;
    int calls = 0;
    mx_request_t q = nullptr;
    char c = 0;
};

void old_callback(void *context, uint64_t match, int length)
{
    auto *f = static_cast<OldForm *>(context);
    f->calls++;
    mx_segment_t s{&f->c, static_cast<uint32_t>(length)};
    mx_irecv(f->ep, &s, 1, match, all_bits, nullptr, &f->q);
    mx_status_t status;
    uint32_t result;
    mx_test(f->ep, &f->q, &status, &result); // as Charm++ does
}

CONFORM(callback_of_the_old_form, 2, any)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "x", 1, net.to[1], 1);
    } else {
        OldForm f{net.ep};
        REQUIRE_OK(mx_register_unexp_callback(net.ep, old_callback, &f));
        r.barrier();
        progress_until(r, net.ep, [&] { return f.q != nullptr; });
        REQUIRE(f.q != nullptr);
        finish_ok(r, net.ep, f.q);
        CHECK_EQ(f.c, 'x');
        CHECK_EQ(f.calls, 1);
        REQUIRE_OK(mx_register_unexp_callback(net.ep, nullptr, nullptr));
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

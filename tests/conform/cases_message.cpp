// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: sending and receiving data (API 3.3, 3.4, 6; checklist 7 to 9, 18, 23).
#include "kit.hpp"

namespace emx::conform {
namespace {

size_t other(const Rank &r) { return static_cast<size_t>(1 - r.id); }

std::vector<uint32_t> boundary_sizes(const Rank &r)
{
    uint32_t f = r.fragment();
    return {0,     1,     31,        32,    33,    127,   128,   129,    f - 1,  f,
            f + 1, 2 * f, 2 * f + 1, 32767, 32768, 32769, 65536, 100000, 262145, 1 << 20};
}

CONFORM(every_size_class_arrives_unaltered, 2, foreign)
{
    Net net = open_net(r);
    for (uint32_t length : boundary_sizes(r)) {
        std::vector<uint8_t> room(length + 16, 0xee);
        if (r.id == 0) {
            std::vector<uint8_t> data = pattern(length, length);
            send(r, net.ep, data.data(), length, net.to[1], 0xfedc000000000000ull | length);
            recv(r, net.ep, room.data(), length + 16, length);
        } else {
            mx_status_t s = recv(r, net.ep, room.data(), length + 16, 0, 0);
            CHECK_EQ(s.match_info, 0xfedc000000000000ull | length);
            send(r, net.ep, room.data(), length, net.to[0], length);
            CHECK_EQ(s.msg_length, length);
            CHECK_EQ(s.xfer_length, length);
        }
        CHECK_PATTERN(room, length, length);
        CHECK_EQ(room[length], 0xee);
    }
    r.barrier();
}

CONFORM(unexpected_messages_keep_their_order, 2, foreign)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {0, 32, 128, 4096, 32768, 32769, 1 << 20, 1, 129};
    const size_t count = sizeof sizes / sizeof *sizes;
    if (r.id == 0) {
        std::vector<std::vector<uint8_t>> data;
        std::vector<mx_request_t> q;
        for (size_t i = 0; i < count; i++) {
            data.push_back(pattern(i, sizes[i]));
            q.push_back(isend(r, net.ep, data[i].data(), sizes[i], net.to[1], i));
        }
        for (mx_request_t &s : q)
            finish_ok(r, net.ep, s);
    } else {
        await_unexpected(r, net.ep, count - 1);
        std::vector<uint8_t> room(1 << 20);
        for (size_t i = 0; i < count; i++) {
            mx_status_t s = recv(r, net.ep, room.data(), 1 << 20, 0, 0);
            CHECK_EQ(s.match_info, i);
            CHECK_EQ(s.xfer_length, sizes[i]);
            CHECK_PATTERN(room, i, sizes[i]);
        }
    }
    r.barrier();
}

CONFORM(posted_receives_take_messages_in_order, 2, foreign)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {1 << 20, 0, 32769, 128, 4096, 32768, 33, 100000, 5};
    const size_t count = sizeof sizes / sizeof *sizes;
    std::vector<mx_request_t> q(count);
    std::vector<std::vector<uint8_t>> data(count);
    if (r.id == 1)
        for (size_t i = 0; i < count; i++) {
            data[i].resize(sizes[i]);
            q[i] = irecv(r, net.ep, data[i].data(), sizes[i], 0, 0);
        }
    r.barrier();
    if (r.id == 0)
        for (size_t i = 0; i < count; i++) {
            data[i] = pattern(i, sizes[i]);
            q[i] = i % 2 ? issend(r, net.ep, data[i].data(), sizes[i], net.to[1], i)
                         : isend(r, net.ep, data[i].data(), sizes[i], net.to[1], i);
        }
    for (size_t i = 0; i < count; i++) {
        mx_status_t s = finish_ok(r, net.ep, q[i]);
        CHECK_EQ(s.match_info, i);
        CHECK_PATTERN(data[i], i, sizes[i]);
    }
    r.barrier();
}

CONFORM(send_status_fields, 2, foreign)
{
    Net net = open_net(r);
    int mark = 0;
    std::vector<uint8_t> data = pattern(1, 50000), room(50000);
    for (uint32_t length : {10u, 5000u, 50000u}) {
        if (r.id == 0) {
            mx_request_t q = isend(r, net.ep, data.data(), length, net.to[1], 77, &mark);
            mx_status_t s = finish_ok(r, net.ep, q);
            CHECK(std::memcmp(&s.source, &net.to[1], sizeof s.source) == 0);
            CHECK_EQ(s.match_info, 77u);
            CHECK(s.context == &mark);
            CHECK_EQ(s.msg_length, length);
            CHECK_EQ(s.xfer_length, length);
        } else {
            mx_request_t q = irecv(r, net.ep, room.data(), length, 77, all_bits, &mark);
            mx_status_t s = finish_ok(r, net.ep, q);
            CHECK(std::memcmp(&s.source, &net.to[0], sizeof s.source) == 0);
            CHECK(s.context == &mark);
        }
    }
    r.barrier();
}

CONFORM(truncated_receives, 2, foreign | bulk)
{
    Net net = open_net(r);
    for (uint32_t length : {20u, 100u, 5000u, 32768u, 32769u, 200000u}) {
        uint32_t room = length / 2 + 1;
        std::vector<uint8_t> data = pattern(length, length);
        if (r.id == 0) {
            mx_request_t q = isend(r, net.ep, data.data(), length, net.to[1], length);
            mx_status_t s = finish(r, net.ep, q);
            bool large = length > 32768; // only a rendezvous sender learns of it
            CHECK_EQ(s.code, large ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
            CHECK_EQ(s.xfer_length, large ? room : length);
            CHECK_EQ(s.msg_length, length);
        } else {
            std::vector<uint8_t> got(length + 1, 0xee);
            mx_request_t q = irecv(r, net.ep, got.data(), room, length);
            mx_status_t s = finish(r, net.ep, q);
            CHECK_EQ(s.code, MX_STATUS_TRUNCATED);
            CHECK_EQ(s.msg_length, length);
            CHECK_EQ(s.xfer_length, room);
            CHECK_PATTERN(got, length, room);
            for (uint32_t i = room; i <= length; i++)
                if (got[i] != 0xee) {
                    CHECK_EQ(i, room); // bytes beyond the room were touched
                    break;
                }
        }
    }
    r.barrier();
}

CONFORM(truncated_synchronous_send_tells_the_sender, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 100), room(100);
    if (r.id == 0) {
        mx_request_t q = issend(r, net.ep, data.data(), 100, net.to[1], 1);
        mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, MX_STATUS_TRUNCATED);
        CHECK_EQ(s.xfer_length, 30u);
    } else {
        mx_request_t q = irecv(r, net.ep, room.data(), 30, 1);
        CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_TRUNCATED);
        CHECK_PATTERN(room, 1, 30);
    }
    r.barrier();
}

CONFORM(empty_receive_of_a_full_message, 2, foreign | bulk)
{
    Net net = open_net(r);
    std::vector<uint8_t> data(40000);
    for (uint32_t length : {5u, 1000u, 40000u}) {
        if (r.id == 0) {
            mx_request_t q = isend(r, net.ep, data.data(), length, net.to[1], 1);
            mx_status_t s = finish(r, net.ep, q);
            if (length > 32768) {
                CHECK_EQ(s.code, MX_STATUS_TRUNCATED);
                CHECK_EQ(s.xfer_length, 0u);
            }
        } else {
            mx_request_t q = nullptr;
            REQUIRE_OK(mx_irecv(net.ep, nullptr, 0, 1, all_bits, nullptr, &q));
            mx_status_t s = finish(r, net.ep, q);
            CHECK_EQ(s.code, MX_STATUS_TRUNCATED);
            CHECK_EQ(s.xfer_length, 0u);
            CHECK_EQ(s.msg_length, length);
        }
    }
    r.barrier();
}

CONFORM(synchronous_send_waits_for_the_match, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(2, 100000), room(100000);
    for (uint32_t length : {0u, 1u, 100u, 5000u, 100000u}) {
        if (r.id == 0) {
            mx_request_t q = issend(r, net.ep, data.data(), length, net.to[1], 1);
            CHECK(stays_pending(r, net.ep, q, 100));
            r.barrier();
            if (q) {
                mx_status_t s = finish_ok(r, net.ep, q);
                CHECK_EQ(s.xfer_length, length);
            }
        } else {
            mx_status_t s = await_unexpected(r, net.ep, 1); // arrived, and still not matched
            CHECK_EQ(s.msg_length, length);
            r.barrier();
            recv(r, net.ep, room.data(), length, 1);
            CHECK_PATTERN(room, 2, length);
        }
    }
    r.barrier();
}

CONFORM(buffered_sends_may_be_overwritten_at_once, 2, foreign)
{
    Net net = open_net(r);
    if (r.id == 0) {
        uint8_t stack[32768];
        for (uint32_t length : {1u, 32u, 128u, 129u, 5000u, 32768u}) {
            std::vector<uint8_t> data = pattern(length, length);
            std::memcpy(stack, data.data(), length);
            mx_request_t q = isend(r, net.ep, stack, length, net.to[1], length);
            uint32_t result = 0;
            CHECK_EQ(mx_ibuffered(net.ep, &q, &result), MX_SUCCESS);
            CHECK_EQ(result, 1u);
            std::memset(stack, 0x55, sizeof stack);
            finish_ok(r, net.ep, q);
        }
        r.barrier();
    } else {
        await_unexpected(r, net.ep, 32768);
        r.barrier();
        for (uint32_t length : {1u, 32u, 128u, 129u, 5000u, 32768u}) {
            std::vector<uint8_t> room(length);
            recv(r, net.ep, room.data(), length, length);
            CHECK_PATTERN(room, length, length);
        }
    }
    r.barrier();
}

CONFORM(eager_sends_complete_without_a_receiver, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 32768), room(32768);
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, data.data(), 32768, net.to[1], 1);
        finish_ok(r, net.ep, q);
        mx_request_t large = isend(r, net.ep, data.data(), 32768, net.to[1], 2);
        finish_ok(r, net.ep, large);
        r.barrier();
    } else {
        r.barrier();
        for (uint64_t m : {2u, 1u})
            recv(r, net.ep, room.data(), 32768, m);
    }
    r.barrier();
}

CONFORM(segments_gather_and_scatter, 2, foreign | bulk)
{
    Net net = open_net(r);
    // 256 segments with zero-length holes, some of them without memory.
    for (uint32_t step : {1u, 37u, 1000u}) {
        std::vector<mx_segment_t> segs(MX_MAX_SEGMENTS);
        uint32_t total = 0;
        for (uint32_t i = 0; i < segs.size(); i++) {
            uint32_t shift = r.id == 0 ? 0 : 3; // other cuts on the other side
            segs[i].segment_length = i % 5 == 4 ? 0 : 1 + (i + shift) * step % (2 * step);
            total += segs[i].segment_length;
        }
        uint64_t size = 0;
        for (uint64_t t : r.exchange(total))
            size = std::max(size, t);
        std::vector<uint8_t> data = r.id == 0 ? pattern(step, size) : std::vector<uint8_t>(size);
        segs.back().segment_length += static_cast<uint32_t>(size) - total;
        size_t at = 0;
        for (mx_segment_t &s : segs) {
            s.segment_ptr = s.segment_length ? data.data() + at : nullptr;
            at += s.segment_length;
        }
        mx_request_t q = nullptr;
        if (r.id == 0)
            REQUIRE_OK(mx_isend(net.ep, segs.data(), MX_MAX_SEGMENTS, net.to[1], step, nullptr, &q));
        else
            REQUIRE_OK(mx_irecv(net.ep, segs.data(), MX_MAX_SEGMENTS, step, all_bits, nullptr, &q));
        std::fill(segs.begin(), segs.end(), mx_segment_t{}); // read during the call only
        mx_status_t s = finish_ok(r, net.ep, q);
        CHECK_EQ(s.xfer_length, size);
        CHECK_PATTERN(data, step, size);
    }
    r.barrier();
}

CONFORM(segment_list_errors, 1, any)
{
    Endpoint ep(r);
    std::vector<uint8_t> byte(1);
    std::vector<mx_segment_t> segs(MX_MAX_SEGMENTS + 1, mx_segment_t{byte.data(), 1});
    mx_request_t q = nullptr;
    CHECK_EQ(mx_isend(ep, segs.data(), MX_MAX_SEGMENTS + 1, ep.self(), 1, nullptr, &q), MX_BAD_SEG_CNT);
    CHECK_EQ(mx_issend(ep, segs.data(), MX_MAX_SEGMENTS + 1, ep.self(), 1, nullptr, &q), MX_BAD_SEG_CNT);
    CHECK_EQ(mx_irecv(ep, segs.data(), MX_MAX_SEGMENTS + 1, 1, all_bits, nullptr, &q), MX_BAD_SEG_CNT);
    CHECK_EQ(mx_isend(ep, nullptr, 1, ep.self(), 1, nullptr, &q), MX_BAD_SEG_LIST);
    CHECK_EQ(mx_irecv(ep, nullptr, 2, 1, all_bits, nullptr, &q), MX_BAD_SEG_LIST);
    for (mx_segment_t &s : segs)
        s.segment_length = 0xffffffff;
    mx_return_t code = mx_isend(ep, segs.data(), 2, ep.self(), 1, nullptr, &q);
    CHECK(code == MX_BAD_SEG_CNT || code == MX_BAD_SEG_MEM); // the sum does not fit 32 bits
    mx_status_t s;
    uint32_t result = 1;
    REQUIRE_OK(mx_test_any(ep, 0, 0, &s, &result));
    CHECK_EQ(result, 0u); // nothing was posted
}

CONFORM(no_request_pointer_forgets_the_send, 2, foreign)
{
    Net net = open_net(r);
    if (r.id == 0) {
        mx_segment_t s{const_cast<char *>("hello"), 5};
        REQUIRE_OK(mx_isend(net.ep, &s, 1, net.to[1], 3, nullptr, nullptr));
        mx_status_t status;
        uint32_t result = 0;
        REQUIRE_OK(mx_wait_any(net.ep, 200, 0, 0, &status, &result));
        CHECK_EQ(result, 0u);
    } else {
        char text[6] = {};
        recv(r, net.ep, text, 5, 3);
        CHECK_EQ(std::string(text), "hello");
    }
    r.barrier();
}

CONFORM(both_send_large_at_once, 2, foreign | bulk)
{
    Net net = open_net(r);
    const uint32_t size = 1 << 20;
    std::vector<uint8_t> out = pattern(static_cast<uint64_t>(r.id), size), in(size);
    mx_request_t q = irecv(r, net.ep, in.data(), size, 1);
    mx_request_t s = isend(r, net.ep, out.data(), size, net.to[other(r)], 1);
    finish_ok(r, net.ep, q);
    finish_ok(r, net.ep, s);
    CHECK_PATTERN(in, other(r), size);
    r.barrier();
}

CONFORM(more_large_messages_than_windows, 2, foreign | bulk)
{
    Net net = open_net(r);
    const size_t count = 300; // a frame names 256 of them
    const uint32_t size = 33000;
    std::vector<std::vector<uint8_t>> out(count), in(count);
    std::vector<mx_request_t> s(count), q(count);
    for (size_t i = 0; i < count; i++) {
        out[i] = pattern(i + static_cast<uint64_t>(r.id), size);
        in[i].resize(size);
        s[i] = isend(r, net.ep, out[i].data(), size, net.to[other(r)], i);
    }
    for (size_t i = count; i-- > 0;)
        q[i] = irecv(r, net.ep, in[i].data(), size, i);
    for (size_t i = 0; i < count; i++) {
        finish_ok(r, net.ep, q[i]);
        finish_ok(r, net.ep, s[i]);
        CHECK_PATTERN(in[i], i + other(r), size);
    }
    r.barrier();
}

CONFORM(nothing_waits_behind_messages_that_nobody_receives, 2, any)
{
    // The receiver takes the last message first, and none of the large ones before it.
    Net net = open_net(r);
    const size_t count = 300;
    const uint32_t size = 33000;
    std::vector<std::vector<uint8_t>> out(count);
    std::vector<uint8_t> in(size);
    std::vector<mx_request_t> s(count);
    for (size_t i = 0; i < count; i++) {
        out[i] = pattern(i + static_cast<uint64_t>(r.id), size);
        s[i] = isend(r, net.ep, out[i].data(), size, net.to[other(r)], i);
    }
    send(r, net.ep, "x", 1, net.to[other(r)], count);
    recv(r, net.ep, in.data(), 1, count);
    CHECK_EQ(in[0], uint8_t{'x'});
    for (size_t i = count; i-- > 0;) {
        recv(r, net.ep, in.data(), size, i);
        CHECK_PATTERN(in, i + other(r), size);
    }
    for (mx_request_t &q : s)
        finish_ok(r, net.ep, q);
    r.barrier();
}

CONFORM(more_synchronous_messages_than_window_names, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t count = 4500; // id and tag tell 4096 windows apart
    std::vector<uint64_t> out(count), in(count);
    std::vector<mx_request_t> s(count), q(count);
    for (size_t i = 0; i < count; i++) {
        out[i] = i * 3 + static_cast<uint64_t>(r.id);
        s[i] = issend(r, net.ep, &out[i], sizeof out[i], net.to[other(r)], i);
    }
    for (size_t i = count; i-- > 0;)
        q[i] = irecv(r, net.ep, &in[i], sizeof in[i], i);
    for (size_t i = 0; i < count; i++) {
        finish_ok(r, net.ep, q[i]);
        finish_ok(r, net.ep, s[i]);
        REQUIRE_EQ(in[i], i * 3 + other(r));
    }
    r.barrier();
}

CONFORM(many_small_messages_both_ways, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t count = 3000; // past several windows and ack rounds
    uint64_t sent = 0, received = 0, value = 0;
    mx_request_t q = irecv(r, net.ep, &value, sizeof value, 7);
    while (received < count || sent < count) {
        for (int burst = 0; burst < 64 && sent < count; burst++, sent++) {
            mx_segment_t s{&sent, sizeof sent};
            REQUIRE_OK(mx_isend(net.ep, &s, 1, net.to[other(r)], 7, nullptr, nullptr));
        }
        while (received < count && completes(r, net.ep, q, 0)) {
            REQUIRE_EQ(value, received);
            if (++received < count)
                q = irecv(r, net.ep, &value, sizeof value, 7);
        }
    }
    r.barrier();
}

CONFORM(a_flood_waits_for_an_absent_receiver, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t count = 2000;
    const uint32_t size = 1000;
    std::vector<uint8_t> data(size), room(size);
    if (r.id == 0) {
        std::vector<mx_request_t> q(count);
        for (uint64_t i = 0; i < count; i++) {
            data = pattern(i, size);
            q[i] = isend(r, net.ep, data.data(), size, net.to[1], i);
        }
        progress_for(r, net.ep, 300);
        r.barrier(); // until here the receiver has not called the library
        for (mx_request_t &s : q)
            finish_ok(r, net.ep, s);
    } else {
        r.barrier();
        for (uint64_t i = 0; i < count; i++) {
            mx_status_t s = recv(r, net.ep, room.data(), size, 0, 0);
            REQUIRE_EQ(s.match_info, i);
            CHECK_PATTERN(room, i, size);
        }
    }
    r.barrier();
}

CONFORM(everybody_sends_to_everybody, 4, any)
{
    Net net = open_net(r);
    const uint32_t sizes[] = {0, 7, 100, 3000, 20000, 40000};
    struct Piece {
        std::vector<uint8_t> data;
        mx_request_t q;
        uint64_t number;
    };
    std::vector<Piece> in, out;
    for (uint64_t peer = 0; peer < 4; peer++)
        for (uint64_t i = 0; i < 6; i++) {
            in.push_back({std::vector<uint8_t>(sizes[i]), nullptr, peer * 10 + i});
            out.push_back({pattern(static_cast<uint64_t>(r.id) * 10 + i, sizes[i]), nullptr, peer});
        }
    for (Piece &p : in)
        p.q = irecv(r, net.ep, p.data.data(), static_cast<uint32_t>(p.data.size()), p.number);
    for (size_t i = 0; i < out.size(); i++)
        out[i].q = isend(r, net.ep, out[i].data.data(), static_cast<uint32_t>(out[i].data.size()),
                         net.to[out[i].number], static_cast<uint64_t>(r.id) * 10 + i % 6);
    for (Piece &p : in) {
        finish_ok(r, net.ep, p.q);
        CHECK_PATTERN(p.data, p.number, p.data.size());
    }
    for (Piece &p : out)
        finish_ok(r, net.ep, p.q);
    r.barrier();
}

CONFORM(one_gibibyte_message, 2, big)
{
    Net net = open_net(r);
    const uint32_t size = 1u << 30;
    std::vector<uint8_t> data = r.id == 0 ? pattern(1, size) : std::vector<uint8_t>(size);
    mx_request_t q = r.id == 0 ? isend(r, net.ep, data.data(), size, net.to[1], 1)
                               : irecv(r, net.ep, data.data(), size, 1);
    mx_status_t s = finish(r, net.ep, q, 300000);
    CHECK_EQ(s.code, MX_STATUS_SUCCESS);
    CHECK_EQ(s.xfer_length, size);
    CHECK_PATTERN(data, 1, size);
    r.barrier();
}

CONFORM(longest_message_by_256_segments, 2, big)
{
    // 4 GiB - 1 in 256 segments that all lie over one buffer of 16 MiB, on both sides: the content
    // repeats every 16 MiB, so a byte at a wrong position shows wherever it came from.
    Net net = open_net(r);
    const uint32_t piece = 1u << 24;
    std::vector<uint8_t> data = r.id == 0 ? pattern(9, piece) : std::vector<uint8_t>(piece);
    std::vector<mx_segment_t> segs(MX_MAX_SEGMENTS, mx_segment_t{data.data(), piece});
    segs.back().segment_length = piece - 1;
    mx_request_t q = nullptr;
    if (r.id == 0)
        REQUIRE_OK(mx_isend(net.ep, segs.data(), MX_MAX_SEGMENTS, net.to[1], 1, nullptr, &q));
    else
        REQUIRE_OK(mx_irecv(net.ep, segs.data(), MX_MAX_SEGMENTS, 1, all_bits, nullptr, &q));
    mx_status_t s = finish(r, net.ep, q, 1200000);
    CHECK_EQ(s.code, MX_STATUS_SUCCESS);
    CHECK_EQ(s.msg_length, 0xffffffffu);
    CHECK_EQ(s.xfer_length, 0xffffffffu);
    CHECK_PATTERN(data, 9, piece);
    r.barrier();
}

} // namespace
} // namespace emx::conform

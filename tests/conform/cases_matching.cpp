// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: matching rules, masks, context ids, probing (API 3.4, 3.7, 5; checklist 7).
#include "kit.hpp"

namespace emx::conform {
namespace {

/// Rank 1 posts two receives that both fit, wild first or specific first; rank 0 sends twice.
void two_receives(Rank &r, bool wild_first)
{
    Net net = open_net(r);
    if (r.id == 0) {
        r.barrier();
        send(r, net.ep, "1", 1, net.to[1], 0x55);
        send(r, net.ep, "2", 1, net.to[1], 0x55);
    } else {
        char a = 0, b = 0;
        mx_request_t first = wild_first ? irecv(r, net.ep, &a, 1, 0, 0) : irecv(r, net.ep, &a, 1, 0x55);
        mx_request_t second = wild_first ? irecv(r, net.ep, &b, 1, 0x55) : irecv(r, net.ep, &b, 1, 0, 0);
        r.barrier();
        finish_ok(r, net.ep, first);
        finish_ok(r, net.ep, second);
        CHECK_EQ(a, '1');
        CHECK_EQ(b, '2');
    }
    r.barrier();
}

CONFORM(posting_order_wild_first, 2, foreign) { two_receives(r, true); }
CONFORM(posting_order_specific_first, 2, foreign) { two_receives(r, false); }

CONFORM(a_mask_compares_only_its_bits, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t infos[] = {0x8000000000000000ull, 1, 0x00ff000000000000ull, 0xffffffffffffffffull, 0};
    if (r.id == 0) {
        for (uint64_t m : infos)
            send(r, net.ep, &m, sizeof m, net.to[1], m);
    } else {
        await_unexpected(r, net.ep, 0);
        uint64_t got = 0;
        mx_status_t s = recv(r, net.ep, &got, sizeof got, 1, 1); // earliest with bit 0 set
        CHECK_EQ(s.match_info, 1u);
        s = recv(r, net.ep, &got, sizeof got, 0x00ff000000000000ull, 0x80ff000000000000ull);
        CHECK_EQ(s.match_info, infos[2]);
        s = recv(r, net.ep, &got, sizeof got, 0x8000000000000000ull, 0x8000000000000000ull);
        CHECK_EQ(s.match_info, infos[0]);
        s = recv(r, net.ep, &got, sizeof got, 0, 1);
        CHECK_EQ(s.match_info, 0u);
        s = recv(r, net.ep, &got, sizeof got, 0, 0);
        CHECK_EQ(s.match_info, infos[3]);
        CHECK_EQ(got, infos[3]);
    }
    r.barrier();
}

CONFORM(info_outside_the_mask_is_refused, 1, any)
{
    Endpoint ep(r);
    mx_request_t q = nullptr;
    mx_status_t s{};
    uint32_t result = 5;
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 3, 1, nullptr, &q), MX_BAD_MATCH_MASK);
    CHECK_EQ(mx_test_any(ep, 3, 1, &s, &result), MX_BAD_MATCH_MASK);
    CHECK_EQ(mx_wait_any(ep, 10, 3, 1, &s, &result), MX_BAD_MATCH_MASK);
    CHECK_EQ(mx_iprobe(ep, 3, 1, &s, &result), MX_BAD_MATCH_MASK);
    CHECK_EQ(mx_probe(ep, 10, 3, 1, &s, &result), MX_BAD_MATCH_MASK);
}

CONFORM(client_encodings_match, 2, foreign)
{
    // Open MPI's MTL: 16 bits of context, 16 of source, 32 of tag; a wild tag keeps bit 31.
    Net net = open_net(r);
    auto bits = [](uint64_t context, uint64_t source, int32_t tag) {
        return context << 48 | source << 32 | static_cast<uint32_t>(tag);
    };
    if (r.id == 0) {
        send(r, net.ep, "i", 1, net.to[1], bits(3, 0, -17)); // internal
        send(r, net.ep, "u", 1, net.to[1], bits(3, 0, 99));
        send(r, net.ep, "c", 1, net.to[1], bits(4, 0, 99));
    } else {
        await_unexpected(r, net.ep, bits(4, 0, 99));
        char c = 0;
        recv(r, net.ep, &c, 1, bits(3, 0, 0), 0xffffffff80000000ull); // any tag
        CHECK_EQ(c, 'u');
        recv(r, net.ep, &c, 1, bits(4, 0, 99), 0xffff0000ffffffffull); // any source
        CHECK_EQ(c, 'c');
        recv(r, net.ep, &c, 1, bits(3, 0, -17));
        CHECK_EQ(c, 'i');
    }
    r.barrier();
}

CONFORM(probe_sees_and_leaves, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(5, 100000), room(100000);
    if (r.id == 0) {
        mx_request_t a = isend(r, net.ep, data.data(), 100000, net.to[1], 0x11);
        send(r, net.ep, data.data(), 10, net.to[1], 0x12);
        finish_ok(r, net.ep, a);
    } else {
        mx_status_t s = await_unexpected(r, net.ep, 0x12);
        CHECK_EQ(s.xfer_length, 10u);
        uint32_t result = 0;
        for (int twice = 0; twice < 2; twice++) {
            REQUIRE_OK(mx_iprobe(net.ep, 0, 0, &s, &result));
            REQUIRE_EQ(result, 1u);
            CHECK_EQ(s.code, MX_STATUS_SUCCESS);
            CHECK_EQ(s.match_info, 0x11u); // the earliest
            CHECK_EQ(s.msg_length, 100000u);
            CHECK_EQ(s.xfer_length, 100000u);
            CHECK(s.context == nullptr);
            CHECK(std::memcmp(&s.source, &net.to[0], sizeof s.source) == 0);
        }
        REQUIRE_OK(mx_iprobe(net.ep, 0x13, all_bits, &s, &result));
        CHECK_EQ(result, 0u);
        recv(r, net.ep, room.data(), 100000, 0x11);
        CHECK_PATTERN(room, 5, 100000);
        recv(r, net.ep, room.data(), 10, 0x12);
        REQUIRE_OK(mx_iprobe(net.ep, 0, 0, &s, &result));
        CHECK_EQ(result, 0u);
    }
    r.barrier();
}

CONFORM(probe_does_not_see_matched_messages, 2, foreign)
{
    Net net = open_net(r);
    std::vector<uint8_t> room(100000);
    mx_request_t q = nullptr;
    if (r.id == 1)
        q = irecv(r, net.ep, room.data(), 100000, 1);
    r.barrier();
    if (r.id == 0) {
        send(r, net.ep, room.data(), 100000, net.to[1], 1);
        send(r, net.ep, room.data(), 1, net.to[1], 2);
    } else {
        mx_status_t s = await_unexpected(r, net.ep, 0, 0);
        CHECK_EQ(s.match_info, 2u);
        finish_ok(r, net.ep, q);
        recv(r, net.ep, room.data(), 1, 2);
    }
    r.barrier();
}

CONFORM(probe_times_out, 1, any)
{
    Endpoint ep(r);
    mx_status_t s{};
    s.msg_length = 4711;
    uint32_t result = 7;
    double start = r.now_ms();
    REQUIRE_OK(mx_probe(ep, 100, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    CHECK_EQ(s.msg_length, 4711u);
    CHECK_TOOK(start, 99, 300);
}

mx_param_t context_ids(uint8_t bits, uint8_t shift)
{
    mx_param_t p{};
    p.key = MX_PARAM_CONTEXT_ID;
    p.val.context_id.bits = bits;
    p.val.context_id.shift = shift;
    return p;
}

CONFORM(context_ids_split_the_queues, 2, any)
{
    mx_param_t p = context_ids(4, 60);
    Net net = open_net(r, true, &p, 1);
    auto info = [](uint64_t id, uint64_t tag) { return id << 60 | tag; };
    if (r.id == 0) {
        for (uint64_t tag = 0; tag < 4; tag++)
            for (uint64_t id : {15ull, 0ull, 7ull})
                send(r, net.ep, &tag, sizeof tag, net.to[1], info(id, tag));
        send(r, net.ep, nullptr, 0, net.to[1], info(1, 0));
    } else {
        await_unexpected(r, net.ep, info(1, 0));
        mx_request_t q = nullptr;
        CHECK_EQ(mx_irecv(net.ep, nullptr, 0, 0, 0xff, nullptr, &q), MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
        CHECK_EQ(mx_irecv(net.ep, nullptr, 0, 0, 0xe000000000000000ull, nullptr, &q),
                 MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
        mx_status_t s{};
        uint32_t result = 0;
        REQUIRE_OK(mx_iprobe(net.ep, 0, 0, &s, &result)); // over all ids, in order of arrival
        CHECK_EQ(result, 1u);
        CHECK_EQ(s.match_info, info(15, 0));
        uint64_t got = 9;
        for (uint64_t id : {7ull, 15ull, 0ull})
            for (uint64_t tag = 0; tag < 4; tag++) {
                s = recv(r, net.ep, &got, sizeof got, info(id, 0), info(15, 0));
                CHECK_EQ(s.match_info, info(id, tag));
                CHECK_EQ(got, tag);
            }
        recv(r, net.ep, nullptr, 0, info(1, 0));
    }
    r.barrier();
}

CONFORM(test_any_polls_over_context_ids, 2, any)
{
    mx_param_t p = context_ids(4, 60);
    Net net = open_net(r, true, &p, 1);
    if (r.id == 0) {
        for (uint64_t id = 0; id < 3; id++)
            send(r, net.ep, &id, sizeof id, net.to[1], id << 60 | 5);
    } else {
        uint64_t got[3] = {};
        for (uint64_t id = 0; id < 3; id++)
            irecv(r, net.ep, &got[id], sizeof got[id], id << 60, 0xf000000000000000ull, &got[id]);
        mx_status_t s{};
        uint32_t result = 0;
        REQUIRE_OK(mx_wait_any(net.ep, patience, 0x2000000000000000ull, 0xf000000000000000ull, &s, &result));
        REQUIRE_EQ(result, 1u);
        CHECK(s.context == &got[2]);
        for (int i = 0; i < 2; i++) { // a partial mask serves both others
            REQUIRE_OK(mx_wait_any(net.ep, patience, 5, 0x8000000000000007ull, &s, &result));
            REQUIRE_EQ(result, 1u);
            CHECK(s.context == &got[i]);
        }
    }
    r.barrier();
}

CONFORM(sources_are_told_by_bits_only, 3, any)
{
    Net net = open_net(r);
    if (r.id > 0) {
        uint64_t me = static_cast<uint64_t>(r.id);
        send(r, net.ep, &me, sizeof me, net.to[0], me << 32);
        send(r, net.ep, &me, sizeof me, net.to[0], me << 32 | 1);
    } else {
        uint64_t got = 0;
        for (uint64_t from : {2u, 1u}) {
            mx_status_t s = recv(r, net.ep, &got, sizeof got, from << 32, 0xffffffff00000000ull);
            CHECK_EQ(got, from);
            CHECK_EQ(s.match_info, from << 32);
            CHECK(std::memcmp(&s.source, &net.to[from], sizeof s.source) == 0);
        }
        recv(r, net.ep, &got, sizeof got, 0, 0);
        recv(r, net.ep, &got, sizeof got, 0, 0);
    }
    r.barrier();
}

/// Programs put data into a receive that they forgot, and tell by another message that it is there.
CONFORM(a_message_tells_that_earlier_eager_ones_are_here, 2, foreign)
{
    Net net = open_net(r);
    const uint64_t rounds = 40;
    for (uint64_t i = 0; i < rounds; i++) {
        uint32_t length = i % 2 ? 32768 : 3000 + static_cast<uint32_t>(i) * 300; // several fragments
        std::vector<uint8_t> data = pattern(i, length), room(length);
        char c = 0;
        if (r.id == 1) {
            mx_request_t put = irecv(r, net.ep, room.data(), length, 2 * i);
            mx_request_t end = irecv(r, net.ep, &c, 1, 2 * i + 1);
            mx_status_t s;
            uint32_t result = 0;
            r.barrier();
            finish_ok(r, net.ep, end);
            CHECK_PATTERN(room, i, length);
            CHECK_EQ(mx_test(net.ep, &put, &s, &result), MX_SUCCESS);
            REQUIRE_EQ(result, 1u);
        } else {
            r.barrier();
            send(r, net.ep, data.data(), length, net.to[1], 2 * i);
            send(r, net.ep, "e", 1, net.to[1], 2 * i + 1);
        }
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

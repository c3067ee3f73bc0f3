// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: opening and closing endpoints, their parameters and addresses (API 3.2, 3.9, 1.9).
#include "kit.hpp"

namespace emx::conform {
namespace {

mx_return_t try_open(uint32_t board, uint32_t eid, mx_param_t *params = nullptr, uint32_t count = 0)
{
    mx_endpoint_t ep = reinterpret_cast<mx_endpoint_t>(0x1);
    mx_return_t code = mx_open_endpoint(board, eid, key, params, count, &ep);
    if (code == MX_SUCCESS)
        mx_close_endpoint(ep);
    else if (ep)
        return MX_BAD_BAD_BAD; // *ep must be NULL then
    return code;
}

CONFORM(any_gives_the_lowest_free_number, 1, any)
{
    Endpoint a(r), b(r), c(r);
    CHECK_EQ(a.eid(), 0u);
    CHECK_EQ(b.eid(), 1u);
    CHECK_EQ(c.eid(), 2u);
    b.close();
    Endpoint d(r);
    CHECK_EQ(d.eid(), 1u);
}

CONFORM(any_spreads_over_boards, 1, two_boards)
{
    Endpoint e[4] = {Endpoint(r), Endpoint(r), Endpoint(r), Endpoint(r)};
    uint64_t nic[2];
    REQUIRE_OK(mx_board_number_to_nic_id(0, &nic[0]));
    REQUIRE_OK(mx_board_number_to_nic_id(1, &nic[1]));
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(e[i].eid(), i / 2);
        CHECK_EQ(e[i].nic(), nic[i % 2]);
    }
}

CONFORM(open_errors, 1, any)
{
    Endpoint a(r, 3);
    CHECK_EQ(try_open(0, 3), MX_BUSY);
    CHECK_EQ(try_open(17, 0), MX_BOARD_UNKNOWN);
    CHECK_EQ(try_open(0, 4711), MX_BAD_ENDPOINT);
    CHECK_EQ(try_open(0, 4), MX_SUCCESS);
}

CONFORM(open_parameters, 1, any)
{
    CHECK_EQ(try_open(0, 0, nullptr, 1), MX_BAD_PARAM_LIST);
    mx_param_t p[2] = {};
    p[0].key = static_cast<mx_param_key_t>(99);
    CHECK_EQ(try_open(0, 0, p, 1), MX_BAD_PARAM_NAME);
    p[0].key = MX_PARAM_CONTEXT_ID;
    p[0].val.context_id.bits = 17;
    p[0].val.context_id.shift = 0;
    CHECK_EQ(try_open(0, 0, p, 1), MX_BAD_PARAM_VAL);
    p[0].val.context_id.bits = 4;
    p[0].val.context_id.shift = 61;
    CHECK_EQ(try_open(0, 0, p, 1), MX_BAD_PARAM_VAL);
    p[0].val.context_id.shift = 60;
    CHECK_EQ(try_open(0, 0, p, 1), MX_SUCCESS);
    p[0].val.context_id.bits = 0;
    CHECK_EQ(try_open(0, 0, p, 1), MX_SUCCESS);
    p[0].key = MX_PARAM_UNEXP_QUEUE_MAX;
    p[0].val.unexp_queue_max = 1;
    CHECK_EQ(try_open(0, 0, p, 1), MX_SUCCESS);
}

CONFORM(last_of_equal_parameters_wins, 1, any)
{
    mx_param_t p[2] = {};
    p[0].key = p[1].key = MX_PARAM_CONTEXT_ID;
    p[0].val.context_id.bits = 8;
    p[0].val.context_id.shift = 56;
    p[1].val.context_id.bits = 4;
    p[1].val.context_id.shift = 0;
    Endpoint ep(r, MX_ANY_ENDPOINT, p, 2);
    mx_request_t q = nullptr;
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 0, ~uint64_t{0xf}, nullptr, &q), MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
    q = irecv(r, ep, nullptr, 0, 0, 0xf);
    uint32_t result = 0;
    CHECK_EQ(mx_cancel(ep, &q, &result), MX_SUCCESS);
}

CONFORM(all_numbers_taken, 1, any)
{
    uint32_t max = 0;
    REQUIRE_OK(mx_get_info(nullptr, MX_MAX_NATIVE_ENDPOINTS, nullptr, 0, &max, sizeof max));
    REQUIRE(max >= 8 && max <= 256);
    std::vector<Endpoint> all;
    for (uint32_t i = 0; i < max; i++) {
        all.emplace_back(r);
        CHECK_EQ(all.back().eid(), i);
    }
    CHECK_EQ(try_open(MX_ANY_NIC, MX_ANY_ENDPOINT), MX_BUSY);
}

CONFORM(two_endpoints_of_one_process_talk, 1, any)
{
    Endpoint a(r), b(r);
    mx_endpoint_addr_t to_b{};
    REQUIRE_OK(mx_connect(a, b.nic(), b.eid(), key, patience, &to_b));
    for (uint32_t length : {0u, 20u, 100u, 5000u, 32768u, 100000u}) {
        std::vector<uint8_t> data = pattern(length, length), room(length + 1);
        mx_request_t s = isend(r, a, data.data(), length, to_b, 5);
        mx_request_t q = irecv(r, b, room.data(), length, 5);
        mx_status_t status{};
        bool sent = false, received = false;
        for (double end = r.now_ms() + patience; r.now_ms() < end && !(sent && received);) {
            sent = sent || completes(r, a, s, 0);
            received = received || completes(r, b, q, 0, &status);
        }
        CHECK(sent);
        CHECK(received);
        CHECK_EQ(status.xfer_length, length);
        CHECK_PATTERN(room, length, length);
    }
}

CONFORM(closed_and_null_endpoints_are_refused, 1, any)
{
    Endpoint e(r);
    mx_endpoint_t ep = e;
    mx_request_t q = irecv(r, ep, nullptr, 0, 1);
    CHECK_EQ(e.close(), MX_SUCCESS);
    for (mx_endpoint_t bad : {ep, mx_endpoint_t{nullptr}}) {
        mx_status_t s{};
        uint32_t result = 9;
        mx_endpoint_addr_t a{};
        mx_request_t copy = q, fresh = nullptr;
        CHECK_EQ(mx_close_endpoint(bad), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_wakeup(bad), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_progress(bad), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_disable_progression(bad), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_reenable_progression(bad), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_isend(bad, nullptr, 0, a, 0, nullptr, &fresh), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_issend(bad, nullptr, 0, a, 0, nullptr, &fresh), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_irecv(bad, nullptr, 0, 0, 0, nullptr, &fresh), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_test(bad, &copy, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_wait(bad, &copy, 10, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_test_any(bad, 0, 0, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_wait_any(bad, 10, 0, 0, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_ipeek(bad, &fresh, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_peek(bad, 10, &fresh, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_iprobe(bad, 0, 0, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_probe(bad, 10, 0, 0, &s, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_ibuffered(bad, &copy, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_buffered(bad, &copy, 10, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_cancel(bad, &copy, &result), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_forget(bad, &copy), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_set_request_timeout(bad, nullptr, 1000), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_get_endpoint_addr(bad, &a), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_connect(bad, 1, 0, key, 10, &a), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_iconnect(bad, 1, 0, key, 0, nullptr, &fresh), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_disconnect(bad, a), MX_BAD_ENDPOINT);
        CHECK_EQ(mx_register_unexp_handler(bad, nullptr, nullptr), MX_BAD_ENDPOINT);
    }
}

CONFORM(a_new_life_has_a_new_session, 1, any)
{
    uint32_t first = 0, second = 0, eid = 0;
    uint64_t nic = 0;
    {
        Endpoint e(r, 5);
        REQUIRE_OK(mx_decompose_endpoint_addr2(e.self(), &nic, &eid, &first));
        CHECK_EQ(eid, 5u);
    }
    Endpoint e(r, 5);
    REQUIRE_OK(mx_decompose_endpoint_addr2(e.self(), &nic, &eid, &second));
    CHECK(first != second);
}

CONFORM(own_address_decomposes, 1, any)
{
    Endpoint e(r, 7);
    uint64_t nic = 0, board = 0;
    uint32_t eid = 0;
    REQUIRE_OK(mx_decompose_endpoint_addr(e.self(), &nic, &eid));
    CHECK_EQ(eid, 7u);
    REQUIRE_OK(mx_board_number_to_nic_id(0, &board));
    CHECK_EQ(nic, board);
    CHECK_EQ(nic >> 48, 0u);
}

CONFORM(zero_address_is_harmless, 1, any)
{
    Endpoint e(r);
    mx_endpoint_addr_t zero{};
    void *context = &zero;
    CHECK_EQ(mx_set_endpoint_addr_context(zero, &zero), MX_SUCCESS);
    CHECK_EQ(mx_get_endpoint_addr_context(zero, &context), MX_SUCCESS);
    CHECK(context == nullptr);
    CHECK_EQ(mx_disconnect(e, zero), MX_SUCCESS);
    uint64_t nic = 1;
    uint32_t eid = 1, session = 1;
    mx_decompose_endpoint_addr(zero, &nic, &eid);
    mx_decompose_endpoint_addr2(zero, &nic, &eid, &session);
    mx_request_t q = nullptr; // trouble with the destination shows in the status only
    mx_return_t code = mx_isend(e, nullptr, 0, zero, 1, nullptr, &q);
    if (code == MX_SUCCESS) {
        mx_status_t s = finish(r, e, q, patience);
        CHECK(s.code != MX_STATUS_SUCCESS);
    }
}

CONFORM(endpoints_of_old_lives_leave_no_address, 2, any)
{
    Net net = open_net(r);
    mx_endpoint_addr_t old = net.to[static_cast<size_t>(1 - r.id)];
    r.barrier();
    net.ep.close();
    void *context = &net;
    CHECK_EQ(mx_set_endpoint_addr_context(old, &net), MX_SUCCESS);
    CHECK_EQ(mx_get_endpoint_addr_context(old, &context), MX_SUCCESS);
    CHECK(context == nullptr);
    r.barrier();
}

} // namespace
} // namespace emx::conform

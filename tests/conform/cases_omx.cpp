// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: the omx_ layer, every function by what it does (API 10): codes, timeouts, handlers.
#include "kit.hpp"

#include <open-mx.h>

#include <set>

namespace emx::conform {
namespace {

#define OMX_OK(call) REQUIRE_EQ(call, OMX_SUCCESS)

/// An endpoint and, when connected, the other rank's address and one's own, all of the second layer.
struct Omx {
    omx_endpoint_t ep = nullptr;
    omx_endpoint_addr_t self{}, peer{};
    uint64_t nic = 0, peer_nic = 0;
    uint32_t eid = 0, peer_eid = 0;

    explicit Omx(Rank &r, bool connect = true)
    {
        OMX_OK(omx_open_endpoint(OMX_ANY_NIC, OMX_ANY_ENDPOINT, key, nullptr, 0, &ep));
        OMX_OK(omx_get_endpoint_addr(ep, &self));
        OMX_OK(omx_decompose_endpoint_addr(self, &nic, &eid));
        if (r.n < 2)
            return;
        auto other = static_cast<size_t>(1 - r.id);
        peer_nic = r.exchange(nic)[other];
        peer_eid = static_cast<uint32_t>(r.exchange(eid)[other]);
        if (connect)
            OMX_OK(omx_connect(ep, peer_nic, peer_eid, key, patience, &peer));
        r.barrier();
    }
    ~Omx() { omx_close_endpoint(ep); }
    Omx(const Omx &) = delete;
    Omx &operator=(const Omx &) = delete;
};

omx_status_t done(Rank &r, omx_endpoint_t ep, omx_request_t &request)
{
    omx_status_t status{};
    uint32_t result = 0;
    OMX_OK(omx_wait(ep, &request, &status, &result, patience));
    REQUIRE_EQ(result, 1u);
    CHECK(request == nullptr);
    return status;
}

bool same(const omx_endpoint_addr_t &a, const omx_endpoint_addr_t &b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

CONFORM(omx_init_and_finalize, 1, bare)
{
    CHECK(omx_set_error_handler(nullptr, OMX_ERRORS_RETURN) == OMX_ERRORS_ARE_FATAL);
    omx_endpoint_t ep = nullptr;
    CHECK_EQ(omx_finalize(), OMX_NOT_INITIALIZED);
    CHECK_EQ(omx_open_endpoint(0, 0, key, nullptr, 0, &ep), OMX_NOT_INITIALIZED);
    CHECK_EQ(omx_progress(ep), OMX_NOT_INITIALIZED);
    CHECK_EQ(omx__init_api(0x200), OMX_BAD_LIB_ABI);
    OMX_OK(omx_init());
    CHECK_EQ(omx_init(), OMX_ALREADY_INITIALIZED);
    CHECK_EQ(omx_progress(ep), OMX_BAD_ENDPOINT);
    OMX_OK(omx_finalize());
    CHECK_EQ(omx_finalize(), OMX_NOT_INITIALIZED);
}

CONFORM(omx_open_and_close, 1, any)
{
    omx_endpoint_t a = nullptr, b = nullptr;
    OMX_OK(omx_open_endpoint(0, 3, key, nullptr, 0, &a));
    CHECK_EQ(omx_open_endpoint(0, 3, key, nullptr, 0, &b), OMX_BUSY);
    CHECK(b == nullptr);
    CHECK_EQ(omx_open_endpoint(77, 0, key, nullptr, 0, &b), OMX_BOARD_NOT_FOUND);
    CHECK_EQ(omx_open_endpoint(0, 100000, key, nullptr, 0, &b), OMX_BAD_ENDPOINT);
    CHECK_EQ(omx_open_endpoint(0, 0, key, nullptr, 1, &b), OMX_ENDPOINT_PARAMS_BAD_LIST);
    OMX_OK(omx_open_endpoint(OMX_ANY_NIC, OMX_ANY_ENDPOINT, key, nullptr, 0, &b));
    omx_endpoint_addr_t addr;
    uint64_t nic = 0, own = 0;
    uint32_t eid = 99, session = 0;
    OMX_OK(omx_get_endpoint_addr(b, &addr));
    CHECK_EQ(omx_decompose_endpoint_addr_with_session(addr, &nic, &eid, &session), OMX_SUCCESS);
    CHECK_EQ(eid, 0u);
    CHECK(session != 0);
    CHECK_EQ(omx_board_number_to_nic_id(0, &own), OMX_SUCCESS);
    CHECK_EQ(nic, own);
    CHECK_EQ(omx_close_endpoint(a), OMX_SUCCESS);
    CHECK_EQ(omx_close_endpoint(a), OMX_BAD_ENDPOINT);
    OMX_OK(omx_open_endpoint(0, 3, key, nullptr, 0, &a));
    CHECK_EQ(mx_close_endpoint(reinterpret_cast<mx_endpoint_t>(a)), MX_SUCCESS); // one space of handles
    CHECK_EQ(omx_close_endpoint(b), OMX_SUCCESS);
}

omx_return_t seen_code;
std::string seen_text;
int seen_count;

omx_return_t watch(const char *text, omx_return_t code)
{
    seen_code = code;
    seen_text = text;
    seen_count++;
    return code;
}

omx_return_t rename(const char *, omx_return_t) { return OMX_NOT_IMPLEMENTED; }

CONFORM(omx_endpoint_parameters, 1, any)
{
    omx_endpoint_param_t params[3]{};
    params[0].key = OMX_ENDPOINT_PARAM_ERROR_HANDLER;
    params[0].val.error_handler = watch;
    params[1].key = OMX_ENDPOINT_PARAM_UNEXP_QUEUE_MAX;
    params[1].val.unexp_queue_max = 1 << 20;
    params[2].key = OMX_ENDPOINT_PARAM_CONTEXT_ID;
    params[2].val.context_id = {4, 8};
    omx_endpoint_t ep = nullptr;
    OMX_OK(omx_open_endpoint(0, 0, key, params, 3, &ep));
    omx_request_t q = nullptr;
    char c;
    seen_count = 0;
    CHECK_EQ(omx_irecv(ep, &c, 1, 0, 0xff, nullptr, &q), OMX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
    CHECK_EQ(seen_count, 1);
    CHECK_EQ(seen_code, OMX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
    CHECK(!seen_text.empty());
    CHECK_EQ(omx_irecv(ep, &c, 1, 2, 1, nullptr, &q), OMX_BAD_MATCH_MASK);
    CHECK_EQ(seen_count, 2);
    CHECK_EQ(omx_close_endpoint(ep), OMX_SUCCESS);
    params[2].val.context_id = {17, 0};
    CHECK_EQ(omx_open_endpoint(0, 0, key, params, 3, &ep), OMX_ENDPOINT_PARAM_BAD_VALUE);
    params[2].key = static_cast<omx_endpoint_param_key_t>(3);
    CHECK_EQ(omx_open_endpoint(0, 0, key, params, 3, &ep), OMX_ENDPOINT_PARAM_BAD_KEY);
    CHECK(ep == nullptr);
}

CONFORM(omx_error_handlers, 1, any)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    CHECK(omx_set_error_handler(nullptr, watch) == OMX_ERRORS_RETURN); // set as mx_
    CHECK_EQ(omx_progress(nullptr), OMX_BAD_ENDPOINT);
    CHECK_EQ(seen_code, OMX_BAD_ENDPOINT);
    CHECK(omx_set_error_handler(nullptr, rename) == watch);
    CHECK_EQ(omx_progress(nullptr), OMX_NOT_IMPLEMENTED);
    CHECK_EQ(static_cast<int>(mx_progress(nullptr)), 99); // whichever layer is called
    CHECK(omx_set_error_handler(nullptr, OMX_ERRORS_RETURN) == rename);
    Omx o(r);
    CHECK(omx_set_error_handler(o.ep, watch) == nullptr); // it had the global one
    omx_request_t q = nullptr;
    CHECK_EQ(omx_test(o.ep, &q, nullptr, nullptr), OMX_BAD_REQUEST);
    CHECK_EQ(seen_code, OMX_BAD_REQUEST);
    CHECK(omx_set_error_handler(o.ep, nullptr) == watch);
    CHECK(omx_set_error_handler(reinterpret_cast<omx_endpoint_t>(16), watch) == nullptr);
    CHECK(mx_set_error_handler(MX_ERRORS_RETURN) == MX_ERRORS_RETURN);
}

CONFORM(omx_failed_requests_reach_the_handler, 1, any)
{
    Omx o(r);
    omx_set_error_handler(o.ep, watch);
    omx_request_t recv = nullptr, send = nullptr;
    char little[2] = {}, much[5] = "1234";
    seen_count = 0;
    OMX_OK(omx_irecv(o.ep, little, sizeof little, 1, all_bits, nullptr, &recv));
    OMX_OK(omx_isend(o.ep, much, sizeof much, o.self, 1, nullptr, &send));
    omx_status_t s = done(r, o.ep, recv);
    CHECK_EQ(s.code, OMX_MESSAGE_TRUNCATED);
    CHECK_EQ(s.msg_length, 5u);
    CHECK_EQ(s.xfer_length, 2u);
    CHECK_EQ(seen_count, 1);
    CHECK_EQ(seen_code, OMX_MESSAGE_TRUNCATED);
    CHECK_EQ(little[1], '2');
    CHECK_EQ(done(r, o.ep, send).code, OMX_SUCCESS);
    // A handler of the second layer gets its own code for what the first one words otherwise.
    OMX_OK(omx_issend(o.ep, much, sizeof much, o.self, 2, nullptr, &send));
    uint32_t result = 7;
    CHECK_EQ(omx_cancel(o.ep, &send, &result), OMX_BAD_REQUEST);
    CHECK_EQ(result, 0u);
    CHECK_EQ(seen_code, OMX_BAD_REQUEST);
    CHECK_EQ(omx_cancel_notest(o.ep, &send, &result), OMX_BAD_REQUEST);
    OMX_OK(omx_irecv(o.ep, much, sizeof much, 2, all_bits, nullptr, &recv));
    CHECK_EQ(done(r, o.ep, recv).code, OMX_SUCCESS);
    CHECK_EQ(done(r, o.ep, send).code, OMX_SUCCESS);
    CHECK_EQ(omx_isendv(o.ep, nullptr, 3, o.self, 1, nullptr, &send), OMX_SEGMENTS_BAD_COUNT);
    CHECK_EQ(seen_code, OMX_SEGMENTS_BAD_COUNT);
}

CONFORM(omx_messages_of_every_size, 2, any)
{
    Omx o(r);
    for (uint32_t length : {0u, 1u, 32u, 33u, 128u, 129u, 4097u, 32768u, 32769u, 500000u})
        for (bool synchronous : {false, true}) {
            std::vector<uint8_t> data = pattern(length, length), room(length);
            omx_request_t recv = nullptr, send = nullptr;
            int cookie = 0;
            OMX_OK(omx_irecv(o.ep, room.data(), length, length, all_bits, &cookie, &recv));
            OMX_OK((synchronous ? omx_issend : omx_isend)(o.ep, data.data(), length, o.peer, length, &data,
                                                          &send));
            void *context = nullptr;
            OMX_OK(omx_context(&recv, &context));
            CHECK(context == &cookie);
            omx_status_t s = done(r, o.ep, recv);
            CHECK_EQ(s.code, OMX_SUCCESS);
            CHECK_EQ(s.match_info, length);
            CHECK_EQ(s.msg_length, length);
            CHECK_EQ(s.xfer_length, length);
            CHECK(s.context == &cookie);
            CHECK(same(s.addr, o.peer));
            s = done(r, o.ep, send);
            CHECK_EQ(s.code, OMX_SUCCESS);
            CHECK(s.context == &data);
            CHECK_PATTERN(room, length, length);
        }
    r.barrier();
}

CONFORM(omx_segment_lists, 2, any)
{
    Omx o(r);
    for (uint32_t length : {100u, 30000u, 200000u}) {
        std::vector<uint8_t> data = pattern(1, length), room(length);
        omx_seg_t out[3] = {{data.data(), 7}, {nullptr, 0}, {data.data() + 7, length - 7}};
        omx_seg_t in[2] = {{room.data(), length / 2}, {room.data() + length / 2, length - length / 2}};
        omx_request_t recv = nullptr, send = nullptr, sync = nullptr;
        OMX_OK(omx_irecvv(o.ep, in, 2, 1, all_bits, nullptr, &recv));
        OMX_OK(omx_isendv(o.ep, out, 3, o.peer, 1, nullptr, &send));
        CHECK_EQ(done(r, o.ep, recv).xfer_length, length);
        CHECK_PATTERN(room, 1, length);
        std::fill(room.begin(), room.end(), uint8_t{0});
        OMX_OK(omx_irecvv(o.ep, in, 2, 2, all_bits, nullptr, &recv));
        OMX_OK(omx_issendv(o.ep, out, 3, o.peer, 2, nullptr, &sync));
        CHECK_EQ(done(r, o.ep, recv).xfer_length, length);
        CHECK_PATTERN(room, 1, length);
        CHECK_EQ(done(r, o.ep, send).code, OMX_SUCCESS);
        CHECK_EQ(done(r, o.ep, sync).code, OMX_SUCCESS);
    }
    std::vector<omx_seg_t> many(257, omx_seg_t{nullptr, 0});
    omx_request_t q = nullptr;
    CHECK_EQ(omx_isendv(o.ep, many.data(), 257, o.peer, 1, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    CHECK_EQ(omx_issendv(o.ep, many.data(), 257, o.peer, 1, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    CHECK_EQ(omx_irecvv(o.ep, many.data(), 257, 1, all_bits, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    size_t huge = size_t{1} << 32;
    CHECK_EQ(omx_isend(o.ep, many.data(), huge, o.peer, 1, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    CHECK_EQ(omx_issend(o.ep, many.data(), huge, o.peer, 1, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    CHECK_EQ(omx_irecv(o.ep, many.data(), huge, 1, all_bits, nullptr, &q), OMX_SEGMENTS_BAD_COUNT);
    r.barrier();
}

CONFORM(omx_timeouts_come_last_and_zero_is_now, 1, any)
{
    Omx o(r);
    omx_request_t q = nullptr, peeked = nullptr;
    omx_status_t s{};
    s.msg_length = 77;
    uint32_t result = 7;
    char c = 0;
    OMX_OK(omx_irecv(o.ep, &c, 1, 1, all_bits, nullptr, &q));
    double start = r.now_ms();
    OMX_OK(omx_wait(o.ep, &q, &s, &result, 0));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_wait_any(o.ep, 0, 0, &s, &result, 0));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_probe(o.ep, 0, 0, &s, &result, 0));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_peek(o.ep, &peeked, &result, 0));
    CHECK_EQ(result, 0u);
    CHECK_TOOK(start, 0, 40);
    start = r.now_ms();
    OMX_OK(omx_wait(o.ep, &q, &s, &result, 60));
    OMX_OK(omx_wait_any(o.ep, 0, 0, &s, &result, 60));
    OMX_OK(omx_probe(o.ep, 0, 0, &s, &result, 60));
    OMX_OK(omx_peek(o.ep, &peeked, &result, 60));
    CHECK_EQ(result, 0u);
    CHECK_TOOK(start, 239, 5000);
    CHECK_EQ(s.msg_length, 77u); // left alone
    CHECK(q != nullptr);
    // For ever, and it ends as soon as there is something.
    omx_request_t send = nullptr;
    OMX_OK(omx_isend(o.ep, const_cast<char *>("x"), 1, o.self, 5, nullptr, &send));
    OMX_OK(omx_probe(o.ep, 5, all_bits, &s, &result, OMX_TIMEOUT_INFINITE));
    CHECK_EQ(result, 1u);
    CHECK_EQ(s.msg_length, 1u);
    CHECK_EQ(s.match_info, 5u);
    CHECK(same(s.addr, o.self));
    OMX_OK(omx_isend(o.ep, const_cast<char *>("y"), 1, o.self, 1, nullptr, nullptr));
    OMX_OK(omx_wait(o.ep, &q, &s, &result, OMX_TIMEOUT_INFINITE));
    CHECK_EQ(result, 1u);
    CHECK_EQ(c, 'y');
    OMX_OK(omx_peek(o.ep, &peeked, &result, OMX_TIMEOUT_INFINITE));
    CHECK_EQ(result, 1u);
    CHECK(peeked == send);
    OMX_OK(omx_wait_any(o.ep, 5, all_bits, &s, &result, OMX_TIMEOUT_INFINITE));
    CHECK_EQ(result, 1u);
}

CONFORM(omx_test_and_its_kin, 1, any)
{
    Omx o(r);
    omx_request_t recv = nullptr, send = nullptr, peeked = nullptr;
    omx_status_t s{};
    uint32_t result = 7;
    char c = 0;
    OMX_OK(omx_irecv(o.ep, &c, 1, 1, all_bits, nullptr, &recv));
    OMX_OK(omx_test(o.ep, &recv, &s, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_test_any(o.ep, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_ipeek(o.ep, &peeked, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_iprobe(o.ep, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_isend(o.ep, const_cast<char *>("x"), 1, o.self, 2, nullptr, &send));
    OMX_OK(omx_ibuffered(o.ep, &send, &result));
    CHECK_EQ(result, 1u);
    OMX_OK(omx_iprobe(o.ep, 2, all_bits, &s, &result));
    CHECK_EQ(result, 1u);
    OMX_OK(omx_ipeek(o.ep, &peeked, &result));
    CHECK_EQ(result, 1u);
    CHECK(peeked == send);
    omx_request_t stale = send;
    OMX_OK(omx_test_any(o.ep, 2, all_bits, &s, &result));
    CHECK_EQ(result, 1u);
    CHECK_EQ(omx_test(o.ep, &stale, &s, &result), OMX_BAD_REQUEST);
    CHECK_EQ(omx_wait(o.ep, &stale, &s, &result, 1), OMX_BAD_REQUEST);
    CHECK_EQ(omx_ibuffered(o.ep, &stale, &result), OMX_BAD_REQUEST);
    CHECK_EQ(omx_forget(o.ep, &stale), OMX_BAD_REQUEST);
    void *context = nullptr;
    CHECK_EQ(omx_context(&stale, &context), OMX_BAD_REQUEST);
    OMX_OK(omx_forget(o.ep, &recv));
    CHECK(recv == nullptr);
    OMX_OK(omx_isend(o.ep, const_cast<char *>("z"), 1, o.self, 1, nullptr, nullptr));
    OMX_OK(omx_progress(o.ep));
    CHECK_EQ(c, 'z'); // received by the one that was forgotten
    OMX_OK(omx_test_any(o.ep, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
}

CONFORM(omx_cancel_and_cancel_notest, 1, any)
{
    Omx o(r);
    omx_request_t a = nullptr, b = nullptr;
    omx_status_t s{};
    uint32_t result = 7;
    char c = 0;
    int cookie = 0;
    OMX_OK(omx_irecv(o.ep, &c, 1, 1, all_bits, nullptr, &a));
    OMX_OK(omx_cancel(o.ep, &a, &result));
    CHECK_EQ(result, 1u);
    CHECK(a == nullptr); // gone, and never tested
    OMX_OK(omx_test_any(o.ep, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_irecv(o.ep, &c, 1, 1, all_bits, &cookie, &b));
    OMX_OK(omx_cancel_notest(o.ep, &b, &result));
    CHECK_EQ(result, 1u);
    REQUIRE(b != nullptr); // completes, and must be tested
    OMX_OK(omx_test(o.ep, &b, &s, &result));
    CHECK_EQ(result, 1u);
    CHECK_EQ(s.code, OMX_CANCELLED);
    CHECK_EQ(s.xfer_length, 0u);
    CHECK(s.context == &cookie);
    // A message that is matched already stays.
    OMX_OK(omx_irecv(o.ep, &c, 1, 1, all_bits, nullptr, &a));
    OMX_OK(omx_isend(o.ep, const_cast<char *>("x"), 1, o.self, 1, nullptr, nullptr));
    OMX_OK(omx_cancel_notest(o.ep, &a, &result));
    CHECK_EQ(result, 0u);
    OMX_OK(omx_cancel(o.ep, &a, &result));
    CHECK_EQ(result, 0u);
    CHECK_EQ(done(r, o.ep, a).code, OMX_SUCCESS);
    CHECK_EQ(omx_cancel(o.ep, &a, &result), OMX_BAD_REQUEST);
    CHECK_EQ(omx_cancel_notest(o.ep, &a, &result), OMX_BAD_REQUEST);
}

CONFORM(omx_connect_codes, 2, any)
{
    Omx o(r, false);
    omx_endpoint_addr_t a{};
    r.barrier();
    if (r.id == 0) {
        CHECK_EQ(omx_connect(o.ep, o.peer_nic, 27, key, patience, &a), OMX_REMOTE_ENDPOINT_CLOSED);
        CHECK_EQ(omx_connect(o.ep, o.peer_nic, o.peer_eid, key + 1, patience, &a),
                 OMX_REMOTE_ENDPOINT_BAD_CONNECTION_KEY);
        CHECK_EQ(omx_connect(o.ep, o.peer_nic, 100000, key, patience, &a), OMX_REMOTE_ENDPOINT_BAD_ID);
        OMX_OK(omx_connect(o.ep, o.peer_nic, o.peer_eid, key, OMX_TIMEOUT_INFINITE, &a));
        uint64_t nic = 0;
        uint32_t eid = 99;
        OMX_OK(omx_decompose_endpoint_addr(a, &nic, &eid));
        CHECK_EQ(nic, o.peer_nic);
        CHECK_EQ(eid, o.peer_eid);
        OMX_OK(omx_connect(o.ep, o.nic, o.eid, key, 0, &a)); // oneself: at once
        CHECK(same(a, o.self));
        omx_request_t q = nullptr;
        int cookie = 0;
        OMX_OK(omx_iconnect(o.ep, o.peer_nic, o.peer_eid, key, 17, &cookie, &q));
        omx_status_t s = done(r, o.ep, q);
        CHECK_EQ(s.code, OMX_SUCCESS);
        CHECK_EQ(s.match_info, 17u);
        CHECK(s.context == &cookie);
        OMX_OK(omx_iconnect(o.ep, o.peer_nic, o.peer_eid, key + 1, 18, nullptr, &q));
        CHECK_EQ(done(r, o.ep, q).code, OMX_REMOTE_ENDPOINT_BAD_CONNECTION_KEY);
        OMX_OK(omx_iconnect(o.ep, o.peer_nic, 27, key, 18, nullptr, &q));
        CHECK_EQ(done(r, o.ep, q).code, OMX_REMOTE_ENDPOINT_CLOSED);
        OMX_OK(omx_iconnect(o.ep, o.peer_nic, 100000, key, 18, nullptr, &q));
        CHECK_EQ(done(r, o.ep, q).code, OMX_REMOTE_ENDPOINT_BAD_ID);
    }
    r.barrier();
}

CONFORM(omx_connect_without_patience, 2, apart)
{
    Omx o(r, false);
    if (r.id == 0) {
        r.cut(true);
        omx_endpoint_addr_t a{};
        double start = r.now_ms();
        CHECK_EQ(omx_connect(o.ep, o.peer_nic, o.peer_eid, key, 0, &a), OMX_TIMEOUT);
        CHECK_TOOK(start, 0, 100);
        CHECK_EQ(omx_connect(o.ep, o.peer_nic, o.peer_eid, key, 50, &a), OMX_TIMEOUT);
        CHECK_TOOK(start, 50, 250);
        r.cut(false);
        OMX_OK(omx_connect(o.ep, o.peer_nic, o.peer_eid, key, patience, &a));
    }
    r.barrier();
}

CONFORM(omx_failures_of_peers, 2, any)
{
    Omx o(r);
    if (r.id == 1) {
        OMX_OK(omx_close_endpoint(o.ep));
        r.barrier();
        r.barrier();
        OMX_OK(omx_open_endpoint(0, o.eid, key, nullptr, 0, &o.ep));
        r.barrier();
        r.barrier();
        return;
    }
    r.barrier();
    omx_request_t q = nullptr;
    OMX_OK(omx_issend(o.ep, nullptr, 0, o.peer, 1, nullptr, &q));
    CHECK_EQ(done(r, o.ep, q).code, OMX_REMOTE_ENDPOINT_CLOSED);
    r.barrier();
    r.barrier();
    OMX_OK(omx_issend(o.ep, nullptr, 0, o.peer, 1, nullptr, &q));
    omx_return_t code = done(r, o.ep, q).code;
    CHECK(code == OMX_REMOTE_ENDPOINT_BAD_SESSION || code == OMX_REMOTE_ENDPOINT_CLOSED ||
          code == OMX_REMOTE_ENDPOINT_UNREACHABLE);
    OMX_OK(omx_connect(o.ep, o.peer_nic, o.peer_eid, key, patience, &o.peer));
    OMX_OK(omx_issend(o.ep, nullptr, 0, o.peer, 1, nullptr, &q));
    OMX_OK(omx_disconnect(o.ep, o.peer));
    CHECK_EQ(done(r, o.ep, q).code, OMX_REMOTE_ENDPOINT_UNREACHABLE);
    r.barrier();
}

CONFORM(omx_request_timeout, 2, apart)
{
    Omx o(r);
    if (r.id == 0) {
        r.cut(true);
        omx_request_t q = nullptr;
        OMX_OK(omx_issend(o.ep, nullptr, 0, o.peer, 1, nullptr, &q));
        OMX_OK(omx_set_request_timeout(o.ep, q, 1));
        omx_status_t s = done(r, o.ep, q);
        CHECK_EQ(s.code, OMX_TIMEOUT);
        CHECK_EQ(omx_set_request_timeout(o.ep, nullptr, 0), OMX_SUCCESS);
        CHECK_EQ(omx_set_request_timeout(o.ep, reinterpret_cast<omx_request_t>(16), 1), OMX_BAD_REQUEST);
        r.cut(false);
    }
    r.barrier();
}

struct Seen {
    int calls = 0;
    uint64_t match = 0;
    uint32_t length = 0;
    char first = 0;
    omx_endpoint_addr_t source{};
    omx_endpoint_t ep = nullptr;
    omx_return_t closing = OMX_SUCCESS;
};

omx_unexp_handler_action_t on_unexpected(void *context, omx_endpoint_addr_t source, uint64_t match,
                                         uint32_t length, void *data)
{
    auto *seen = static_cast<Seen *>(context);
    if (seen->calls++ == 0)
        seen->match = match;
    seen->length = length;
    seen->first = data ? *static_cast<char *>(data) : '\0';
    seen->source = source;
    seen->closing = omx_close_endpoint(seen->ep);
    return match == 1 ? OMX_UNEXP_HANDLER_RECV_FINISHED : OMX_UNEXP_HANDLER_RECV_CONTINUE;
}

CONFORM(omx_unexpected_handler, 2, any)
{
    Omx o(r);
    if (r.id == 1) {
        for (uint64_t i : {1, 2, 3}) {
            omx_request_t q = nullptr;
            OMX_OK(omx_issend(o.ep, const_cast<char *>("abc"), 3, o.peer, i, nullptr, &q));
            // A message that the handler finished is of no length to its sender.
            CHECK_EQ(done(r, o.ep, q).code, i == 1 ? OMX_MESSAGE_TRUNCATED : OMX_SUCCESS);
        }
        r.barrier();
        return;
    }
    Seen seen;
    seen.ep = o.ep;
    OMX_OK(omx_register_unexp_handler(o.ep, on_unexpected, &seen));
    for (double end = r.now_ms() + patience; seen.calls < 1 && r.now_ms() < end;)
        OMX_OK(omx_progress(o.ep));
    CHECK(seen.calls >= 1); // the second message may have come by now
    CHECK_EQ(seen.match, 1u);
    CHECK_EQ(seen.length, 3u);
    CHECK(same(seen.source, o.peer));
    CHECK_EQ(seen.closing, OMX_NOT_SUPPORTED_IN_HANDLER);
    // The others are left to the queue.
    char room[4] = {};
    omx_status_t s{};
    uint32_t result = 0;
    OMX_OK(omx_probe(o.ep, 2, all_bits, &s, &result, patience));
    CHECK_EQ(result, 1u);
    CHECK_EQ(seen.calls, 2);
    omx_request_t q = nullptr;
    OMX_OK(omx_irecv(o.ep, room, 3, 2, all_bits, nullptr, &q));
    CHECK_EQ(done(r, o.ep, q).xfer_length, 3u);
    CHECK_EQ(room[0], 'a');
    OMX_OK(omx_register_unexp_handler(o.ep, nullptr, nullptr));
    int calls = seen.calls;
    OMX_OK(omx_irecv(o.ep, room, 3, 3, all_bits, nullptr, &q));
    CHECK_EQ(done(r, o.ep, q).xfer_length, 3u);
    CHECK_EQ(seen.calls, calls);
    r.barrier();
}

CONFORM(omx_progression_gate_and_wakeup, 1, any)
{
    Omx o(r);
    Seen seen;
    seen.ep = o.ep;
    OMX_OK(omx_register_unexp_handler(o.ep, on_unexpected, &seen));
    OMX_OK(omx_disable_progression(o.ep));
    OMX_OK(omx_isend(o.ep, const_cast<char *>("x"), 1, o.self, 1, nullptr, nullptr));
    OMX_OK(omx_progress(o.ep));
    CHECK_EQ(seen.calls, 0);
    OMX_OK(omx_reenable_progression(o.ep));
    OMX_OK(omx_progress(o.ep));
    CHECK_EQ(seen.calls, 1);
    CHECK_EQ(seen.first, 'x');
    CHECK_EQ(omx_wakeup(o.ep), OMX_SUCCESS);
    CHECK_EQ(omx_wakeup(nullptr), OMX_BAD_ENDPOINT);
    CHECK_EQ(omx_disable_progression(nullptr), OMX_BAD_ENDPOINT);
    CHECK_EQ(omx_reenable_progression(nullptr), OMX_BAD_ENDPOINT);
}

CONFORM(omx_address_contexts_and_names, 2, any)
{
    Omx o(r);
    int mine = 0;
    void *got = &got;
    OMX_OK(omx_get_endpoint_addr_context(o.peer, &got));
    CHECK(got == nullptr);
    OMX_OK(omx_set_endpoint_addr_context(o.peer, &mine));
    OMX_OK(omx_get_endpoint_addr_context(o.peer, &got));
    CHECK(got == &mine);
    char name[OMX_HOSTNAMELEN_MAX] = {};
    uint64_t nic = 0;
    uint32_t board = 99;
    OMX_OK(omx_nic_id_to_board_number(o.nic, &board));
    CHECK_EQ(board, 0u);
    OMX_OK(omx_nic_id_to_hostname(o.nic, name));
    OMX_OK(omx_hostname_to_nic_id(name, &nic));
    CHECK_EQ(nic, o.nic);
    CHECK_EQ(omx_nic_id_to_board_number(0x0123456789ab, &board), OMX_BOARD_NOT_FOUND);
    CHECK_EQ(omx_board_number_to_nic_id(31, &nic), OMX_BOARD_NOT_FOUND);
    char nobody[] = "nobody:9";
    CHECK_EQ(omx_hostname_to_nic_id(nobody, &nic), OMX_PEER_NOT_FOUND);
    CHECK_EQ(omx_nic_id_to_hostname(0x0123456789ab, name), OMX_PEER_NOT_FOUND);
    r.barrier();
}

CONFORM(omx_information, 1, any)
{
    Omx o(r);
    uint32_t v = 0, count = 0;
    uint8_t board = 0, none = 31;
    uint64_t ids[33] = {};
    char text[128];
    auto number = [&](omx_info_key_t k, const void *in, uint32_t length) {
        v = 0xdddddddd;
        return omx_get_info(nullptr, k, in, length, &v, sizeof v);
    };
    CHECK_EQ(number(OMX_INFO_BOARD_MAX, nullptr, 0), OMX_SUCCESS);
    CHECK_EQ(v, 32u);
    CHECK_EQ(number(OMX_INFO_ENDPOINT_MAX, nullptr, 0), OMX_SUCCESS);
    CHECK(v >= 8 && v < 256);
    CHECK_EQ(number(OMX_INFO_BOARD_COUNT, nullptr, 0), OMX_SUCCESS);
    CHECK(v >= 1);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_IDS, nullptr, 0, ids, sizeof ids), OMX_SUCCESS);
    CHECK_EQ(ids[0], o.nic);
    CHECK_EQ(ids[v], 0u);
    text[0] = '\0';
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_HOSTNAME, &board, 1, text, sizeof text), OMX_SUCCESS);
    CHECK(std::strchr(text, ':') != nullptr);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_HOSTNAME, &board, 1, text, 3), OMX_SUCCESS);
    CHECK_EQ(std::strlen(text), size_t{2}); // cut, and ended
    CHECK_EQ(omx_get_info(o.ep, OMX_INFO_BOARD_IFACENAME, nullptr, 0, text, sizeof text), OMX_SUCCESS);
    CHECK(text[0] != '\0');
    CHECK_EQ(number(OMX_INFO_BOARD_NUMA_NODE, &board, 1), OMX_SUCCESS);
    CHECK_EQ(number(OMX_INFO_COUNTER_MAX, nullptr, 0), OMX_SUCCESS);
    count = v;
    CHECK(count > 10 && count < 256);
    std::vector<uint32_t> values(count);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_COUNTER_VALUES, &board, 1, values.data(), 4 * count),
             OMX_SUCCESS);
    std::set<std::string> labels;
    for (uint32_t i = 0; i < count; i++) {
        auto which = static_cast<uint8_t>(i);
        CHECK_EQ(omx_get_info(nullptr, OMX_INFO_COUNTER_LABEL, &which, 1, text, sizeof text), OMX_SUCCESS);
        labels.insert(text);
    }
    CHECK_EQ(labels.size(), size_t{count});
    auto beyond = static_cast<uint8_t>(count);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_COUNTER_LABEL, &beyond, 1, text, sizeof text),
             OMX_BAD_INFO_ADDRESS);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_HOSTNAME, &none, 1, text, sizeof text),
             OMX_BOARD_NOT_FOUND);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_COUNT, nullptr, 0, nullptr, 4), OMX_BAD_INFO_ADDRESS);
    CHECK_EQ(omx_get_info(nullptr, OMX_INFO_BOARD_COUNT, nullptr, 0, &v, 3), OMX_BAD_INFO_LENGTH);
    CHECK_EQ(number(static_cast<omx_info_key_t>(10), nullptr, 0), OMX_BAD_INFO_KEY);
}

CONFORM(omx_texts_of_codes, 1, bare)
{
    std::set<std::string> texts;
    const int codes[] = {0,  1,  3,  4,  5,  6,  7,  8,  9,  12, 13, 14, 15, 20, 21, 22, 24, 25, 26,
                         28, 30, 32, 33, 34, 35, 36, 37, 38, 42, 90, 91, 92, 93, 94, 95, 96, 97, 99};
    for (int c : codes)
        texts.insert(omx_strerror(static_cast<omx_return_t>(c)));
    CHECK(texts.size() >= std::size(codes) - 3); // some mean the same as requests and as calls
    std::string unknown = omx_strerror(static_cast<omx_return_t>(98));
    CHECK(!unknown.empty());
    CHECK(!texts.count(unknown));
    for (int c : {-1, 100, 4711, 0x7fffffff})
        CHECK_EQ(std::string(omx_strerror(static_cast<omx_return_t>(c))), unknown);
}

} // namespace
} // namespace emx::conform

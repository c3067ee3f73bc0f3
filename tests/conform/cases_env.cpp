// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: environment variables (API 9).
#include "kit.hpp"

namespace emx::conform {
namespace {

/// init under some variables; ends the library again.
struct Session {
    explicit Session(Rank &r)
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE_OK(mx_init());
    }
    ~Session() { mx_finalize(); }
};

void exchange_all_sizes(Rank &r)
{
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    for (size_t to : {other, static_cast<size_t>(r.id)})
        for (uint32_t length : {0u, 32u, 128u, 5000u, 32768u, 32769u, 300000u}) {
            std::vector<uint8_t> data = pattern(length, length), room(length);
            mx_request_t q = irecv(r, net.ep, room.data(), length, 1);
            mx_request_t s = isend(r, net.ep, data.data(), length, net.to[to], 1);
            finish_ok(r, net.ep, q);
            finish_ok(r, net.ep, s);
            CHECK_PATTERN(room, length, length);
        }
    r.barrier();
}

CONFORM(shortcuts_disabled_by_mx_names, 2, bare)
{
    r.env("MX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHMEM", "1");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(shortcuts_disabled_by_other_names, 2, bare)
{
    r.env("OMX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHARED", "1");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(synchronous_self_send_through_the_device, 1, bare)
{
    r.env("MX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHMEM", "1");
    Session s(r);
    Endpoint ep(r);
    char c = 0;
    mx_request_t q = issend(r, ep, "x", 1, ep.self(), 1);
    CHECK(!completes(r, ep, q, 50));
    recv(r, ep, &c, 1, 1);
    CHECK_EQ(c, 'x');
    finish_ok(r, ep, q);
}

CONFORM(nonsense_in_mx_variables_is_ignored, 2, bare)
{
    for (const char *name :
         {"MX_RCACHE", "MX_MONOTHREAD", "MX_CSUM", "MX_BONDING", "MX_PIPELINE_LOG", "MX_FW_ACK", "MX_ZOMBIE",
          "OMX_VERBDEBUG", "MX_IMM_ACK", "OMX_RNDV_THRESHOLD", "MX_MAX_RETRIES", "OMX_SHARED_RNDV_THRESHOLD",
          "OMX_CTXIDS", "OMX_PROCESS_BINDING", "MX_NONSENSE"})
        r.env(name, "rubbish");
    r.env("MX_ZOMBIE_SEND", "-3");
    r.env("OMX_WAITSPIN", "");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(errors_return_by_environment, 1, bare)
{
    r.env("MX_ERRORS_ARE_FATAL", "0"); // LIGO sets no handler
    REQUIRE_OK(mx_init());
    mx_endpoint_t ep = nullptr;
    CHECK_EQ(mx_open_endpoint(55, 0, key, nullptr, 0, &ep), MX_BOARD_UNKNOWN);
    CHECK_EQ(mx_finalize(), MX_SUCCESS);
}

CONFORM(no_zombies, 2, bare | apart)
{
    r.env("MX_ZOMBIE_SEND", "0");
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0)
        r.cut(true);
    r.barrier();
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, "x", 1, net.to[1], 1);
        CHECK(!completes(r, net.ep, q, 100)); // completes when acknowledged
        r.cut(false);
        finish_ok(r, net.ep, q);
    } else {
        char c;
        recv(r, net.ep, &c, 1, 1);
    }
    r.barrier();
}

CONFORM(zombies_complete_before_the_ack, 2, bare | apart)
{
    r.env("MX_ZOMBIE_SEND", "1"); // a boolean, natively
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        for (int i = 0; i < 20; i++) {
            mx_request_t q = isend(r, net.ep, "x", 1, net.to[1], 1);
            CHECK(completes(r, net.ep, q, 0));
        }
        r.cut(false);
    } else {
        char c;
        for (int i = 0; i < 20; i++)
            recv(r, net.ep, &c, 1, 1);
    }
    r.barrier();
}

CONFORM(rendezvous_threshold, 2, bare)
{
    r.env("OMX_RNDV_THRESHOLD", "1000");
    Session session(r);
    uint32_t max = 0;
    CHECK_EQ(mx_get_info(nullptr, MX_COPY_SEND_MAX, nullptr, 0, &max, sizeof max), MX_SUCCESS);
    CHECK_EQ(max, 1000u);
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 1001), room(1001);
    if (r.id == 0) {
        mx_request_t small = isend(r, net.ep, data.data(), 1000, net.to[1], 1);
        finish_ok(r, net.ep, small);
        mx_request_t large = isend(r, net.ep, data.data(), 1001, net.to[1], 2);
        CHECK(!completes(r, net.ep, large, 100));
        r.barrier();
        finish_ok(r, net.ep, large);
    } else {
        r.barrier();
        recv(r, net.ep, room.data(), 1001, 2);
        CHECK_PATTERN(room, 1, 1001);
        recv(r, net.ep, room.data(), 1001, 1);
    }
    r.barrier();
}

CONFORM(any_endpoint_by_environment, 1, bare)
{
    r.env("OMX_ANY_ENDPOINT", "1");
    Session session(r);
    Endpoint a(r, 9), b(r, 9);
    CHECK_EQ(a.eid(), 0u);
    CHECK_EQ(b.eid(), 1u);
}

CONFORM(context_ids_by_environment, 1, bare)
{
    r.env("OMX_CTXIDS", "4,8");
    Session session(r);
    Endpoint ep(r);
    mx_request_t q = nullptr;
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 0, 0xff, nullptr, &q), MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 0, 0xf00, nullptr, &q), MX_SUCCESS);
}

CONFORM(retry_limit_by_environment, 2, bare | apart)
{
    r.env("MX_MAX_RETRIES", "4"); // periods of 0.5 s
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        double start = r.now_ms();
        mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
        mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK(r.now_ms() - start > 1000);
        CHECK(r.now_ms() - start < 6000);
        r.cut(false);
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: init and finalize, error handlers, strings (API sections 1.7, 2.1, 2.6, 3.1).
#include "kit.hpp"

#include <climits>

extern "C" int mx__regcache_clean(void *addr, size_t len); // no header declares it

namespace emx::conform {
namespace {

thread_local int handler_calls;
thread_local mx_return_t handler_code;

mx_return_t count_and_replace(char *text, mx_return_t code)
{
    handler_calls += text != nullptr;
    handler_code = code;
    return MX_FAILURE;
}

mx_return_t count_and_return(char *, mx_return_t code)
{
    handler_calls++;
    handler_code = code;
    return code;
}

CONFORM(init_twice, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    REQUIRE_OK(mx_init());
    CHECK_EQ(mx_init(), MX_ALREADY_INITIALIZED);
    mx_endpoint_t ep = nullptr;
    CHECK_EQ(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, key, nullptr, 0, &ep), MX_SUCCESS);
    CHECK_EQ(mx_close_endpoint(ep), MX_SUCCESS);
    CHECK_EQ(mx_finalize(), MX_SUCCESS); // one ends it
    CHECK_EQ(mx_finalize(), MX_NOT_INITIALIZED);
}

CONFORM(finalize_without_init, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    CHECK_EQ(mx_finalize(), MX_NOT_INITIALIZED);
}

CONFORM(init_again_after_finalize, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(mx_init());
        {
            Endpoint ep(r);
            CHECK_EQ(ep.eid(), 0u);
        }
        CHECK_EQ(mx_finalize(), MX_SUCCESS);
    }
}

CONFORM(api_generation, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    for (int bad : {0, 0x201, 0x401, 0x1, 0x10301})
        CHECK_EQ(mx__init_api(bad), MX_BAD_LIB_VERSION);
    for (int good : {0x300, 0x301, 0x3ff}) {
        CHECK_EQ(mx__init_api(good), MX_SUCCESS);
        CHECK_EQ(mx_finalize(), MX_SUCCESS);
    }
}

CONFORM(calls_before_init, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    mx_endpoint_t ep = nullptr;
    uint64_t nic = 0;
    uint32_t value = 0;
    char name[MX_MAX_HOSTNAME_LEN];
    char host[] = "localhost";
    CHECK_EQ(mx_open_endpoint(0, 0, key, nullptr, 0, &ep), MX_NOT_INITIALIZED);
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_COUNT, nullptr, 0, &value, sizeof value), MX_NOT_INITIALIZED);
    CHECK_EQ(mx_hostname_to_nic_id(host, &nic), MX_NOT_INITIALIZED);
    CHECK_EQ(mx_nic_id_to_hostname(1, name), MX_NOT_INITIALIZED);
    CHECK_EQ(mx_board_number_to_nic_id(0, &nic), MX_NOT_INITIALIZED);
    CHECK_EQ(mx_nic_id_to_board_number(1, &value), MX_NOT_INITIALIZED);
    CHECK_EQ(mx__regcache_clean(nullptr, 4096), 0);
}

CONFORM(strings_for_any_value, 1, bare)
{
    for (int v : {-1, 17, 44, 95, 99, 100, 1000, INT_MIN, INT_MAX}) {
        CHECK(mx_strerror(static_cast<mx_return_t>(v)) != nullptr);
        CHECK(mx_strstatus(static_cast<mx_status_code_t>(v)) != nullptr);
    }
    for (int v = 0; v <= 43; v++)
        CHECK(mx_strerror(static_cast<mx_return_t>(v))[0] != 0);
    for (int v = 0; v <= 16; v++)
        CHECK(mx_strstatus(static_cast<mx_status_code_t>(v))[0] != 0);
}

CONFORM(set_error_handler_gives_the_previous, 1, bare)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    CHECK(mx_set_error_handler(count_and_return) == MX_ERRORS_RETURN);
    CHECK(mx_set_error_handler(nullptr) == count_and_return); // back to the default
    CHECK(mx_set_error_handler(MX_ERRORS_RETURN) != count_and_return);
    REQUIRE_OK(mx_init()); // stays over init
    CHECK(mx_set_error_handler(MX_ERRORS_RETURN) == MX_ERRORS_RETURN);
    CHECK_EQ(mx_finalize(), MX_SUCCESS);
}

CONFORM(user_error_handler_decides_the_return_value, 1, any)
{
    handler_calls = 0;
    mx_set_error_handler(count_and_replace);
    mx_endpoint_t ep = nullptr;
    CHECK_EQ(mx_open_endpoint(77, 0, key, nullptr, 0, &ep), MX_FAILURE);
    CHECK_EQ(handler_calls, 1);
    CHECK_EQ(handler_code, MX_BOARD_UNKNOWN);
    mx_set_error_handler(MX_ERRORS_RETURN);
}

CONFORM(endpoint_error_handler_wins, 1, any)
{
    mx_param_t p{};
    p.key = MX_PARAM_ERROR_HANDLER;
    p.val.error_handler = count_and_replace;
    Endpoint ep(r, MX_ANY_ENDPOINT, &p, 1);
    handler_calls = 0;
    mx_status_t s;
    uint32_t result = 7;
    CHECK_EQ(mx_test_any(ep, 1, 0, &s, &result), MX_FAILURE);
    CHECK_EQ(handler_code, MX_BAD_MATCH_MASK);
    CHECK_EQ(handler_calls, 1);
    mx_endpoint_t other = nullptr; // not attributable to that endpoint
    CHECK_EQ(mx_open_endpoint(77, 0, key, nullptr, 0, &other), MX_BOARD_UNKNOWN);
    CHECK_EQ(handler_calls, 1);
}

CONFORM(finalize_closes_endpoints, 2, any)
{
    Net net = open_net(r);
    if (r.id == 1) {
        CHECK_EQ(mx_finalize(), MX_SUCCESS);
        mx_status_t s;
        uint32_t result = 0;
        CHECK_EQ(mx_test_any(net.ep, 0, 0, &s, &result), MX_NOT_INITIALIZED);
        REQUIRE_OK(mx_init());
        CHECK_EQ(mx_test_any(net.ep, 0, 0, &s, &result), MX_BAD_ENDPOINT);
    }
    r.barrier();
    if (r.id == 0) {
        mx_endpoint_addr_t a;
        CHECK_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], key, patience, &a), MX_CONNECTION_FAILED);
    }
    r.barrier();
}

CONFORM(a_failing_request_calls_the_handler, 2, any)
{
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 100);
    if (r.id == 0) {
        send(r, net.ep, data.data(), 100, net.to[1], 1);
    } else {
        mx_set_error_handler(count_and_replace);
        handler_calls = 0;
        std::vector<uint8_t> room(100, 0xee);
        mx_request_t q = irecv(r, net.ep, room.data(), 10, 1);
        mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, MX_STATUS_TRUNCATED); // the true code, whatever the handler returns
        CHECK_EQ(handler_calls, 1);
        mx_set_error_handler(MX_ERRORS_RETURN);
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

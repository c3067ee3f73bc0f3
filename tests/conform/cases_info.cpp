// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: mx_get_info, names, boards, internal and raw functions (API 3.9, 3.11, 3.12, 4).
#include "kit.hpp"
#include <cstring>
#include <string_view>

#include <mx_internals/mx__driver_interface.h>
#include <mx_internals/mx__fops.h>
#include <mx_io.h>
#include <mx_raw.h>

extern "C" int mx__regcache_clean(void *addr, size_t len); // no header declares it

namespace emx::conform {
namespace {

uint32_t info(Rank &r, mx_get_info_key_t k)
{
    uint32_t board = 0, v = 0xdddddddd;
    CHECK_EQ(mx_get_info(nullptr, k, &board, sizeof board, &v, sizeof v), MX_SUCCESS);
    return v;
}

CONFORM(info_values, 1, any)
{
    CHECK(info(r, MX_NIC_COUNT) >= 1);
    CHECK(info(r, MX_MAX_NATIVE_ENDPOINTS) >= 8);
    CHECK_EQ(info(r, MX_NATIVE_REQUESTS), 0xffffffffu);
    CHECK(info(r, MX_COUNTERS_COUNT) > 0);
    CHECK_EQ(info(r, MX_PORT_COUNT), 1u);
    CHECK_EQ(info(r, MX_PIO_SEND_MAX), 128u);
    CHECK_EQ(info(r, MX_COPY_SEND_MAX), 32768u);
    info(r, MX_NUMA_NODE);
    CHECK_EQ(info(r, MX_NET_TYPE), MX_NET_ETHER);
    uint32_t speed = info(r, MX_LINE_SPEED);
    CHECK(speed == MX_SPEED_2G || speed == MX_SPEED_10G || speed == MX_SPEED_OPEN_MX);
}

CONFORM(info_nic_ids, 1, any)
{
    uint32_t n = info(r, MX_NIC_COUNT);
    std::vector<uint64_t> ids(n + 1, 0xdddddddddddddddd);
    auto bytes = static_cast<uint32_t>(n * sizeof(uint64_t));
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_IDS, nullptr, 0, ids.data(), bytes + 8), MX_SUCCESS);
    CHECK_EQ(ids[n], 0u);
    for (uint32_t b = 0; b < n; b++) {
        uint64_t id = 0;
        uint32_t back = 99;
        CHECK_EQ(mx_board_number_to_nic_id(b, &id), MX_SUCCESS);
        CHECK_EQ(ids[b], id);
        CHECK_EQ(mx_nic_id_to_board_number(id, &back), MX_SUCCESS);
        CHECK_EQ(back, b);
    }
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_IDS, nullptr, 0, ids.data(), bytes), MX_SUCCESS);
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_IDS, nullptr, 0, ids.data(), bytes - 1), MX_BAD_INFO_LENGTH);
}

CONFORM(info_input_forms, 1, any)
{
    Endpoint ep(r);
    uint32_t four = 0, v = 0, count = info(r, MX_COUNTERS_COUNT);
    uint8_t one = 0;
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_COUNT, &four, 4, &v, sizeof v), MX_SUCCESS);
    CHECK_EQ(v, count);
    v = 0;
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_COUNT, &one, 1, &v, sizeof v), MX_SUCCESS);
    CHECK_EQ(v, count);
    v = 0;
    CHECK_EQ(mx_get_info(ep, MX_COUNTERS_COUNT, nullptr, 0, &v, sizeof v), MX_SUCCESS);
    CHECK_EQ(v, count);
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_COUNT, nullptr, 0, &v, sizeof v), MX_BAD_INFO_VAL);
    four = 29;
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_COUNT, &four, 4, &v, sizeof v), MX_BOARD_UNKNOWN);
    one = 29;
    CHECK_EQ(mx_get_info(nullptr, MX_NUMA_NODE, &one, 1, &v, sizeof v), MX_BOARD_UNKNOWN);
}

CONFORM(info_errors, 1, any)
{
    uint32_t v = 0, board = 0;
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_COUNT, nullptr, 0, nullptr, 4), MX_BAD_INFO_VAL);
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_COUNT, nullptr, 0, &v, 3), MX_BAD_INFO_LENGTH);
    CHECK_EQ(mx_get_info(nullptr, static_cast<mx_get_info_key_t>(77), &board, 4, &v, 4), MX_BAD_INFO_KEY);
    CHECK_EQ(mx_get_info(nullptr, static_cast<mx_get_info_key_t>(0), &board, 4, &v, 4), MX_BAD_INFO_KEY);
    uint64_t big[2] = {};
    CHECK_EQ(mx_get_info(nullptr, MX_NIC_COUNT, nullptr, 0, big, sizeof big), MX_SUCCESS);
    std::memcpy(&v, big, sizeof v);
    CHECK_EQ(v, info(r, MX_NIC_COUNT));
}

CONFORM(info_counters, 2, any)
{
    const std::size_t n = info(r, MX_COUNTERS_COUNT);
    uint32_t board = 0;
    std::vector<char> labels(n * MX_MAX_STR_LEN, 'x');
    auto bytes = static_cast<uint32_t>(labels.size());
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_LABELS, &board, 4, labels.data(), bytes));
    for (std::size_t i = 0; i < n; i++) {
        const char *l = &labels[i * MX_MAX_STR_LEN];
        CHECK(l[0] != 0 && std::memchr(l, 0, MX_MAX_STR_LEN) != nullptr);
    }
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_LABELS, &board, 4, labels.data(), bytes - 1),
             MX_BAD_INFO_LENGTH);
    std::vector<uint32_t> before(n), after(n);
    auto size = static_cast<uint32_t>(n * sizeof(uint32_t));
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, 4, before.data(), size));
    CHECK_EQ(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, 4, before.data(), size - 4),
             MX_BAD_INFO_LENGTH);
    Net net = open_net(r);
    send(r, net.ep, "x", 1, net.to[static_cast<size_t>(1 - r.id)], 1);
    char c;
    recv(r, net.ep, &c, 1, 1);
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, 4, after.data(), size));
    CHECK(before != after);
    r.barrier();
}

CONFORM(info_strings, 1, any)
{
    uint32_t board = 0;
    for (mx_get_info_key_t k : {MX_PRODUCT_CODE, MX_PART_NUMBER, MX_SERIAL_NUMBER}) {
        char text[64];
        std::memset(text, 'x', sizeof text);
        CHECK_EQ(mx_get_info(nullptr, k, &board, 4, text, sizeof text), MX_SUCCESS);
        CHECK(std::memchr(text, 0, sizeof text) != nullptr);
        std::memset(text, 'x', sizeof text);
        mx_return_t code = mx_get_info(nullptr, k, &board, 4, text, 3); // truncated and terminated
        CHECK(code == MX_SUCCESS || code == MX_BAD_INFO_LENGTH);
        CHECK(code != MX_SUCCESS || text[2] == 0 || text[1] == 0 || text[0] == 0);
        CHECK_EQ(text[3], 'x');
    }
    char text[MX_MAX_STR_LEN] = "";
    CHECK_EQ(mx_get_info(nullptr, MX_PART_NUMBER, &board, 4, text, sizeof text), MX_SUCCESS);
    bool wire = info(r, MX_LINE_SPEED) != MX_SPEED_OPEN_MX;
    CHECK(std::string_view(text).find(wire ? "dialect W" : "dialect N=") != std::string_view::npos);
}

CONFORM(names_resolve_both_ways, 2, any)
{
    Net net = open_net(r, false);
    for (size_t i = 0; i < 2; i++) {
        char name[MX_MAX_HOSTNAME_LEN + 4];
        std::memset(name, 'x', sizeof name);
        // The agent may still be asking the other host.
        mx_return_t code = MX_HOST_NOT_FOUND;
        for (double end = r.now_ms() + patience; code == MX_HOST_NOT_FOUND && r.now_ms() < end;) {
            code = mx_nic_id_to_hostname(net.nic[i], name);
            if (code == MX_HOST_NOT_FOUND)
                r.sleep_ms(50);
        }
        REQUIRE_OK(code);
        REQUIRE(std::memchr(name, 0, MX_MAX_HOSTNAME_LEN) != nullptr);
        CHECK_EQ(name[MX_MAX_HOSTNAME_LEN], 'x');
        CHECK(std::strchr(name, ':') != nullptr);
        uint64_t nic = 0;
        CHECK_EQ(mx_hostname_to_nic_id(name, &nic), MX_SUCCESS);
        CHECK_EQ(nic, net.nic[i]);
        std::string bare = std::string(name).substr(0, std::string(name).find(':'));
        nic = 0;
        CHECK_EQ(mx_hostname_to_nic_id(bare.data(), &nic), MX_SUCCESS); // "name" is "name:0"
        CHECK_EQ(nic, net.nic[i]);
    }
    r.barrier();
}

CONFORM(name_errors, 1, any)
{
    uint64_t nic = 0;
    uint32_t board = 0;
    char name[MX_MAX_HOSTNAME_LEN], unknown[] = "no-such-host-anywhere:0", local[] = "localhost",
                                    local0[] = "localhost:0";
    CHECK_EQ(mx_hostname_to_nic_id(unknown, &nic), MX_HOST_NOT_FOUND);
    CHECK_EQ(mx_hostname_to_nic_id(nullptr, &nic), MX_BAD_HOSTNAME_ARGS);
    CHECK_EQ(mx_hostname_to_nic_id(unknown, nullptr), MX_BAD_HOSTNAME_ARGS);
    CHECK_EQ(mx_nic_id_to_hostname(0x0100deadbeefull, name), MX_HOST_NOT_FOUND);
    CHECK_EQ(mx_nic_id_to_hostname(1, nullptr), MX_BAD_HOSTNAME_ARGS);
    CHECK_EQ(mx_board_number_to_nic_id(31, &nic), MX_BOARD_UNKNOWN);
    CHECK_EQ(mx_nic_id_to_board_number(0x0100deadbeefull, &board), MX_BOARD_UNKNOWN);
    uint64_t own = 0;
    REQUIRE_OK(mx_board_number_to_nic_id(0, &own));
    CHECK_EQ(mx_hostname_to_nic_id(local, &nic), MX_SUCCESS);
    CHECK_EQ(nic, own);
    CHECK_EQ(mx_hostname_to_nic_id(local0, &nic), MX_SUCCESS);
    CHECK_EQ(nic, own);
}

CONFORM(internal_functions, 2, any)
{
    mx_endpt_handle_t h = MX__INVALID_HANDLE;
    CHECK_EQ(mx_open_board(0, &h), MX_SUCCESS);
    CHECK_EQ(mx_open_board(0, nullptr), MX_SUCCESS);
    mx_endpt_handle_t bad = MX__INVALID_HANDLE;
    CHECK_EQ(mx_open_board(30, &bad), MX_BOARD_UNKNOWN);
    mx_mapper_state_t s{};
    REQUIRE_OK(mx__get_mapper_state(h, &s));
    uint64_t mac = 0;
    for (uint8_t b : s.mapper_mac)
        mac = mac << 8 | b;
    for (uint64_t m : r.exchange(mac))
        CHECK_EQ(m, mac); // the same on all nodes: Open MPI compares it
    for (uint64_t speed : r.exchange(info(r, MX_LINE_SPEED)))
        CHECK_EQ(speed, info(r, MX_LINE_SPEED));
    static char page[4096];
    CHECK_EQ(mx__regcache_clean(page, sizeof page), 0);
    CHECK_EQ(mx__regcache_clean(nullptr, 0), 0);
}

CONFORM(put_and_get_fail, 1, any)
{
    Endpoint ep(r);
    char c = 0;
    mx_request_t q = nullptr;
    CHECK_EQ(mx_iput(ep, &c, 1, ep.self(), 0, nullptr, &q), MX_FAILURE);
    CHECK_EQ(mx_iget(ep, &c, 1, ep.self(), 0, nullptr, &q), MX_FAILURE);
}

CONFORM(raw_endpoint_works_or_says_no, 1, any)
{
    mx_raw_endpoint_t raw = nullptr;
    mx_return_t code = mx_raw_open_endpoint(0, nullptr, 0, &raw);
    CHECK(code == MX_SUCCESS || code == MX_NO_DEV || code == MX_BUSY || code == MX_NO_PERM);
    if (code != MX_SUCCESS)
        return;
    uint32_t ports = 0;
    CHECK_EQ(mx_raw_num_ports(raw, &ports), MX_SUCCESS);
    CHECK_EQ(ports, 1u);
    mx_raw_endpoint_t second = nullptr;
    CHECK_EQ(mx_raw_open_endpoint(0, nullptr, 0, &second), MX_BUSY);
    CHECK_EQ(mx_raw_close_endpoint(raw), MX_SUCCESS);
}

} // namespace
} // namespace emx::conform

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: hosts with two boards (API 3.2 and section 8).
#include "kit.hpp"

namespace emx::conform {
namespace {

mx_endpoint_t open_on(Rank &r, uint32_t board, uint32_t eid)
{
    mx_endpoint_t ep = nullptr;
    REQUIRE_OK(mx_open_endpoint(board, eid, key, nullptr, 0, &ep));
    return ep;
}

uint64_t nic_of(Rank &r, uint32_t board)
{
    uint64_t nic = 0;
    REQUIRE_OK(mx_board_number_to_nic_id(board, &nic));
    return nic;
}

void roundtrip(Rank &r, mx_endpoint_t from, mx_endpoint_addr_t to, mx_endpoint_t at, uint32_t length)
{
    std::vector<uint8_t> data = pattern(length, length), target(length);
    mx_segment_t segment{target.data(), length};
    mx_request_t receive = nullptr, sent = isend(r, from, data.data(), length, to, length);
    REQUIRE_OK(mx_irecv(at, &segment, 1, length, all_bits, nullptr, &receive));
    CHECK(completes(r, at, receive, patience));
    CHECK(completes(r, from, sent, patience));
    CHECK_PATTERN(target, length, length);
}

CONFORM(boards_are_numbered_in_configured_order, 1, two_boards)
{
    uint32_t count = 0;
    REQUIRE_OK(mx_get_info(nullptr, MX_NIC_COUNT, nullptr, 0, &count, sizeof count));
    CHECK_EQ(count, 2u);
    uint64_t ids[3] = {1, 1, 1};
    REQUIRE_OK(mx_get_info(nullptr, MX_NIC_IDS, nullptr, 0, ids, sizeof ids));
    CHECK(ids[0] != ids[1]);
    CHECK_EQ(ids[2], 0u);
    for (uint32_t board : {0u, 1u}) {
        CHECK_EQ(nic_of(r, board), ids[board]);
        uint32_t number = 9;
        CHECK_EQ(mx_nic_id_to_board_number(ids[board], &number), MX_SUCCESS);
        CHECK_EQ(number, board);
    }
    uint64_t none = 0;
    CHECK_EQ(mx_board_number_to_nic_id(2, &none), MX_BOARD_UNKNOWN);
    mx_endpoint_t ep = nullptr;
    CHECK_EQ(mx_open_endpoint(2, 0, key, nullptr, 0, &ep), MX_BOARD_UNKNOWN);
}

CONFORM(each_board_has_its_name, 1, two_boards)
{
    char first[MX_MAX_HOSTNAME_LEN] = {};
    REQUIRE_OK(mx_nic_id_to_hostname(nic_of(r, 0), first));
    std::string host = first;
    CHECK(host.size() > 2 && host.substr(host.size() - 2) == ":0");
    host.resize(host.size() - 2);
    for (uint32_t board : {0u, 1u}) {
        char name[MX_MAX_HOSTNAME_LEN] = {};
        std::string wanted = host + ":" + std::to_string(board);
        REQUIRE_OK(mx_nic_id_to_hostname(nic_of(r, board), name));
        CHECK_EQ(std::string(name) == wanted, true);
        for (std::string asked : {wanted, "localhost:" + std::to_string(board)}) {
            uint64_t nic = 0;
            CHECK_EQ(mx_hostname_to_nic_id(asked.data(), &nic), MX_SUCCESS);
            CHECK_EQ(nic, nic_of(r, board));
        }
    }
    uint64_t nic = 0;
    CHECK_EQ(mx_hostname_to_nic_id(host.data(), &nic), MX_SUCCESS);
    CHECK_EQ(nic, nic_of(r, 0));
}

CONFORM(numbers_are_counted_per_board, 1, two_boards)
{
    mx_endpoint_t on[2] = {open_on(r, 0, 5), open_on(r, 1, 5)}, none = nullptr;
    CHECK_EQ(mx_open_endpoint(0, 5, key, nullptr, 0, &none), MX_BUSY);
    CHECK_EQ(mx_open_endpoint(1, 5, key, nullptr, 0, &none), MX_BUSY);
    CHECK_EQ(mx_open_endpoint(MX_ANY_NIC, 5, key, nullptr, 0, &none), MX_BUSY);
    mx_close_endpoint(on[0]);
    // The number decides, and any board that has it free will do.
    mx_endpoint_t again = open_on(r, MX_ANY_NIC, 5);
    mx_endpoint_addr_t self;
    uint64_t nic = 0;
    uint32_t eid = 99;
    REQUIRE_OK(mx_get_endpoint_addr(again, &self));
    REQUIRE_OK(mx_decompose_endpoint_addr(self, &nic, &eid));
    CHECK_EQ(nic, nic_of(r, 0));
    CHECK_EQ(eid, 5u);
    mx_close_endpoint(again);
    mx_close_endpoint(on[1]);
}

CONFORM(boards_of_one_host_talk, 1, two_boards)
{
    mx_endpoint_t on[2] = {open_on(r, 0, 1), open_on(r, 1, 1)};
    mx_endpoint_addr_t to = connect_to(r, on[0], nic_of(r, 1), 1);
    mx_endpoint_addr_t back = connect_to(r, on[1], nic_of(r, 0), 1);
    for (uint32_t length : {0u, 100u, 20000u, 300000u}) {
        roundtrip(r, on[0], to, on[1], length);
        roundtrip(r, on[1], back, on[0], length);
    }
    for (mx_endpoint_t ep : on)
        mx_close_endpoint(ep);
}

CONFORM(every_board_reaches_every_other, 2, two_boards | apart)
{
    mx_endpoint_t on[2] = {open_on(r, 0, 2), open_on(r, 1, 2)};
    std::vector<uint64_t> nics[2] = {r.exchange(nic_of(r, 0)), r.exchange(nic_of(r, 1))};
    auto far = static_cast<size_t>(1 - r.id);
    constexpr uint32_t lengths[] = {8, 5000, 200000};
    for (uint64_t from : {0u, 1u}) {
        for (uint64_t to : {0u, 1u}) {
            uint64_t way = (from * 2 + to) * 16;
            mx_endpoint_t ep = on[r.id == 0 ? from : to];
            mx_endpoint_addr_t peer = connect_to(r, ep, nics[r.id == 0 ? to : from][far], 2);
            for (uint32_t length : lengths) {
                if (r.id == 0) {
                    std::vector<uint8_t> data = pattern(way, length);
                    send(r, ep, data.data(), length, peer, way);
                } else {
                    std::vector<uint8_t> target(length);
                    mx_status_t status = recv(r, ep, target.data(), length, way);
                    uint64_t nic = 0;
                    CHECK_EQ(status.xfer_length, length);
                    CHECK_PATTERN(target, way, length);
                    CHECK_EQ(mx_decompose_endpoint_addr(status.source, &nic, nullptr), MX_SUCCESS);
                    CHECK_EQ(nic, nics[from][far]);
                }
            }
            r.barrier();
        }
    }
    for (mx_endpoint_t ep : on)
        mx_close_endpoint(ep);
}

} // namespace
} // namespace emx::conform

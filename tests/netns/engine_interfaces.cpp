// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Interfaces that vanish, return, start down, or change their address under a running agent.
#include "driver/mx_codes.hpp"
#include "tests/netns/engine_fixture.hpp"
#include "tests/support/becomes.hpp"

#include <catch2/catch.hpp>

using namespace emx;
using namespace emx::test;
using Catch::Contains;

namespace {

bool board_becomes(Device &device, bool up)
{
    return becomes([&] { return device.boards().at(0).up == up; });
}

void expect_gone(Pair &pair, int side)
{
    // The carrier goes first, when the other end of the pair is deleted.
    const emx_msg *event = pair.expect(side, EMX_EV_LINK);
    if (event->u.link.state == EMX_LINK_DOWN) {
        pair.port(side).consume();
        event = pair.expect(side, EMX_EV_LINK);
    }
    CHECK(int(event->u.link.state) == EMX_LINK_GONE);
    pair.port(side).consume();
}

void check_transfer(Pair &pair)
{
    const auto source = pattern(200000, 5);
    std::vector<std::byte> target(200000);
    pair.transfer(source, target, 1);
    CHECK(target == source);
}

} // namespace

TEST_CASE("engine__a_board_follows_its_interface_to_another_name", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    const auto called = [&](const std::string &name) {
        return becomes([&] { return pair.device(0).boards().at(0).interface == name; });
    };
    for (const std::string name : {"lan0", "a_long_name.123", "eth0", "lan1"}) {
        hosts.run(0, "ip link set " + pair.device(0).boards().at(0).interface + " name " + name);
        REQUIRE(called(name));
        check_transfer(pair); // by the endpoints of before
        hosts.run(0, "ip link set " + name + " down");
        REQUIRE(board_becomes(pair.device(0), false));
        hosts.run(0, "ip link set " + name + " up");
        REQUIRE(board_becomes(pair.device(0), true));
        hosts.enter(0);
        DeviceError error;
        CHECK(pair.device(0).open(0, 9, 1, error) != nullptr);
        CHECK(error.text == "");
    }
    hosts.run(0, "ip link del lan1");
    REQUIRE(board_becomes(pair.device(0), false));
    hosts.join(); // by the name that was asked for
    REQUIRE(called("eth0"));
    REQUIRE(board_becomes(pair.device(0), true));
    Pair again(hosts, "eth0:W");
    check_transfer(again);
}

TEST_CASE("engine__a_board_comes_back_with_its_interface", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    const int agent = hosts.agent_pid(0);
    const uint64_t address = pair.info(0).nic_id;
    for (int round = 0; round < 2; round++) {
        hosts.run(0, "ip link del eth0");
        for (int side : {0, 1})
            REQUIRE(board_becomes(pair.device(side), false));
        if (round == 0) {
            expect_gone(pair, 0);
            expect_gone(pair, 1);
        }
        hosts.enter(0);
        DeviceError error;
        CHECK(pair.device(0).open(0, 9, 1, error) == nullptr);
        CHECK(error.code == mx_no_dev);
        CHECK_THAT(error.text, Contains("interface eth0 vanished: make it again"));

        hosts.join();
        for (int side : {0, 1})
            REQUIRE(board_becomes(pair.device(side), true));
        CHECK(pair.info(0).nic_id != address);
        // The sockets of before are dead, and the port does not pretend otherwise.
        emx_msg msg = pair.message(0, EMX_TINY, 0);
        Payload payload({});
        CHECK_FALSE(pair.port(0).send(msg, payload.data()));
        CHECK(pair.quiet(0));
    }
    CHECK(hosts.agent_pid(0) == agent);
    // The numbers are free again although their former holders have not closed; and a new agent, too,
    // gives them to those who live.
    Pair again(hosts, "eth0:W");
    hosts.kill_agent(0);
    hosts.start_agent(0, "--boards eth0:W --linger 60");
    check_transfer(again);
    CHECK(again.info(0).nic_id == again.port(1).peer_nic_id(again.peer(1)));
}

TEST_CASE("engine__an_interface_may_be_down_at_first", "[netns][engine]")
{
    TwoHosts hosts;
    hosts.run(0, "ip link set eth0 down");
    const auto device = open_device(hosts, 0, "eth0:W");
    CHECK_FALSE(device->boards().at(0).up);
    DeviceError error;
    const auto port = device->open(0, 1, 1, error);
    REQUIRE(port);
    const emx_msg *event = port->peek();
    REQUIRE(event);
    CHECK(int(event->u.link.state) == EMX_LINK_DOWN);
    port->consume();
    hosts.run(0, "ip link set eth0 up");
    REQUIRE(board_becomes(*device, true));
    Pair pair(hosts, "eth0:W");
    check_transfer(pair);
}

TEST_CASE("engine__a_new_address_is_a_new_life_of_the_board", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    hosts.run(0, "ip link set eth0 address 02:00:00:00:07:07");
    expect_gone(pair, 0);
    CHECK(pair.info(0).nic_id == 0x020000000707);
    CHECK(pair.info(0).up);
    pair.close(0);
    pair.close(1);
    Pair again(hosts, "eth0:W");
    check_transfer(again);
}

TEST_CASE("engine__a_board_whose_interface_comes_back_too_small_says_so", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0:W");
    hosts.run(0, "ip link del eth0 && ip link add eth0 mtu 1500 type veth peer name eth1");
    DeviceError error;
    CHECK(becomes([&] {
        error = {};
        CHECK(device->open(0, 1, 1, error) == nullptr);
        return error.text.find("vanished") == std::string::npos;
    }));
    CHECK(error.code == mx_no_dev);
    CHECK_THAT(error.text, Contains("has MTU 1500, but dialect W needs"));
    hosts.run(0, "ip link set eth0 mtu 9000");
    CHECK(becomes([&] { return device->open(0, 1, 1, error) != nullptr; }));
}

TEST_CASE("engine__boards_have_the_order_of_their_configuration", "[netns][engine]")
{
    TwoHosts hosts;
    hosts.run(0, "ip link add eth1 mtu 9000 type veth peer name eth2 && ip link set eth1 up");
    const auto device = open_device(hosts, 0, "eth1:W,eth0:N=9000");
    const auto boards = device->boards();
    REQUIRE(boards.size() == 2);
    CHECK(boards[0].interface == "eth1");
    CHECK(boards[0].dialect == 'W');
    CHECK(boards[1].interface == "eth0");
    CHECK(boards[1].dialect == 'N');
    for (uint32_t i : {0u, 1u}) {
        CHECK_THAT(boards[i].host_name, Catch::EndsWith(":" + std::to_string(i)));
        CHECK(device->nic_id_of(boards[i].host_name) == boards[i].nic_id);
        CHECK(device->name_of(boards[i].nic_id) == boards[i].host_name);
    }
    // One of them goes; the other does not care.
    DeviceError error;
    hosts.run(0, "ip link del eth1");
    CHECK(board_becomes(*device, false));
    CHECK(device->open(0, 1, 1, error) == nullptr);
    CHECK(error.code == mx_no_dev);
    CHECK(device->open(1, 1, 1, error));
}

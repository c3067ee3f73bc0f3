// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board agent as processes meet it: errors, claims, death of a holder, refusals, link changes.
#include "driver/mx_codes.hpp"
#include "tests/netns/engine_fixture.hpp"
#include "tests/support/becomes.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>

using namespace emx;
using namespace emx::test;
using Catch::Contains;

namespace {

DeviceError refusal(const TwoHosts &hosts, const std::string &spec)
{
    hosts.enter(0);
    EngineConfig config;
    config.boards = spec;
    config.agent_program = agent_program();
    config.config = "/nonexistent";
    DeviceError error;
    CHECK(make_engine(config, error) == nullptr);
    return error;
}

/// A process that holds endpoint 5 of board 0 until it is killed.
pid_t hold_endpoint(Device &device, const TwoHosts &hosts, int host)
{
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        hosts.enter(host);
        DeviceError error;
        const auto port = device.open(0, 5, 0xa1b2c3d4, error);
        const char answer = port ? 'y' : 'n';
        if (::write(ready[1], &answer, 1) == 1)
            ::pause();
        ::_exit(1);
    }
    char answer = 'n';
    REQUIRE(::read(ready[0], &answer, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
    REQUIRE(answer == 'y');
    return child;
}

} // namespace

TEST_CASE("engine__errors_name_the_remedy", "[netns][engine]")
{
    TwoHosts hosts(1500);
    DeviceError error = refusal(hosts, "");
    CHECK(error.code == mx_no_dev);
    CHECK_THAT(error.text, Contains("no board configured: set EMX_BOARDS=INTERFACE"));
    error = refusal(hosts, "eth7");
    CHECK(error.code == mx_no_dev);
    CHECK_THAT(error.text, Contains("eth7"));
    error = refusal(hosts, "eth0");
    CHECK(error.code == mx_no_dev);
    CHECK_THAT(error.text, Contains("EMX_BOARDS=eth0:N=1500"));
    error = refusal(hosts, "eth0:X");
    CHECK_THAT(error.text, Contains("the dialect is W, N, or N=SIZE"));
    error = refusal(hosts, "eth0:N=9000");
    CHECK_THAT(error.text, Contains("too small for dialect N=9000"));
    error = refusal(hosts, "lo");
    CHECK_THAT(error.text, Contains("not an Ethernet interface"));
}

TEST_CASE("engine__without_cap_net_raw_the_error_names_the_remedy", "[netns][engine]")
{
    TwoHosts hosts;
    hosts.enter(0);
    int result[2];
    REQUIRE(::pipe(result) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        DeviceError error;
        EngineConfig config;
        config.boards = "eth0";
        config.agent_program = agent_program();
        if (::setgid(65534) != 0 || ::setuid(65534) != 0)
            ::_exit(2);
        if (make_engine(config, error))
            error.text = "an engine without privileges";
        const std::string text = std::to_string(error.code) + " " + error.text;
        [[maybe_unused]] const ssize_t written = ::write(result[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(result[1]);
    std::string text(1000, '\0');
    const ssize_t got = ::read(result[0], text.data(), text.size());
    ::close(result[0]);
    ::waitpid(child, nullptr, 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    CHECK_THAT(text, Contains("7 no CAP_NET_RAW: run as root"));
}

TEST_CASE("engine__strangers_are_turned_away", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0");
    const pid_t child = ::fork();
    if (child == 0) {
        DeviceError error;
        EngineConfig config;
        if (::setgid(65534) != 0 || ::setuid(65534) != 0)
            ::_exit(2);
        const bool refused = !make_engine(config, error) && error.code == mx_no_perm &&
                             error.text.find("group ethermx") != std::string::npos;
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}

TEST_CASE("engine__an_endpoint_is_claimed_once", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0");
    DeviceError error;
    auto port = device->open(0, 31, 1, error);
    REQUIRE(port);
    CHECK(device->open(0, 31, 2, error) == nullptr);
    CHECK(error.code == mx_busy);
    CHECK_THAT(error.text, Contains("process " + std::to_string(::getpid())));
    CHECK(device->open(0, 32, 2, error) == nullptr);
    CHECK(error.code == mx_bad_endpoint);
    CHECK(device->open(1, 0, 2, error) == nullptr);
    CHECK(error.code == mx_board_unknown);
    port.reset();
    CHECK(becomes([&] { return (port = device->open(0, 31, 2, error)) != nullptr; }));
}

TEST_CASE("engine__other_boards_than_the_running_agent_s_are_an_error", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0:W");
    const DeviceError error = refusal(hosts, "eth0:N=1500");
    CHECK(error.code == mx_no_dev);
    CHECK_THAT(error.text,
               Contains("serves eth0:W") && Contains("kill " + std::to_string(hosts.agent_pid(0))));
}

TEST_CASE("engine__death_of_a_holder_frees_its_endpoint", "[netns][engine]")
{
    TwoHosts hosts;
    const auto far = open_device(hosts, 1, "eth0");
    const pid_t holder = hold_endpoint(*far, hosts, 1);
    const auto near = open_device(hosts, 0, "eth0");
    DeviceError error;
    const auto port = near->open(0, 3, 0x11223344, error);
    REQUIRE(port);
    // A forked child that keeps every descriptor must not keep the claim.
    const auto peer = peer_of(*port, far->boards().at(0).nic_id);
    REQUIRE(peer);
    // The far host learns of us by a connect; the holder never reads it.
    emx_msg connect{};
    connect.type = EMX_CONNECT;
    connect.remote_ep = 5;
    connect.peer = *peer;
    connect.u.connect.session = 0x11223344;
    connect.u.connect.start = 1;
    Payload nothing({});
    const auto refusal_came = [&] {
        const emx_msg *event = port->peek();
        return event && event->type == EMX_NACK_LIB;
    };
    REQUIRE(port->send(connect, nothing.data()));
    CHECK(stays_away(refusal_came));
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    REQUIRE(becomes([&] {
        REQUIRE(port->send(connect, nothing.data()));
        return !stays_away(refusal_came);
    }));
    const emx_msg *refused = port->peek();
    CHECK(refused->u.nack.reason == EMX_NACK_CLOSED);
    CHECK(refused->remote_ep == 5);
    port->consume();
    emx_msg tiny{};
    tiny.type = EMX_TINY;
    tiny.remote_ep = 5;
    tiny.peer = *peer;
    tiny.session = 0xa1b2c3d4;
    tiny.seq = 77;
    REQUIRE(port->send(tiny, nothing.data()));
    const auto about_tiny = [&] { // those about more of the connects may come before
        refused = port->peek();
        const bool its_own = refused && refused->type == EMX_NACK_LIB && refused->seq == 77;
        if (refused && !its_own)
            port->consume();
        return its_own;
    };
    REQUIRE(becomes(about_tiny));
    CHECK(refused->u.nack.reason == EMX_NACK_CLOSED);
}

TEST_CASE("engine__the_owner_s_death_counts_although_a_child_keeps_the_descriptors", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0");
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
        DeviceError error;
        const auto port = device->open(0, 5, 1, error);
        const pid_t child = ::fork();
        if (child == 0)
            ::pause();
        if (!port || ::write(ready[1], &child, sizeof(child)) != sizeof(child))
            ::_exit(1);
        ::pause();
    }
    pid_t child = 0;
    REQUIRE(::read(ready[0], &child, sizeof(child)) == sizeof(child));
    DeviceError error;
    CHECK(device->open(0, 5, 2, error) == nullptr);
    CHECK(error.code == mx_busy);
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
    CHECK(becomes([&] { return device->open(0, 5, 2, error) != nullptr; }));
    ::kill(child, SIGKILL);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("engine__a_link_that_goes_down_and_up_is_told", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    hosts.run(0, "ip link set eth0 down");
    CHECK(int(pair.expect(0, EMX_EV_LINK)->u.link.state) == EMX_LINK_DOWN);
    pair.port(0).consume();
    emx_msg msg = pair.message(0, EMX_TINY, 0);
    Payload payload({});
    CHECK_FALSE(pair.port(0).send(msg, payload.data()));
    CHECK(pair.port(0).counters().v[EMX_CNT_TX_FAILED] == 1);
    hosts.run(0, "ip link set eth0 up");
    CHECK(int(pair.expect(0, EMX_EV_LINK)->u.link.state) == EMX_LINK_UP);
    pair.port(0).consume();
    std::vector<std::byte> target(200000);
    const auto source = pattern(200000, 3);
    // The other side saw its carrier go and come as well; both may flap for a moment.
    for (int side : {1, 0}) {
        while (!pair.quiet(side)) {
            CHECK(int(pair.port(side).peek()->type) == EMX_EV_LINK);
            pair.port(side).consume();
        }
    }
    pair.transfer(source, target, 1);
    CHECK(target == source);
    hosts.run(0, "ip link del eth0");
    CHECK(int(pair.expect(0, EMX_EV_LINK)->u.link.state) != EMX_LINK_UP);
}

TEST_CASE("engine__names_travel_between_hosts", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    DeviceError error;
    REQUIRE(pair.device(1).set_host_name(0, "faraway:7", error));
    CHECK(pair.info(1).host_name == "faraway:7");
    // It may have the default name already: the beacon that follows has it asked for again, within 5 s.
    std::optional<uint64_t> found;
    CHECK(becomes([&] { return (found = pair.device(0).nic_id_of("faraway:7")).has_value(); }));
    CHECK(found == pair.info(1).nic_id);
}

TEST_CASE("engine__beacons_make_hosts_known", "[netns][engine]")
{
    TwoHosts hosts;
    const auto far = open_device(hosts, 1, "eth0");
    DeviceError error;
    REQUIRE(far->set_host_name(0, "beacon:3", error));
    // Nobody is told of the other, nor sends to it.
    const auto near = open_device(hosts, 0, "eth0");
    std::optional<uint64_t> found;
    CHECK(becomes([&] { return (found = near->nic_id_of("beacon:3")).has_value(); }));
    CHECK(found == far->boards().at(0).nic_id);
    CHECK(becomes([&] { return far->name_of(near->boards().at(0).nic_id).has_value(); }));
    CHECK(near->counters(0).v[EMX_CNT_TX_RAW] > 0);
}

TEST_CASE("engine__a_peers_file_closes_the_table", "[netns][engine]")
{
    TwoHosts hosts;
    const auto far = open_device(hosts, 1, "eth0");
    const uint64_t mac = far->boards().at(0).nic_id;
    char path[] = "/tmp/emx-peers.XXXXXX";
    const Fd file(::mkstemp(path));
    char line[64];
    const int length =
        std::snprintf(line, sizeof(line), "# list\n%02x:%02x:%02x:%02x:%02x:%02x far:0\n",
                      unsigned(mac >> 40 & 255), unsigned(mac >> 32 & 255), unsigned(mac >> 24 & 255),
                      unsigned(mac >> 16 & 255), unsigned(mac >> 8 & 255), unsigned(mac & 255));
    REQUIRE(::write(file.get(), line, static_cast<std::size_t>(length)) == length);
    hosts.enter(0);
    EngineConfig config;
    config.boards = "eth0";
    config.agent_program = agent_program();
    config.peers = path;
    DeviceError error;
    const auto near = make_engine(config, error);
    ::unlink(path);
    REQUIRE(near);
    CHECK(near->nic_id_of("far:0") == mac);
    const auto port = near->open(0, 0, 1, error);
    REQUIRE(port);
    CHECK(peer_of(*port, mac));
    CHECK(peer_of(*port, near->boards().at(0).nic_id));
    CHECK_FALSE(peer_of(*port, 0x0200deadbeef));
}

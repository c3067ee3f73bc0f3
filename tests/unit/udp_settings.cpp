// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// UDP boards and addresses as users write them (driver/config/udp_spec.hpp, driver/base/udp_address.hpp): all
// forms, and for bad input an error that says what to write.
#include <driver/base/udp_address.hpp>
#include <driver/config/udp_spec.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace emx;

namespace {

BoardSpec parsed(const std::string &text)
{
    BoardSpec spec;
    std::string error;
    INFO(text);
    REQUIRE(parse_udp_board(text, spec, error));
    CHECK(error.empty());
    return spec;
}

/// The error of a text that is no board.
std::string refused(const std::string &text)
{
    BoardSpec spec;
    std::string error;
    INFO(text);
    CHECK_FALSE(parse_udp_board(text, spec, error));
    CHECK_THAT(error, Catch::Contains('"' + text + '"'));
    return error;
}

UdpAddress address(const std::string &text)
{
    INFO(text);
    const auto found = parse_udp_address(text);
    REQUIRE(found);
    return *found;
}

/// The error about the sizes of a board; empty: it has some.
std::string sizes_refused(const BoardSpec &spec, uint32_t mtu, bool v4, uint32_t &x_frame)
{
    fw_sizes sizes;
    std::string error;
    const bool chosen = choose_udp_sizes(spec, mtu, v4, sizes, x_frame, error);
    CHECK(chosen == error.empty());
    return error;
}

} // namespace

TEST_CASE("a UDP board is an interface or an address, with a port and a size behind it")
{
    BoardSpec spec = parsed("udp:eth1");
    CHECK(spec.interface == "eth1");
    CHECK(spec.address.empty());
    CHECK(spec.udp_port == 34783);
    CHECK(spec.dialect == 'N');
    CHECK(spec.mtu == 0);

    spec = parsed("udp:10.0.0.7:40000:N=1400");
    CHECK(spec.interface.empty());
    CHECK(spec.address == "10.0.0.7");
    CHECK(spec.udp_port == 40000);
    CHECK(spec.mtu == 1400);

    CHECK(parsed("udp:[fd00::7]").address == "fd00::7");
    CHECK(parsed("udp:[fd00::7]:N=1400:40000").udp_port == 40000);
    CHECK(parsed("udp: eth1 : 40000 ").udp_port == 40000);
    CHECK(parsed("udp:eth1:N").mtu == 0);
    CHECK(parsed("udp:eth1:65279").udp_port == 65279); // the last port of the last endpoint is 65535
}

TEST_CASE("the place of a UDP board is an interface's name or an address of one host")
{
    for (const char *text :
         {"udp:", "udp: ", "udp::40000", "udp:fd00::7", "udp:fd00::7:40000", "udp:[fd00::7",
          "udp:[fd00::7]40000", "udp:[]", "udp:[10.0.0.7]", "udp:[::ffff:10.0.0.7]", "udp:[eth1]",
          "udp:0.0.0.0", "udp:255.255.255.255", "udp:224.0.0.1", "udp:[::]", "udp:[ff02::1]", "udp:eth 1",
          "udp:../eth1", "udp:an-interface-of-16"})
        CHECK_THAT(refused(text), Catch::Contains("write udp:INTERFACE, udp:ADDRESS or udp:[IPv6 ADDRESS]"));
}

TEST_CASE("a UDP board has room for a port of each endpoint")
{
    for (const char *text :
         {"udp:eth1:0", "udp:eth1:65280", "udp:eth1:65536", "udp:eth1:99999999999999999999"})
        CHECK_THAT(refused(text), Catch::Contains("1 to 65279"));
}

TEST_CASE("the dialect of a UDP board is N with a size that a datagram carries")
{
    for (const char *text :
         {"udp:eth1:W", "udp:eth1:N=", "udp:eth1:N=511", "udp:eth1:N=65508", "udp:eth1:n=1400",
          "udp:eth1:N=14x", "udp:eth1:-1", "udp:eth1:40000x", "udp:eth1:", "udp:eth1:40000:"})
        CHECK_THAT(refused(text), Catch::Contains("N=SIZE with a frame size of 512 to 65507"));
}

TEST_CASE("a port or a size that is given twice is no board")
{
    for (const char *text : {"udp:eth1:40000:50000", "udp:eth1:N=1400:N=1500", "udp:eth1:N:40000:N=1400"})
        CHECK_THAT(refused(text), Catch::Contains("once"));
}

TEST_CASE("the place of a UDP board reads as it is written")
{
    for (const char *text : {"udp:eth1:34783", "udp:10.0.0.7:40000", "udp:[fd00::7]:34783"})
        CHECK(describe_place(parsed(text)) == text);
}

TEST_CASE("an MTU that is too small names the sizes that help")
{
    uint32_t x_frame = 0;
    BoardSpec spec = parsed("udp:eth1");
    CHECK(sizes_refused(spec, 1500, true, x_frame).empty());
    CHECK(x_frame == 1472);
    CHECK(sizes_refused(spec, 1500, false, x_frame).empty());
    CHECK(x_frame == 1452);
    CHECK(sizes_refused(spec, 1280, false, x_frame).empty());
    CHECK(x_frame == 1232);

    const std::string small = sizes_refused(spec, 1259, true, x_frame);
    CHECK_THAT(small, Catch::Contains("udp:eth1:34783"));
    CHECK_THAT(small, Catch::Contains("raise the MTU to 1260"));
    CHECK_THAT(small, Catch::Contains("a size of at most 1231 on every host"));
    CHECK_THAT(sizes_refused(spec, 0, true, x_frame), Catch::Contains("an MTU of 0"));

    spec = parsed("udp:eth1:N=1400");
    CHECK(sizes_refused(spec, 9000, true, x_frame).empty());
    CHECK(x_frame == 1400); // as configured: a path may take no more
    CHECK_THAT(sizes_refused(spec, 1427, true, x_frame), Catch::Contains("raise the MTU to 1428"));
}

TEST_CASE("boards that no host can have beside each other are told apart by a remedy")
{
    const auto obstacle = [](const char *a, const char *b) { return obstacle_between(parsed(a), parsed(b)); };
    CHECK_THAT(obstacle("udp:eth1", "udp:eth2"), Catch::Contains("(udp:eth2:35040)"));
    CHECK_THAT(obstacle("udp:eth1:40000", "udp:10.0.0.7:40256"), Catch::Contains("UDP ports in common"));
    CHECK_THAT(obstacle("udp:10.0.0.7", "udp:10.0.0.7"), Catch::Contains("UDP ports in common"));
    CHECK(obstacle("udp:eth1:40000", "udp:eth2:40257").empty());
    CHECK(obstacle("udp:10.0.0.7", "udp:10.0.0.8").empty());

    BoardSpec frames;
    frames.interface = "eth1";
    CHECK_THAT(obstacle_between(frames, parsed("udp:eth2")), Catch::Contains("UDP boards, or all have raw"));
    CHECK_THAT(obstacle_between(frames, frames), Catch::Contains("named twice"));
}

TEST_CASE("addresses read as they are written")
{
    for (const char *text : {"10.0.0.2:34783", "[fd00::2]:34783", "255.255.255.255:1", "[::1]:65535"})
        CHECK(describe(address(text)) == text);
    CHECK(describe_host(address("[fe80::1%7]:40000")) == "fe80::1%7");
    CHECK(address("[::ffff:10.0.0.2]:9") == address("10.0.0.2:9"));
}

TEST_CASE("an address survives its form as a socket's")
{
    for (const char *text : {"10.0.0.2:34783", "[fd00::2]:34783", "[fe80::1%7]:1"}) {
        SocketAddress form{};
        to_socket(address(text), form);
        CHECK(from_socket(form) == address(text));
    }
    SocketAddress other{};
    other.any.sa_family = AF_UNIX;
    CHECK(from_socket(other).port == 0);
}

TEST_CASE("texts that are no address with a port are none")
{
    for (const char *text : {"",
                             ":",
                             ":1",
                             "10.0.0.2",
                             "10.0.0.2:",
                             "10.0.0.2:0",
                             "10.0.0.2:65536",
                             "10.0.0.2:-1",
                             "10.0.0.2: 1",
                             "10.0.0.256:1",
                             "10.0.0:1",
                             "fd00::2",
                             "[fd00::2]",
                             "[fd00::2]:",
                             "[fd00::2",
                             "[]:1",
                             "[fd00::2]1",
                             "[fe80::1%]:1",
                             "[fe80::1%0]:1",
                             "[fe80::1%no-such-interface]:1",
                             "[10.0.0.2%1]:1",
                             "host:1"}) {
        INFO(text);
        CHECK_FALSE(parse_udp_address(text));
    }
}

TEST_CASE("hosts of a list are names or addresses, with a port or without")
{
    struct Case {
        const char *text, *host;
        uint32_t port;
    };
    std::string host;
    uint32_t port = 0;
    for (const Case &each : std::vector<Case>{{"node1", "node1", 0},
                                              {"node1.example.org:40000", "node1.example.org", 40000},
                                              {"10.0.0.2:40000", "10.0.0.2", 40000},
                                              {"fd00::2", "fd00::2", 0},
                                              {"[fd00::2]", "fd00::2", 0},
                                              {"[fd00::2]:40000", "fd00::2", 40000}}) {
        INFO(each.text);
        CHECK(split_host(each.text, host, port));
        CHECK(host == each.host);
        CHECK(port == each.port);
    }
    for (const char *text : {"", ":40000", "node1:", "node1:0", "node1:65536", "node1:40000:1", "node 1",
                             "a/b", "[node1]", "[fd00::2]x", "[fd00::2", "node1:port"}) {
        INFO(text);
        CHECK_FALSE(split_host(text, host, port));
    }
}

TEST_CASE("hosts of a list have addresses of the board's kind")
{
    std::string why;
    CHECK(resolve_host("10.0.0.2", 5, true, why) == parse_udp_address("10.0.0.2:5"));
    CHECK(resolve_host("fd00::2", 5, false, why) == parse_udp_address("[fd00::2]:5"));
    CHECK(why.empty());
    CHECK_FALSE(resolve_host("10.0.0.2", 5, false, why));
    CHECK_THAT(why, Catch::Contains("10.0.0.2 is no IPv6 address, which the board has"));
    CHECK_FALSE(resolve_host("fd00::2", 5, true, why));
    CHECK_THAT(why, Catch::Contains("fd00::2 is no IPv4 address, which the board has"));
    CHECK_FALSE(resolve_host("no_such_host.invalid", 5, true, why));
    CHECK_THAT(why, Catch::Contains("the name no_such_host.invalid has no IPv4 address here ("));
}

TEST_CASE("addresses of all, of none and of groups are no host")
{
    for (const char *text : {"0.0.0.0:1", "224.0.0.1:1", "255.255.255.255:1", "[::]:1", "[ff02::1]:1"})
        CHECK_FALSE(address(text).is_host());
    for (const char *text : {"10.0.0.2:1", "127.0.0.1:1", "[fd00::2]:1", "[::1]:1"})
        CHECK(address(text).is_host());
    CHECK(address("10.0.0.2:1").same_host(address("10.0.0.2:2")));
    CHECK_FALSE(address("[fe80::1%1]:1").same_host(address("[fe80::1%2]:1")));
}

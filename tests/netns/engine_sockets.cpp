// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fan-out groups of packet sockets, as an endpoint's ring and bulk sockets form one.
#include "driver/base/interface.hpp"
#include "driver/board/frame_sizes.hpp"
#include "tests/netns/two_hosts.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>
#include <cerrno>

using namespace emx;
using namespace emx::test;

namespace {

using Frame = std::array<uint8_t, EMX_FRAME_MIN>;
constexpr uint64_t any_mac = 0xffffffffffffULL; // what the frames here are sent to

const FilterProgram open_filter = {{BPF_RET | BPF_K, 0, 0, 0x40000}};

Fd bound_socket(const FilterProgram &filter, int interface)
{
    Fd socket = make_packet_socket(filter, nullptr);
    REQUIRE(socket);
    REQUIRE(bind_packet_socket(socket.get(), interface, EMX_ETHERTYPE));
    return socket;
}

uint64_t mac_of(const TwoHosts &hosts, int host)
{
    hosts.enter(host);
    InterfaceFacts facts;
    REQUIRE(query_interface("eth0", facts));
    return facts.mac;
}

int index_of(const TwoHosts &hosts, int host)
{
    hosts.foreign(host); // the frames are the test's
    hosts.enter(host);
    InterfaceFacts facts;
    REQUIRE(query_interface("eth0", facts));
    return facts.index;
}

/// A frame of that type, with 0xff for all addresses, and the endpoint where a pull reply has it.
void send_frame(int socket, uint8_t type, uint8_t endpoint, std::size_t bytes)
{
    std::vector<uint8_t> frame(bytes, 0xff);
    frame[12] = EMX_ETHERTYPE >> 8;
    frame[13] = EMX_ETHERTYPE & 0xff;
    frame[16] = type;
    frame[type == EMX_X_DATA ? 17 : 31] = endpoint;
    REQUIRE(::send(socket, frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size()));
}

void send_types(int socket, std::initializer_list<uint8_t> types)
{
    for (const uint8_t type : types)
        send_frame(socket, type, 0xff, EMX_FRAME_MIN);
}

/// Types of the frames that wait, in order. Frames on a veth are there when send() returns.
std::vector<int> types_at(int socket)
{
    std::vector<int> types;
    Frame frame;
    while (::recv(socket, frame.data(), frame.size(), MSG_DONTWAIT) > 0)
        types.push_back(frame[16]);
    return types;
}

} // namespace

TEST_CASE("engine__a_group_sends_pull_replies_to_its_second_member", "[netns][engine]")
{
    TwoHosts hosts;
    const Fd sender = bound_socket(closed_filter(), index_of(hosts, 0));
    const int interface = index_of(hosts, 1);
    const Fd first = bound_socket(open_filter, interface);
    const Fd second = bound_socket(open_filter, interface);
    REQUIRE(lock_filter(first.get()));
    REQUIRE(lock_filter(second.get()));
    const auto group = found_group(first.get());
    REQUIRE(group);
    send_types(sender.get(), {EMX_TINY, EMX_PULL_REPLY});
    CHECK(types_at(first.get()) == std::vector<int>{EMX_TINY, EMX_PULL_REPLY});
    CHECK(types_at(second.get()) == std::vector<int>{EMX_TINY, EMX_PULL_REPLY}); // not a member yet

    CHECK_FALSE(steer_group(first.get(), reply_chooser({})));
    CHECK(errno == EPERM);
    {
        const Fd guest = bound_socket(closed_filter(), interface);
        REQUIRE(join_group(guest.get(), *group));
        REQUIRE(steer_group(guest.get(), reply_chooser({})));
    }
    send_types(sender.get(), {EMX_PULL_REPLY});
    CHECK(types_at(first.get()) == std::vector<int>{EMX_PULL_REPLY}); // the only member has all
    types_at(second.get());

    REQUIRE(join_group(second.get(), *group));
    send_types(sender.get(), {EMX_TINY, EMX_PULL_REPLY, EMX_PULL, EMX_X_DATA, EMX_X_PULL, EMX_PULL_REPLY});
    CHECK(types_at(first.get()) == std::vector<int>{EMX_TINY, EMX_PULL, EMX_X_PULL});
    CHECK(types_at(second.get()) == std::vector<int>{EMX_PULL_REPLY, EMX_X_DATA, EMX_PULL_REPLY});

    hosts.run(1, "ip link set eth0 down && ip link set eth0 up");
    hosts.run(0, "for i in $(seq 3000); do [ $(cat /sys/class/net/eth0/operstate) = up ] && exit 0; sleep "
                 "0.02; done; exit 1");
    for (const Fd *member : {&first, &second})
        CHECK(types_at(member->get()).empty()); // and the news that the interface was down
    send_types(sender.get(), {EMX_TINY, EMX_PULL_REPLY});
    CHECK(types_at(first.get()) == std::vector<int>{EMX_TINY});
    CHECK(types_at(second.get()) == std::vector<int>{EMX_PULL_REPLY});
}

TEST_CASE("engine__filters_tell_a_full_reply_by_its_length", "[netns][engine]")
{
    fw_sizes sizes;
    fw_sizes_w(&sizes);
    CHECK(full_frames(sizes, 9000).reply == 0); // a MEDIUM frame gets longer
    CHECK(full_frames(sizes, 9000).x_data == 9014);
    CHECK(full_frames(sizes, 4130).x_data == 0);
    CHECK(ring_frame_max(sizes, 4130) == 4144);
    CHECK(ring_frame_max(sizes, 9000) == 8998); // an X MEDIUM is 16 bytes shorter than a full X DATA
    CHECK(ring_frame_max(sizes, 65535) == 32824);
    CHECK(ring_fragment(shape_ring(8998, 8), 9014) == 8942);
    CHECK(ring_fragment(shape_ring(4144, 8), 9014) == 0); // of an agent that knows no X MEDIUM
    CHECK(ring_fragment(shape_ring(32824, 8), 65535) == 32768);
    CHECK(full_frames(sizes, 65535).x_data == 65535);
    REQUIRE(fw_sizes_n(&sizes, 1500) == 0);
    CHECK(full_frames(sizes, 1500).reply == 0); // a MEDIUM frame is accepted up to 2048 bytes of data
    CHECK(full_frames(sizes, 1500).x_data == 0);
    CHECK(fw_x_frame_max(&sizes, 1500) == 1514);
    CHECK(fw_x_frame_max(&sizes, 9000) == 1500); // the interface takes more than the network, it says
    REQUIRE(fw_sizes_n(&sizes, 9000) == 0);
    const FullFrames both = full_frames(sizes, 9000);
    REQUIRE(both.reply == 9000);
    REQUIRE(both.x_data == 9014);
    const std::size_t full = both.reply;

    TwoHosts hosts;
    const Fd sender = bound_socket(closed_filter(), index_of(hosts, 0));
    const int interface = index_of(hosts, 1);
    const Fd ring = bound_socket(open_filter, interface);
    const auto group = found_group(ring.get());
    REQUIRE(group);
    REQUIRE(steer_group(ring.get(), reply_chooser(both)));
    const Fd bulk = bound_socket(reply_filter(any_mac, 3), interface);
    REQUIRE(join_group(bulk.get(), *group));
    const Fd agent = bound_socket(agent_filter(any_mac, {}, both, false), interface);

    for (const std::size_t bytes : {full + 14, full, full - 1, std::size_t{EMX_FRAME_MIN}})
        for (const int type : {EMX_PULL_REPLY, EMX_X_DATA}) {
            CAPTURE(bytes, type);
            for (const uint8_t endpoint : {2, 3})
                send_frame(sender.get(), static_cast<uint8_t>(type), endpoint, bytes);
            CHECK(types_at(bulk.get()) == std::vector<int>{type}); // that of endpoint 3
            CHECK(types_at(ring.get()).empty());
            CHECK(types_at(agent.get()).empty());
        }
    send_frame(sender.get(), EMX_MEDIUM, 3, full - 1);
    CHECK(types_at(bulk.get()).empty());
    CHECK(types_at(ring.get()) == std::vector<int>{EMX_MEDIUM});
    CHECK(types_at(agent.get()) == std::vector<int>{EMX_MEDIUM}); // to be refused: nobody claimed it
}

TEST_CASE("engine__the_predicates_pass_the_same_frames_as_the_filters", "[netns][engine]")
{
    constexpr uint8_t endpoint = 3;
    TwoHosts hosts;
    const uint64_t mac = mac_of(hosts, 1);
    const Fd sender = bound_socket(closed_filter(), index_of(hosts, 0));
    const int interface = index_of(hosts, 1);
    const Fd receiver = bound_socket(endpoint_filter(mac, endpoint, false), interface);
    const Fd bulk = bound_socket(reply_filter(mac, endpoint), interface);
    unsigned passed = 0, replies = 0;
    for (unsigned type = 0; type < 128; type++) {
        // Right and wrong where the endpoint's number is for some type, and in the address.
        for (unsigned wrong = 0; wrong < 32; wrong++) {
            std::array<uint8_t, EMX_FRAME_MIN> frame{};
            for (const uint8_t at : {17, 25, 31})
                frame[at] = endpoint;
            put_mac(frame.data(), mac);
            frame[12] = EMX_ETHERTYPE >> 8;
            frame[13] = EMX_ETHERTYPE & 0xff;
            frame[16] = static_cast<uint8_t>(type);
            const uint8_t places[] = {0, 5, 17, 25, 31};
            for (unsigned i = 0; i < std::size(places); i++)
                frame[places[i]] = static_cast<uint8_t>(frame[places[i]] + (wrong >> i & 1) * 4);
            for (const std::size_t bytes : {16u, 17u, 18u, 25u, 26u, unsigned{EMX_FRAME_MIN}}) {
                REQUIRE(::send(sender.get(), frame.data(), bytes, 0) == static_cast<ssize_t>(bytes));
                const bool expected = !types_at(receiver.get()).empty();
                CAPTURE(type, wrong, bytes);
                REQUIRE(passes_endpoint_filter(frame.data(), static_cast<uint32_t>(bytes), mac, endpoint) ==
                        expected);
                passed += expected;
                const bool reply = !types_at(bulk.get()).empty();
                REQUIRE(passes_reply_filter(frame.data(), static_cast<uint32_t>(bytes), mac, endpoint) ==
                        reply);
                replies += reply;
            }
        }
    }
    CHECK(passed > 100);
    CHECK(replies > 0);
}

TEST_CASE("engine__a_locked_filter_stays", "[netns][engine]")
{
    TwoHosts hosts;
    const Fd socket = bound_socket(endpoint_filter(any_mac, 3, false), index_of(hosts, 0));
    CHECK(detach_filter(socket.get()));
    REQUIRE(attach_filter(socket.get(), endpoint_filter(any_mac, 3, false)));
    REQUIRE(lock_filter(socket.get()));
    CHECK_FALSE(detach_filter(socket.get()));
    CHECK(errno == EPERM);
}

TEST_CASE("engine__a_group_of_another_interface_cannot_be_joined", "[netns][engine]")
{
    TwoHosts hosts;
    const int interface = index_of(hosts, 1);
    const Fd first = bound_socket(open_filter, interface);
    const auto group = found_group(first.get());
    REQUIRE(group);
    InterfaceFacts lo;
    REQUIRE(query_interface("lo", lo));
    const Fd stranger = bound_socket(open_filter, lo.index);
    CHECK_FALSE(join_group(stranger.get(), *group));
}

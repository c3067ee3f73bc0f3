// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's ways by TCP (driver/engine/tcp_ways.cpp) between two endpoints of one process over the
// loopback interface: how a way comes up, when its address is told, and connections of others.
#include "core_board.hpp"

#include <driver/base/ipv4_socket.hpp>
#include <driver/base/udp_socket.hpp>
#include <driver/engine/tcp_ways.hpp>
#include <driver/engine/udp_network.hpp>

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

using namespace emx;
using namespace emx::test;

namespace {

constexpr uint64_t ms = 1000000;
constexpr uint32_t loopback = 0x7f000001, neighbour = 0x7f000002;
constexpr uint32_t sender_peer = 3;
constexpr uint8_t sender_ep = 9;
constexpr uint32_t session = 77;
constexpr uint32_t longest_frame = 1514;

std::unique_ptr<TcpNetwork> on_lo(uint8_t endpoint, uint32_t frame = longest_frame)
{
    return std::make_unique<InterfaceNetwork>("lo", endpoint, frame);
}

/// A socket that listens at the loopback interface and an endpoint's port, as another program's would.
/// Endpoints are tried from one on that depends on the process: others may test at the same time.
std::optional<Fd> take_port(uint32_t address, uint8_t endpoint)
{
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in own = ipv4_socket(address, static_cast<uint16_t>(EMX_X_PORT + endpoint));
    const int on = 1;
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&own), sizeof(own)) != 0 ||
        ::listen(fd.get(), 1) != 0)
        return std::nullopt;
    return fd;
}

std::vector<std::byte> greeting(uint64_t secret, uint32_t mark)
{
    emx_w_connection words{};
    words.secret = emx_put64(secret);
    words.mark = emx_put32(mark);
    std::vector<std::byte> bytes(sizeof(words));
    std::memcpy(bytes.data(), &words, sizeof(words));
    return bytes;
}

/// Our endpoint, and what others do at another address of the loopback interface's network.
class Ways {
public:
    Ways()
    {
        // One that this process has the port of for a moment is free.
        for (int n = 0; n < 256 && !puller_; n++) {
            endpoint = static_cast<uint8_t>(::getpid() + n);
            if (take_port(loopback, endpoint))
                puller_ = std::make_unique<TcpWays>(on_lo(endpoint), counters);
        }
        REQUIRE(puller_);
    }

    TcpWays &puller() { return *puller_; }
    void close() { puller_.reset(); }

    TcpInward *pull(uint32_t of_session = session)
    {
        tell.reset();
        return puller_->pull_from(sender_peer, sender_ep, of_session, now, tell);
    }
    /// Looks until the way is up; a connection of the loopback interface takes a few looks.
    TcpInward *await(uint32_t of_session = session)
    {
        TcpInward *way = nullptr;
        for (int looks = 0; looks < looks_max && !way; looks++)
            way = pull(of_session);
        REQUIRE(way);
        return way;
    }
    TcpInward *bring_up(uint32_t of_session = session)
    {
        CHECK(!pull(of_session));
        REQUIRE(tell);
        CHECK(tell->port == EMX_X_PORT + endpoint);
        CHECK(tell->address == loopback);
        CHECK(tell->tcp);
        partner = stranger(greeting(tell->secret, EMX_X_TCP_MARK));
        return await(of_session);
    }
    uint64_t count(int counter) const { return counters.v[counter]; }

    /// A connection of anybody to our endpoint, who has said that.
    Fd stranger(const std::vector<std::byte> &said, uint32_t from = neighbour) const
    {
        Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in own = ipv4_socket(from, 0);
        const sockaddr_in to = ipv4_socket(loopback, static_cast<uint16_t>(EMX_X_PORT + endpoint));
        REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&own), sizeof(own)) == 0);
        REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)) == 0);
        say(fd, said);
        return fd;
    }
    static void say(const Fd &fd, const std::vector<std::byte> &said)
    {
        REQUIRE(::send(fd.get(), said.data(), said.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(said.size()));
    }
    /// Looks for new connections until so many of nobody are counted.
    bool heard_nobody(uint64_t times, uint32_t of_session = session)
    {
        for (int looks = 0; looks < looks_max && count(EMX_CNT_DROP_CONNECTION) < times; looks++)
            CHECK(!pull(of_session));
        return count(EMX_CNT_DROP_CONNECTION) == times;
    }

    static constexpr int looks_max = 100000; ///< they hang
    emx_counters counters{};
    uint8_t endpoint = 0;
    uint64_t now = 1000 * ms;
    std::optional<fw_address> tell;
    Fd partner; ///< its end of the connection

private:
    std::unique_ptr<TcpWays> puller_;
};

std::size_t descriptors()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Copies of all descriptors, which keep open what they belong to, as those of a forked child do.
class Copies {
public:
    Copies()
    {
        std::vector<int> open;
        for (const auto &one : std::filesystem::directory_iterator("/proc/self/fd"))
            open.push_back(std::stoi(one.path().filename()));
        for (const int descriptor : open)
            copies_.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    }

private:
    std::vector<Fd> copies_;
};

/// True once nothing more comes by a connection.
bool has_ended(const Fd &connection)
{
    constexpr int hung_ms = 60000;
    std::array<std::byte, 64> rest;
    pollfd readable{connection.get(), POLLIN, 0};
    ssize_t got = 1;
    while (got > 0 && ::poll(&readable, 1, hung_ms) > 0)
        got = ::recv(connection.get(), rest.data(), rest.size(), 0);
    return got == 0;
}

/// Our endpoint as a sender, and a place where it is told to connect to.
struct Sender {
    Sender()
    {
        sockaddr_in at = ipv4_socket(neighbour, 0);
        REQUIRE(::bind(listening.get(), reinterpret_cast<const sockaddr *>(&at), sizeof(at)) == 0);
        REQUIRE(::listen(listening.get(), 8) == 0);
        socklen_t size = sizeof(at);
        REQUIRE(::getsockname(listening.get(), reinterpret_cast<sockaddr *>(&at), &size) == 0);
        port = ntohs(at.sin_port);
    }
    fw_address address(uint64_t secret) const
    {
        fw_address there{};
        there.secret = secret;
        there.peer = sender_peer;
        there.remote_ep = sender_ep;
        there.address = neighbour;
        there.port = port;
        there.tcp = 1;
        return there;
    }
    /// Tells it that, and returns the connection once all of the greeting has left.
    Fd hear(uint64_t secret, uint32_t peer = sender_peer) const
    {
        fw_address told = address(secret);
        told.peer = peer;
        ways->heard(told, now += 1000 * ms);
        Fd there(::accept(listening.get(), nullptr, nullptr));
        REQUIRE(there);
        std::array<TcpInward *, TcpWays::looks_max> none;
        for (int looks = 0; looks < Ways::looks_max && ways->connecting(); looks++) {
            CHECK(ways->look(none) == 0);
            ways->send(windows, [](const fw_replies &) { FAIL("nothing was to be sent"); });
        }
        CHECK(!ways->connecting());
        CHECK(!ways->sending());
        return there;
    }
    bool add(uint32_t peer = sender_peer) const
    {
        fw_replies run{};
        run.reply.msg.peer = peer;
        run.reply.msg.local_ep = sender_ep;
        run.reply.msg.type = EMX_X_DATA;
        run.count = 1;
        return ways->add(windows, run);
    }
    emx_counters mutable counters{};
    fw_sizes sizes = sizes_w();
    ReplyQueue windows{sizes, counters};
    std::unique_ptr<TcpWays> ways = std::make_unique<TcpWays>(on_lo(5), counters);
    Fd listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    uint16_t port = 0;
    uint64_t mutable now = 0;
};

} // namespace

TEST_CASE("engine_tcp_ways__the_first_pull_tells_an_address_and_a_connection_follows")
{
    Ways ways;
    CHECK(ways.puller().fd() == -1);
    TcpInward *way = ways.bring_up();
    CHECK(way->peer == sender_peer);
    CHECK(way->remote_ep == sender_ep);
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 1);
    CHECK(ways.count(EMX_CNT_DROP_CONNECTION) == 0);
    CHECK(ways.puller().fd() >= 0);
    CHECK(ways.puller().take_lost().empty());
    CHECK(ways.pull() == way); // and is told no more
    CHECK(!ways.tell);
    std::array<TcpInward *, TcpWays::looks_max> ready;
    REQUIRE(ways.puller().look(ready) == 1);
    CHECK(ready[0] == way);
}

TEST_CASE("engine_tcp_ways__an_address_that_draws_nothing_is_told_ever_more_seldom")
{
    Ways ways;
    uint64_t pause = 10 * ms, secret = 0;
    for (int n = 0; n < 14; n++) {
        CAPTURE(n);
        CHECK(!ways.pull());
        REQUIRE(ways.tell);
        CHECK((n == 0 || ways.tell->secret == secret));
        secret = ways.tell->secret;
        ways.now += pause - 1;
        CHECK(!ways.pull());
        CHECK(!ways.tell);
        ways.now += 1;
        pause = std::min<uint64_t>(2 * pause, 10000 * ms);
    }
}

TEST_CASE("engine_tcp_ways__a_way_that_ended_is_told_again_after_a_while")
{
    Ways ways;
    for (const bool by_pull : {false, true}) {
        TcpInward *way = ways.bring_up();
        if (by_pull)
            ways.puller().fell_back(sender_peer, sender_ep, ways.now);
        else
            ways.puller().end(*way, ways.now);
        const std::vector<fw_address> lost = ways.puller().take_lost();
        REQUIRE(lost.size() == 1);
        CHECK(lost[0].peer == sender_peer);
        CHECK(lost[0].remote_ep == sender_ep);
        CHECK(ways.puller().take_lost().empty());
        ways.puller().fell_back(sender_peer, sender_ep, ways.now); // once is enough
        CHECK(ways.puller().take_lost().empty());
        ways.now += 99 * ms;
        CHECK(!ways.pull());
        CHECK(!ways.tell);
        ways.now += 1000 * ms;
    }
    ways.bring_up();
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 3);
}

TEST_CASE("engine_tcp_ways__another_life_of_the_other_endpoint_has_another_secret")
{
    Ways ways;
    ways.pull();
    const uint64_t secret = ways.tell->secret;
    ways.now += 20 * ms;
    TcpInward *way = ways.bring_up();
    CHECK(way->secret == secret);
    ways.bring_up(session + 1);
    CHECK(ways.puller().take_lost().size() == 1);
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 2);
    const Fd late = ways.stranger(greeting(secret, EMX_X_TCP_MARK));
    ways.puller().end(*ways.pull(session + 1), ways.now);
    CHECK(ways.heard_nobody(1, session + 1));
}

TEST_CASE("engine_tcp_ways__a_greeting_may_come_in_parts")
{
    Ways ways;
    ways.pull();
    const std::vector<std::byte> whole = greeting(ways.tell->secret, EMX_X_TCP_MARK);
    const Fd fd = ways.stranger({whole.begin(), whole.begin() + 5});
    for (int looks = 0; looks < 100; looks++)
        CHECK(!ways.pull());
    Ways::say(fd, {whole.begin() + 5, whole.end()});
    ways.await();
    CHECK(ways.count(EMX_CNT_DROP_CONNECTION) == 0);
}

TEST_CASE("engine_tcp_ways__a_connection_that_is_withdrawn_before_a_word_is_nobodys_fault")
{
    Ways ways;
    CHECK(!ways.pull());
    const std::vector<std::byte> said = greeting(ways.tell->secret, EMX_X_TCP_MARK);
    ways.stranger({});
    const Fd partner = ways.stranger(said);
    ways.await();
    CHECK(ways.count(EMX_CNT_DROP_CONNECTION) == 0);
}

TEST_CASE("engine_tcp_ways__connections_of_nobody_are_closed")
{
    Ways ways;
    ways.pull();
    const uint64_t secret = ways.tell->secret;
    std::vector<Fd> open;
    uint64_t times = 0;
    for (const auto &said :
         {greeting(secret + 1, EMX_X_TCP_MARK), greeting(secret, EMX_X_MARK), greeting(0, 0)}) {
        open.push_back(ways.stranger(said));
        CHECK(ways.heard_nobody(++times));
        char byte;
        CHECK(::recv(open.back().get(), &byte, 1, 0) <= 0); // it is closed
    }
    ways.stranger({std::byte{1}}); // and has ended
    CHECK(ways.heard_nobody(++times));
    open.push_back(
        ways.stranger(greeting(secret, EMX_X_TCP_MARK), loopback)); // of this host, whatever it says
    CHECK(ways.heard_nobody(++times));
    ways.now += 20 * ms;
    ways.bring_up();
    CHECK(ways.count(EMX_CNT_DROP_CONNECTION) == times);
}

TEST_CASE("engine_tcp_ways__many_that_say_nothing_have_few_descriptors_and_hinder_nobody")
{
    Ways ways;
    ways.pull();
    std::vector<Fd> silent;
    const std::size_t before = descriptors();
    for (int n = 0; n < 100; n++) {
        silent.push_back(ways.stranger({}));
        CHECK(!ways.pull());
    }
    CHECK(descriptors() - before - silent.size() <= 16);
    ways.now += 20 * ms;
    ways.bring_up();
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 1);
}

TEST_CASE("engine_tcp_ways__a_second_connection_with_the_secret_replaces_one_that_ended")
{
    Ways ways;
    TcpInward *way = ways.bring_up();
    const uint64_t secret = way->secret;
    ways.puller().end(*way, ways.now);
    ways.puller().take_lost();
    const Fd again = ways.stranger(greeting(secret, EMX_X_TCP_MARK));
    ways.await();
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 2);
}

TEST_CASE("engine_tcp_ways__another_programs_port_is_counted_once")
{
    Ways ways;
    {
        const auto other = take_port(loopback, ways.endpoint);
        REQUIRE(other);
        for (int n = 0; n < 3; n++) {
            ways.now += 100 * ms;
            CHECK(!ways.pull());
            CHECK(!ways.tell);
        }
        CHECK(ways.count(EMX_CNT_TCP_PORT) == 1);
    }
    CHECK(!ways.pull());
    CHECK(!ways.tell); // not with each pull
    ways.now += 100 * ms;
    ways.bring_up();
    CHECK(ways.count(EMX_CNT_TCP_PORT) == 1);
}

TEST_CASE("engine_tcp_ways__an_endpoints_next_life_has_its_port_again")
{
    emx_counters counters{};
    uint8_t endpoint;
    {
        Ways ways;
        endpoint = ways.endpoint;
        ways.bring_up();
    } // the end that listened closes first, or not
    TcpWays next(on_lo(endpoint), counters);
    std::optional<fw_address> tell;
    next.pull_from(sender_peer, sender_ep, session, 1, tell);
    CHECK(tell);
    CHECK(counters.v[EMX_CNT_TCP_PORT] == 0);
}

TEST_CASE("engine_tcp_ways__what_a_forked_child_has_open_keeps_nothing_up")
{
    Ways ways;
    TcpInward *way = ways.bring_up();
    const auto child = std::make_optional<Copies>();
    ways.puller().end(*way, ways.now);
    CHECK(has_ended(ways.partner));
    ways.now += 20000 * ms;
    TcpInward *next = ways.bring_up(session + 1); // its other life has another way
    CHECK(next->connection);
    CHECK(ways.partner);
    std::array<TcpInward *, TcpWays::looks_max> ready;
    for (int n = 0; n < 100; n++)
        for (std::size_t i = ways.puller().look(ready); i > 0; i--)
            CHECK(ready[i - 1] == next);
    const uint8_t endpoint = ways.endpoint;
    ways.close();
    CHECK(has_ended(ways.partner));
    emx_counters counters{};
    TcpWays again(on_lo(endpoint), counters);
    std::optional<fw_address> tell;
    again.pull_from(sender_peer, sender_ep, session, 1, tell);
    CHECK(tell);
    CHECK(counters.v[EMX_CNT_TCP_PORT] == 0);
}

TEST_CASE("engine_tcp_ways__a_partner_that_has_spoken_makes_room_for_no_stranger")
{
    Ways ways;
    ways.pull();
    REQUIRE(ways.tell);
    ways.partner = ways.stranger({});
    const uint64_t secret = ways.tell->secret;
    CHECK(!ways.pull()); // accepted, and silent
    Ways::say(ways.partner, greeting(secret, EMX_X_TCP_MARK));
    std::vector<Fd> silent;
    for (int n = 0; n < 16; n++)
        silent.push_back(ways.stranger({}));
    ways.await();
    CHECK(ways.count(EMX_CNT_TCP_ROUTE) == 1);
}

TEST_CASE("engine_tcp_ways__a_way_that_served_long_is_told_again_soon")
{
    for (const bool served : {false, true}) {
        CAPTURE(served);
        Ways ways;
        ways.bring_up();
        for (int n = 0; n < 10; n++) { // it fails again and again
            TcpInward *way = ways.await();
            if (served && n == 9)
                ways.now += 20000 * ms;
            ways.puller().end(*way, ways.now);
            ways.puller().take_lost();
            if (n < 9) {
                ways.now += 20000 * ms;
                ways.bring_up();
            }
        }
        ways.now += 200 * ms;
        CHECK(!ways.pull());
        CHECK(ways.tell.has_value() == served);
    }
}

TEST_CASE("engine_tcp_ways__ways_of_those_that_are_gone_make_room")
{
    Ways ways;
    const auto pull_from = [&](uint32_t peer) {
        std::optional<fw_address> tell;
        ways.puller().pull_from(peer, sender_ep, session, ways.now, tell);
        return tell.has_value();
    };
    constexpr uint32_t most = 1024;
    for (uint32_t peer = 0; peer < most; peer++)
        CHECK(pull_from(peer));
    CHECK(!pull_from(most)); // all have just been told
    ways.now += 20 * ms;
    CHECK(pull_from(most));
    CHECK(pull_from(most + 1));
}

TEST_CASE("engine_tcp_ways__segments_are_no_longer_than_frames_of_the_board")
{
    const auto segment_of = [](const Fd &connection) { // to our endpoint
        int bytes = 0;
        socklen_t size = sizeof(bytes);
        REQUIRE(::getsockopt(connection.get(), IPPROTO_TCP, TCP_MAXSEG, &bytes, &size) == 0);
        return bytes;
    };
    constexpr int most = longest_frame - 14 - 20 - 20;
    Ways ways;
    ways.bring_up();
    CHECK(segment_of(ways.partner) <= most);
    Sender sender;
    CHECK(segment_of(sender.hear(5)) <= most);
}

TEST_CASE("engine_tcp_ways__an_endpoint_that_wants_none_has_none")
{
    emx_counters counters{};
    TcpWays ways(on_lo(1, 0), counters);
    std::optional<fw_address> tell;
    CHECK(!ways.pull_from(sender_peer, sender_ep, session, 1, tell));
    CHECK(!tell);
    fw_address other{};
    other.secret = 5;
    other.address = loopback;
    other.port = EMX_X_PORT;
    ways.heard(other, 1);
    CHECK(!ways.sending());
    CHECK(!ways.connecting());
    CHECK(ways.fd() == -1);
}

TEST_CASE("engine_tcp_ways__whoever_is_told_an_address_connects_and_greets")
{
    const Sender sender;
    const Fd there = sender.hear(0x1122334455667788);
    std::array<std::byte, sizeof(emx_w_connection)> said{};
    REQUIRE(::recv(there.get(), said.data(), said.size(), MSG_WAITALL) == static_cast<ssize_t>(said.size()));
    const std::vector<std::byte> wanted = greeting(0x1122334455667788, EMX_X_TCP_MARK);
    CHECK(std::equal(said.begin(), said.end(), wanted.begin(), wanted.end()));
    CHECK(sender.add());
    CHECK(sender.ways->sending());
}

TEST_CASE("engine_tcp_ways__an_address_told_again_replaces_a_connection")
{
    const Sender sender;
    const Fd first = sender.hear(1);
    CHECK(sender.add());
    const Fd second = sender.hear(2);
    CHECK(has_ended(first));
    std::array<std::byte, sizeof(emx_w_connection)> said{};
    REQUIRE(::recv(second.get(), said.data(), said.size(), MSG_WAITALL) == static_cast<ssize_t>(said.size()));
}

TEST_CASE("engine_tcp_ways__a_connection_that_its_puller_ended_goes")
{
    const Sender sender;
    Fd there = sender.hear(1);
    std::array<std::byte, sizeof(emx_w_connection)> said{};
    REQUIRE(::recv(there.get(), said.data(), said.size(), MSG_WAITALL) == static_cast<ssize_t>(said.size()));
    there.reset(); // with nothing unread, so that it ends in good order
    std::array<TcpInward *, TcpWays::looks_max> none;
    const std::size_t before = descriptors();
    for (int looks = 0; looks < Ways::looks_max && descriptors() == before; looks++)
        CHECK(sender.ways->look(none) == 0);
    CHECK(descriptors() == before - 1);
    CHECK(!sender.add());
}

TEST_CASE("engine_tcp_ways__what_a_forked_child_has_open_keeps_no_answer_waiting")
{
    const Sender sender;
    const Fd first = sender.hear(1);
    const Copies child;
    const Fd second = sender.hear(2);
    CHECK(has_ended(first));
    std::array<TcpInward *, TcpWays::looks_max> none;
    for (int n = 0; n < 100; n++)
        CHECK(sender.ways->look(none) == 0);
    CHECK(sender.add()); // by the second
}

TEST_CASE("engine_tcp_ways__connections_leave_descriptors_to_the_program")
{
    rlimit usual{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
    const rlimit few{256, usual.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    constexpr uint32_t most = 256 / 8;
    const Sender sender;
    std::vector<Fd> connections;
    for (uint32_t peer = 0; peer < most; peer++)
        connections.push_back(sender.hear(1, peer));
    fw_address more = sender.address(1);
    more.peer = most;
    sender.ways->heard(more, sender.now += 1000 * ms);
    CHECK(!sender.ways->connecting());
    CHECK(!sender.add(most));
    CHECK(sender.add(most - 1));
    connections.push_back(sender.hear(2, 0)); // a way that has one may have another instead
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

TEST_CASE("engine_tcp_ways__answers_without_a_connection_are_refused")
{
    const Sender sender;
    CHECK(!sender.add());
    fw_address elsewhere = sender.address(1);
    elsewhere.address = 0x0a636363; // in no network of the interface
    sender.ways->heard(elsewhere, 1);
    CHECK(!sender.add());
    CHECK(!sender.ways->sending());
}

namespace {

/// Two endpoints of UDP boards at the loopback address, both with number 0.
struct UdpPair {
    explicit UdpPair(bool v4)
        : puller_datagrams(make_udp_socket(loopback_address(v4, 0))),
          replier_datagrams(make_udp_socket(loopback_address(v4, 0)))
    {
        REQUIRE(puller_datagrams);
        REQUIRE(replier_datagrams);
        const UdpAddress own = bound_address(puller_datagrams.get());
        agent = own.with_port(own.port - 1u); // endpoint 0 has the port behind it
        puller = ways(own);
        replier = ways(bound_address(replier_datagrams.get()));
    }
    std::unique_ptr<TcpWays> ways(const UdpAddress &own)
    {
        const auto agent_of = [this](uint32_t peer) { return peer == sender_peer ? &agent : nullptr; };
        return std::make_unique<TcpWays>(std::make_unique<UdpNetwork>(own, longest_frame, agent_of),
                                         counters);
    }
    /// Returns what the puller tells, as the replier hears it: from endpoint 0 of that peer.
    fw_address told()
    {
        std::optional<fw_address> tell;
        CHECK(!puller->pull_from(sender_peer, sender_ep, session, now += 1000 * ms, tell));
        REQUIRE(tell);
        tell->remote_ep = 0;
        return *tell;
    }
    TcpInward *await()
    {
        TcpInward *way = nullptr;
        std::optional<fw_address> ignored;
        std::array<TcpInward *, TcpWays::looks_max> none;
        for (int looks = 0; looks < Ways::looks_max && !way; looks++) {
            CHECK(replier->look(none) == 0);
            replier->send(windows, [](const fw_replies &) { FAIL("nothing was to be sent"); });
            way = puller->pull_from(sender_peer, sender_ep, session, now, ignored);
        }
        return way;
    }

    emx_counters counters{};
    fw_sizes sizes = sizes_w();
    ReplyQueue windows{sizes, counters};
    Fd puller_datagrams, replier_datagrams;
    UdpAddress agent; ///< of the puller, as the replier knows it
    std::unique_ptr<TcpWays> puller, replier;
    uint64_t now = 0;
};

} // namespace

TEST_CASE("engine_tcp_ways__udp_boards_connect_to_where_their_datagrams_go")
{
    for (const bool v4 : {true, false}) {
        CAPTURE(v4);
        UdpPair pair(v4);
        const fw_address told = pair.told();
        CHECK(told.address == 0);
        CHECK(told.port == 0);
        CHECK(told.tcp);
        pair.replier->heard(told, pair.now);
        const TcpInward *way = pair.await();
        REQUIRE(way);
        int segment = 0;
        socklen_t size = sizeof(segment);
        REQUIRE(::getsockopt(way->connection.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, &size) == 0);
        CHECK(segment <= static_cast<int>(longest_frame) - 12); // a datagram has 12 bytes less of headers
        CHECK(pair.counters.v[EMX_CNT_TCP_ROUTE] == 1);
        CHECK(pair.counters.v[EMX_CNT_DROP_CONNECTION] == 0);
    }
}

TEST_CASE("engine_tcp_ways__udp_boards_connect_to_nowhere_else")
{
    UdpPair pair(true);
    const fw_address told = pair.told();
    fw_address elsewhere = told;
    elsewhere.address = loopback;
    elsewhere.port = pair.agent.port;
    fw_address unknown = told;
    unknown.peer = sender_peer + 1;
    for (const fw_address &other : {elsewhere, unknown}) {
        pair.replier->heard(other, pair.now);
        CHECK(!pair.replier->sending());
    }
    // And one of raw frames connects to no address that is none.
    TcpWays raw(on_lo(5), pair.counters);
    raw.heard(told, pair.now);
    CHECK(!raw.sending());
}

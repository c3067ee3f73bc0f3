// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A channel of shared memory comes about when the sender is slow between its steps, or never takes the
// next.
#include "driver/base/control_socket.hpp"
#include "libmx/shm/channel.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <vector>

using namespace emx;
using namespace emx::shm;

namespace {

constexpr Identity sender{0x0200000000aa, 1, 0};

/// Other runs of this test may go on beside it.
Identity somebody(uint64_t mac) { return {mac, static_cast<uint32_t>(::getpid()), 3}; }

socklen_t address_of(const Identity &who, sockaddr_un &address)
{
    char name[64];
    std::snprintf(name, sizeof(name), "ethermx-shm-%012llx-%u-%08x", static_cast<unsigned long long>(who.mac),
                  unsigned{who.endpoint}, who.session);
    return abstract_address(name, address);
}

Fd connected_to(const Identity &who)
{
    sockaddr_un address;
    const socklen_t length = address_of(who, address);
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
    return socket;
}

/// The first datagram of a sender, as it is sent to whoever has that name.
struct Hello {
    std::vector<std::byte> bytes;
    std::vector<Fd> fds;

    void send(const Fd &socket) const
    {
        REQUIRE(send_datagram(socket.get(), bytes.data(), bytes.size(), {fds.at(0).get()}));
    }
};

Hello hello_to(const Identity &receiver)
{
    // Sent to the name of another board, taken here.
    const Identity aside{receiver.mac + 1, receiver.session, receiver.endpoint};
    sockaddr_un address;
    const socklen_t length = address_of(aside, address);
    const Fd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
    REQUIRE(::listen(listening.get(), 1) == 0);
    REQUIRE(Outgoing::connect(sender, aside));
    const Fd socket(::accept(listening.get(), nullptr, nullptr));
    Hello hello;
    hello.bytes.resize(256);
    const ssize_t got = receive_datagram(socket.get(), hello.bytes.data(), hello.bytes.size(), hello.fds);
    REQUIRE(got > 0);
    hello.bytes.resize(static_cast<std::size_t>(got));
    return hello;
}

} // namespace

TEST_CASE("shm__a_sender_that_is_slow_to_say_hello_is_served", "[shm]")
{
    const Identity self = somebody(0x020000000010);
    const Hello hello = hello_to(self);
    Listener listener;
    REQUIRE(listener.open(self));
    const Fd slow = connected_to(self);
    for (int i = 0; i < 3; i++)
        CHECK_FALSE(listener.accept(self));
    const auto quick = Outgoing::connect({sender.mac + 1, 1, 0}, self);
    REQUIRE(quick);
    const auto first = listener.accept(self);
    REQUIRE(first);
    CHECK(first->from.mac == sender.mac + 1); // not behind the slow one
    hello.send(slow);
    const auto second = listener.accept(self);
    REQUIRE(second);
    CHECK(second->from == sender);
    CHECK(second->link.drain());
    CHECK_FALSE(listener.accept(self));
}

TEST_CASE("shm__a_silent_connection_keeps_nobody_out", "[shm]")
{
    const Identity self = somebody(0x020000000020);
    Listener listener;
    REQUIRE(listener.open(self));
    std::vector<Fd> silent;
    for (int i = 0; i < 600; i++) {
        if (i % 50 == 0)
            CHECK_FALSE(listener.accept(self));
        silent.push_back(connected_to(self));
        if (i % 3 == 0)
            silent.pop_back();
    }
    CHECK_FALSE(listener.accept(self));
    const auto to = Outgoing::connect(sender, self);
    REQUIRE(to);
    const auto in = listener.accept(self);
    REQUIRE(in);
    CHECK(in->from == sender);
    CHECK(to->link.drain());
}

TEST_CASE("shm__a_hello_of_another_session_is_none", "[shm]")
{
    const Identity self = somebody(0x020000000030);
    const Hello stale = hello_to({self.mac, self.session + 1, self.endpoint});
    Listener listener;
    REQUIRE(listener.open(self));
    const Fd late = connected_to(self);
    stale.send(late);
    CHECK_FALSE(listener.accept(self));
    char byte;
    CHECK(::recv(late.get(), &byte, 1, 0) == 0); // and is told that it will not be served
}

TEST_CASE("shm__another_user_is_neither_receiver_nor_sender", "[shm]")
{
    if (::geteuid() != 0)
        return; // only root has other users
    const Identity self = somebody(0x020000000040), theirs = somebody(0x020000000041);
    Listener listener;
    REQUIRE(listener.open(self));
    int ready[2], over[2];
    REQUIRE(::pipe(ready) == 0);
    REQUIRE(::pipe(over) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        Listener own;
        const char opened =
            ::setuid(65534) == 0 && own.open(theirs) && Outgoing::connect(sender, theirs) ? 'y' : 'n';
        const bool kept_out = !Outgoing::connect(sender, self);
        const char answer = kept_out ? opened : 'n';
        char end;
        ::close(over[1]);
        ::_exit(::write(ready[1], &answer, 1) == 1 && ::read(over[0], &end, 1) == 0 ? 0 : 1);
    }
    char answer = 'n';
    CHECK(::read(ready[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    errno = EAGAIN; // of whatever was before: then it would be tried again with each packet
    CHECK_FALSE(Outgoing::connect(sender, theirs));
    CHECK(errno == EPERM);
    CHECK_FALSE(listener.accept(self));
    for (const int end : {ready[0], ready[1], over[0], over[1]})
        ::close(end);
    ::waitpid(child, nullptr, 0);
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Probes an emulator of the processor (EMX_UNDER, see tests/support/run_suite.py) for what it does not do as
// a kernel does. Where there is none nothing is probed: there the test itself judges.
#pragma once

#include "driver/base/fd.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace emx::test {

/// A socket of the loopback interface, and its address; as a receiver of runs of datagrams.
inline Fd run_receiver(sockaddr_in *own)
{
    Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    *own = {};
    own->sin_family = AF_INET;
    own->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(*own);
    const int on = 1;
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr *>(own), size) == 0);
    REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr *>(own), &size) == 0);
    REQUIRE(::setsockopt(fd.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0);
    return fd;
}

/// The length that the receiver is told of each datagram, of a run of 1000 bytes that was to be cut into
/// pieces of `each`.
inline uint32_t told_of_run(uint16_t each)
{
    std::array<std::byte, 1000> bytes{};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    sockaddr_in to;
    const Fd in = run_receiver(&to), out(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    iovec piece{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof(to);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(each));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(each));
    std::memcpy(CMSG_DATA(header), &each, sizeof(each));
    if (::sendmsg(out.get(), &message, 0) < 0)
        return 0;
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(in.get(), &message, 0);
    int told = static_cast<int>(got);
    for (header = CMSG_FIRSTHDR(&message); got >= 0 && header; header = CMSG_NXTHDR(&message, header))
        if (header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO)
            std::memcpy(&told, CMSG_DATA(header), sizeof(told));
    return static_cast<uint32_t>(told);
}

/// True, and told as a skip of the running test, where an emulator hands over the contents of control
/// messages as they are, in the order of bytes of another processor: a run is then not cut as it was to be,
/// nor told of as it was sent. qemu-user does so (7.2), for a big-endian processor on a little-endian one.
inline bool emulator_spoils_runs()
{
    if (!std::getenv("EMX_UNDER"))
        return false;
    const uint32_t each = 100, told = told_of_run(each);
    if (told == each)
        return false;
    std::cout << "skipped: " << Catch::getResultCapture().getCurrentTestName()
              << ": the emulator does not convert control messages: datagrams of " << each
              << " bytes are told of as " << told << std::endl;
    return true;
}

} // namespace emx::test

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// UDP sockets of boards.
#include "driver/base/udp_socket.hpp"

#include "driver/base/ipv4_socket.hpp"
#include "driver/base/packet_socket.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

namespace emx {
namespace {

// Bytes under way, at most: more than the sender's next calls bring only leaves the processor's cache.
constexpr uint32_t window_bytes = 192 << 10;

} // namespace

Fd make_udp_socket(const UdpAddress &own)
{
    SocketAddress address;
    const socklen_t length = to_socket(own, address);
    Fd fd(::socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return fd;
    const bool found =
        own.is_v4() ? set_socket_option(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, int{IP_PMTUDISC_WANT})
                    : set_socket_option(fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, int{IPV6_PMTUDISC_WANT}) &&
                          set_socket_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, int{1});
    if (!found || !set_socket_option(fd.get(), IPPROTO_UDP, UDP_GRO, int{1}) ||
        ::bind(fd.get(), &address.any, length) != 0)
        return {};
    return fd;
}

bool refuse_empty_datagrams(int socket)
{
    constexpr uint32_t header = sizeof(udphdr); // where such a filter begins
    return attach_filter(socket, {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, header, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, ~0u), BPF_STMT(BPF_RET | BPF_K, 0)});
}

bool is_udp_socket(int fd)
{
    int family = 0, protocol = 0;
    socklen_t size = sizeof(family);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
        (family != AF_INET && family != AF_INET6))
        return false;
    size = sizeof(protocol);
    return ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_UDP;
}

UdpAddress bound_address(int socket)
{
    SocketAddress bound{};
    socklen_t size = sizeof(bound);
    if (::getsockname(socket, &bound.any, &size) != 0)
        return {};
    return from_socket(bound);
}

/// The kernel returns what was read late, a quarter of the buffer at a time.
uint16_t datagram_window(uint32_t datagram, uint32_t headers, uint32_t buffer_bytes)
{
    const uint32_t held = frames_held(datagram + headers, buffer_bytes / 4 * 3);
    return static_cast<uint16_t>(std::clamp<uint32_t>(held, 1, std::max(window_bytes / datagram, 1u)));
}

void cut_into(msghdr &message, SegmentControl &control, uint32_t each)
{
    const auto length = static_cast<uint16_t>(each);
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(length));
    cmsghdr *cut = CMSG_FIRSTHDR(&message);
    cut->cmsg_level = SOL_UDP;
    cut->cmsg_type = UDP_SEGMENT;
    cut->cmsg_len = CMSG_LEN(sizeof(length));
    std::memcpy(CMSG_DATA(cut), &length, sizeof(length));
}

uint32_t length_of_each(msghdr &message, uint32_t bytes)
{
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
            continue;
        int each = 0;
        std::memcpy(&each, CMSG_DATA(c), sizeof(each));
        if (each > 0)
            return std::min(static_cast<uint32_t>(each), bytes);
    }
    return bytes;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where endpoints of boards of raw frames take connections.
#include "driver/engine/tcp_network.hpp"

#include "driver/base/ipv4_socket.hpp"

#include <linux/tcp.h>

namespace emx {
namespace {

std::optional<IpNetwork> network_of(int socket, const std::string &interface)
{
    if (socket >= 0)
        return ip_network(socket, interface);
    const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ip_network(any.get(), interface);
}

uint32_t ipv4_of(const UdpAddress &address)
{
    SocketAddress socket{};
    to_socket(address, socket);
    return ntohl(socket.v4.sin_addr.s_addr);
}

} // namespace

Fd make_tcp_socket(bool v4, uint32_t segment)
{
    constexpr uint32_t segment_max = 32767; // that the system can be told; it subtracts options
    Fd fd(::socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || (!v4 && !set_socket_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, int{1})))
        return {};
    // A switch that takes less than the interface drops longer ones without a word.
    if (segment <= segment_max)
        set_socket_option(fd.get(), IPPROTO_TCP, TCP_MAXSEG, static_cast<int>(segment));
    return fd;
}

std::optional<UdpAddress> InterfaceNetwork::here(int socket)
{
    const auto now = wanted() ? network_of(socket, interface_) : std::nullopt;
    if (!now)
        return std::nullopt;
    network_ = *now;
    return v4_address(now->address, EMX_X_PORT + uint32_t{endpoint_});
}

Fd InterfaceNetwork::new_socket() const
{
    constexpr uint32_t headers = 14 + 20 + 20; // Ethernet, IP, TCP
    Fd fd = make_tcp_socket(true, frame_ - headers);
    // Segments then leave by this interface, whatever other routes there are; older kernels refuse it.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, interface_.c_str(),
                 static_cast<socklen_t>(interface_.size()));
    return fd;
}

bool InterfaceNetwork::is_near(const UdpAddress &source) const
{
    return source.is_v4() && network_.has_neighbour(ipv4_of(source));
}

std::optional<UdpAddress> InterfaceNetwork::there(const fw_address &told)
{
    if (!network_.has_neighbour(told.address))
        return std::nullopt;
    return v4_address(told.address, told.port);
}

void InterfaceNetwork::tell(fw_address &own) const
{
    own.address = network_.address;
    own.port = static_cast<uint16_t>(EMX_X_PORT + endpoint_);
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where endpoints of UDP boards take connections.
#include "driver/engine/udp_network.hpp"

#include "driver/base/ipv4_socket.hpp"
#include "driver/config/udp_spec.hpp"

#include <linux/tcp.h>

#include <algorithm>

namespace emx {

std::optional<UdpAddress> UdpNetwork::here(int)
{
    if (!wanted())
        return std::nullopt;
    return own_;
}

Fd UdpNetwork::new_socket() const
{
    constexpr int more_headers = 20 - 8; // TCP's and UDP's, behind the same IP header
    constexpr int segment_max = 32767; // that the system can be told
    const bool v4 = own_.is_v4();
    Fd fd(::socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || (!v4 && !set_socket_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, int{1})))
        return {};
    set_socket_option(fd.get(), IPPROTO_TCP, TCP_MAXSEG,
                      std::min(static_cast<int>(frame_) - more_headers, segment_max));
    return fd;
}

std::optional<UdpAddress> UdpNetwork::there(const fw_address &told)
{
    const UdpAddress *agent = agent_of_(told.peer);
    if (!agent || told.address != 0 || told.port != 0)
        return std::nullopt;
    return agent->with_port(udp_port_of(agent->port, told.remote_ep));
}

void UdpNetwork::tell(fw_address &own) const
{
    own.address = 0;
    own.port = 0;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where endpoints of UDP boards take connections.
#include "driver/engine/udp_network.hpp"

#include "driver/config/udp_spec.hpp"

namespace emx {

std::optional<UdpAddress> UdpNetwork::here(int)
{
    if (!wanted())
        return std::nullopt;
    return own_;
}

Fd UdpNetwork::new_socket() const
{
    constexpr uint32_t more_headers = 20 - 8; // TCP's and UDP's, behind the same IP header
    return make_tcp_socket(own_.is_v4(), frame_ - more_headers);
}

std::optional<UdpAddress> UdpNetwork::there(const fw_address &told)
{
    const UdpAddress *agent = agent_of_(told.peer);
    if (!agent || told.address != 0 || told.port != 0)
        return std::nullopt;
    return agent->with_port(udp_port_of(agent->port, told.remote_ep));
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where endpoints of UDP boards take connections: at the address and port of their datagrams, so that nothing
// more than a host and a port has to be let through, and no packet needs to name them.
#pragma once

#include "driver/engine/tcp_network.hpp"

#include <functional>

namespace emx {

class UdpNetwork final : public TcpNetwork {
public:
    /// Address of a peer's agent; null while none is known.
    using FindAgent = std::function<const UdpAddress *(uint32_t peer)>;
    /// own: where the endpoint's datagrams come. frame: bytes of the longest datagram, which no segment
    /// exceeds; 0: no TCP at all.
    UdpNetwork(const UdpAddress &own, uint32_t frame, FindAgent agent_of)
        : own_(own), frame_(frame), agent_of_(std::move(agent_of))
    {
    }
    bool wanted() const override { return frame_ != 0 && own_.port != 0; }
    std::optional<UdpAddress> here(int socket) override;
    Fd new_socket() const override;
    /// Hosts may have several addresses: the secret, which only a peer was sent, is what admits.
    bool is_near(const UdpAddress &) const override { return true; }
    std::optional<UdpAddress> there(const fw_address &told) override;

private:
    const UdpAddress own_;
    const uint32_t frame_;
    const FindAgent agent_of_;
};

} // namespace emx

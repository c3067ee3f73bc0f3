// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where an endpoint and its partners take connections (docs/protocol.md, TCP): of a board of raw frames at a
// port of the endpoint's number, in the IPv4 network of the board's interface; of a UDP board where they
// take their datagrams.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/udp_address.hpp"

#include <cstdint>
#include <optional>
#include <string>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Returns a socket of a connection, or to listen by, whose segments have so many bytes at most, where the
/// system can be told so many; empty with errno set where there is none.
Fd make_tcp_socket(bool v4, uint32_t segment);

/// One of an endpoint; called under the port's lock. Nothing here blocks.
class TcpNetwork {
public:
    virtual ~TcpNetwork() = default;
    /// False: the endpoint is to use no TCP at all.
    virtual bool wanted() const = 0;
    /// Where connections to the endpoint are taken now; nothing where none are. socket: any of the network
    /// namespace, or -1.
    virtual std::optional<UdpAddress> here(int socket) = 0;
    /// A socket of a connection, or to listen by; empty with errno set where there is none.
    virtual Fd new_socket() const = 0;
    /// True if a connection may come from there.
    virtual bool is_near(const UdpAddress &source) const = 0;
    /// Where another endpoint takes connections, by what it has told; nothing where none is made to there.
    virtual std::optional<UdpAddress> there(const fw_address &told) = 0;
    /// Fills in the address and the port that the other end is told, if any.
    virtual void tell(fw_address &) const {}
};

/// Serves an endpoint of a board of raw frames.
class InterfaceNetwork final : public TcpNetwork {
public:
    /// interface: of the board. frame: bytes of the longest that the network takes, by what the board is
    /// told, which no segment exceeds; 0: no TCP at all.
    InterfaceNetwork(std::string interface, uint8_t endpoint, uint32_t frame)
        : interface_(std::move(interface)), endpoint_(endpoint), frame_(frame)
    {
    }
    bool wanted() const override { return frame_ != 0; }
    std::optional<UdpAddress> here(int socket) override;
    Fd new_socket() const override;
    bool is_near(const UdpAddress &source) const override;
    std::optional<UdpAddress> there(const fw_address &told) override;
    void tell(fw_address &own) const override;

private:
    const std::string interface_;
    const uint8_t endpoint_;
    const uint32_t frame_;
    IpNetwork network_; ///< at the last call of here()
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Addresses of UDP sockets, IPv4 and IPv6 alike.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace emx {

/// An IP address and a UDP port. Equal bytes are equal addresses.
struct UdpAddress {
    std::array<uint8_t, 16> ip{}; ///< of IPv6, or an IPv4 address mapped into it (::ffff:a.b.c.d)
    uint32_t scope = 0; ///< index of the interface of a link-local IPv6 address, else 0
    uint16_t port = 0; ///< byte order of the host; 0: none
    uint16_t reserved = 0;

    bool is_v4() const;
    /// True if it names one host: neither the address of all, nor one of a group.
    bool is_host() const;
    bool same_host(const UdpAddress &other) const { return ip == other.ip && scope == other.scope; }
    UdpAddress with_port(uint32_t other) const
    {
        UdpAddress to = *this;
        to.port = static_cast<uint16_t>(other);
        return to;
    }
    bool operator==(const UdpAddress &) const = default;
};

/// As the kernel wants it, and tells it.
union SocketAddress {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

/// Fills `to`; returns its length.
socklen_t to_socket(const UdpAddress &address, SocketAddress &to);
/// An address of another family has port 0.
UdpAddress from_socket(const SocketAddress &from);

UdpAddress v4_address(uint32_t address, uint32_t port); ///< address in the byte order of the host
inline UdpAddress any_address(bool v4, uint32_t port)
{
    return v4 ? v4_address(INADDR_ANY, port) : UdpAddress{}.with_port(port);
}
UdpAddress loopback_address(bool v4, uint32_t port);

/// "10.0.0.2" and "fd00::2"; with the port "10.0.0.2:34783" and "[fd00::2]:34783".
std::string describe_host(const UdpAddress &address);
std::string describe(const UdpAddress &address);

/// An IP address without a name service, "fe80::1%eth1" too; nothing when the text is none.
std::optional<UdpAddress> parse_ip(const std::string &text, uint32_t port);
/// The inverse of describe(UdpAddress).
std::optional<UdpAddress> parse_udp_address(const std::string &text);

/// HOST, HOST:PORT, ADDRESS, [ADDRESS] or [ADDRESS]:PORT; false when the text is none of them.
bool split_host(const std::string &text, std::string &host, uint32_t &port);

/// The first address of a host of that family, as the name service says; nothing, with the reason in why. May
/// take seconds.
std::optional<UdpAddress> resolve_host(const std::string &host, uint32_t port, bool v4, std::string &why);

} // namespace emx

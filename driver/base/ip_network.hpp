// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The IPv4 network of an interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace emx {

/// An address and the mask of its network, in the byte order of the host.
struct IpNetwork {
    uint32_t address = 0;
    uint32_t mask = 0;

    /// True if that address is another one of the same network, and of one host.
    bool has_neighbour(uint32_t other) const
    {
        const uint32_t host = other & ~mask;
        const bool named = mask >= 0xfffffffe || (host != 0 && host != ~mask); // RFC 3021: 31 bits
        return ((address ^ other) & mask) == 0 && other != address && named;
    }
};

/// The first IPv4 address of an interface, which must be up; nothing where it has none. socket: any of the
/// network namespace. By ioctl, since programs with a filter of system calls may forbid netlink.
std::optional<IpNetwork> ip_network(int socket, const std::string &interface);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Facts about a network interface: index, address, MTU, state, driver, NUMA node, IPv4 network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace emx {

struct InterfaceFacts {
    int index = 0;
    uint64_t mac = 0; ///< first octet most significant
    uint32_t mtu = 0; ///< bytes of payload
    bool up = false;
    bool ethernet = false;
    uint32_t numa_node = 0xffffffff;
    std::string driver;
};

/// Asks the kernel about an interface of this network namespace; false with errno set when there is
/// none of that name.
bool query_interface(const std::string &name, InterfaceFacts &facts);
/// The same by a socket of the caller, of any kind: it needs no descriptor more.
bool query_interface(int socket, const std::string &name, InterfaceFacts &facts);

/// The name that the interface of an index has now; empty when there is none. `socket`: any of the network
/// namespace.
std::string interface_name(int socket, int index);

enum class BoundInterface { up, down, gone };
/// State of the interface that a packet socket was bound to, in the socket's network namespace.
BoundInterface bound_interface(int packet_socket);

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

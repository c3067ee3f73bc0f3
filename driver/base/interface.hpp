// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Facts about a network interface: index, address, MTU, state, driver, NUMA node.
#pragma once

#include <cstdint>
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

} // namespace emx

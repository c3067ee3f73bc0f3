// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The IP addresses of this network namespace and their interfaces, by ioctl and /proc: programs with a filter
// of system calls may forbid netlink.
#pragma once

#include "driver/base/udp_address.hpp"

#include <optional>
#include <string>
#include <vector>

namespace emx {

struct IpAddress {
    UdpAddress address; ///< without a port
    std::string interface;
};

/// All addresses of interfaces that are up, IPv4 first.
std::vector<IpAddress> ip_addresses();

/// The interface that has an address; empty when there is none.
std::string interface_with(const UdpAddress &address);

/// The first IPv4 address of an interface or else its first IPv6 address, those of the link last; nothing
/// when it has none.
std::optional<UdpAddress> first_address(const std::string &interface);

/// The addresses by which all hosts of the network of an interface are reached: of IPv4 its broadcast
/// address, of IPv6 the group of all hosts; without a port. Nothing when it has none.
std::optional<UdpAddress> everybody_at(const std::string &interface, bool v4);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The IPv4 network of an interface, by ioctl.
#include "driver/base/ip_network.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <cstring>

namespace emx {
namespace {

std::optional<uint32_t> ask(int socket, unsigned long what, const std::string &interface)
{
    ifreq request{};
    std::memcpy(request.ifr_name, interface.c_str(), interface.size());
    if (::ioctl(socket, what, &request) != 0 || request.ifr_addr.sa_family != AF_INET)
        return std::nullopt;
    sockaddr_in address;
    std::memcpy(&address, &request.ifr_addr, sizeof(address));
    return ntohl(address.sin_addr.s_addr);
}

} // namespace

std::optional<IpNetwork> ip_network(int socket, const std::string &interface)
{
    if (interface.empty() || interface.size() >= IFNAMSIZ)
        return std::nullopt;
    const auto address = ask(socket, SIOCGIFADDR, interface);
    const auto mask = ask(socket, SIOCGIFNETMASK, interface);
    if (!address || !mask || *address == 0)
        return std::nullopt;
    return IpNetwork{*address, *mask};
}

} // namespace emx

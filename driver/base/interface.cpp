// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Facts about a network interface, by ioctl and sysfs.
#include "driver/base/interface.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/text_file.hpp"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

bool ask(int fd, unsigned long request, const std::string &name, ifreq &reply)
{
    std::memset(&reply, 0, sizeof(reply));
    std::memcpy(reply.ifr_name, name.c_str(), name.size());
    return ::ioctl(fd, request, &reply) == 0;
}

std::string driver_name(int fd, const std::string &name)
{
    ifreq request{};
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    std::memcpy(request.ifr_name, name.c_str(), name.size());
    request.ifr_data = reinterpret_cast<char *>(&info);
    if (::ioctl(fd, SIOCETHTOOL, &request) != 0)
        return {};
    return std::string(info.driver, ::strnlen(info.driver, sizeof(info.driver)));
}

uint32_t numa_node(const std::string &name)
{
    std::istringstream file = read_text_file("/sys/class/net/" + name + "/device/numa_node");
    long node = -1;
    if (!(file >> node) || node < 0)
        return 0xffffffff;
    return static_cast<uint32_t>(node);
}

} // namespace

bool query_interface(const std::string &name, InterfaceFacts &facts)
{
    const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return fd && query_interface(fd.get(), name, facts);
}

bool query_interface(int fd, const std::string &name, InterfaceFacts &facts)
{
    if (name.empty() || name.size() >= IFNAMSIZ) {
        errno = ENODEV;
        return false;
    }
    ifreq reply{};
    if (!ask(fd, SIOCGIFINDEX, name, reply))
        return false;
    facts.index = reply.ifr_ifindex;
    if (!ask(fd, SIOCGIFHWADDR, name, reply))
        return false;
    facts.ethernet = reply.ifr_hwaddr.sa_family == ARPHRD_ETHER;
    facts.mac = 0;
    for (int i = 0; i < 6; i++)
        facts.mac = facts.mac << 8 | static_cast<unsigned char>(reply.ifr_hwaddr.sa_data[i]);
    if (!ask(fd, SIOCGIFMTU, name, reply))
        return false;
    facts.mtu = static_cast<uint32_t>(reply.ifr_mtu);
    if (!ask(fd, SIOCGIFFLAGS, name, reply))
        return false;
    facts.up = (reply.ifr_flags & IFF_UP) && (reply.ifr_flags & IFF_RUNNING);
    facts.driver = driver_name(fd, name);
    facts.numa_node = numa_node(name);
    return true;
}

std::string interface_name(int socket, int index)
{
    ifreq reply{};
    reply.ifr_ifindex = index;
    if (::ioctl(socket, SIOCGIFNAME, &reply) != 0)
        return {};
    return std::string(reply.ifr_name, ::strnlen(reply.ifr_name, sizeof(reply.ifr_name)));
}

BoundInterface bound_interface(int packet_socket)
{
    sockaddr_ll bound{};
    socklen_t size = sizeof(bound);
    ifreq reply{};
    if (::getsockname(packet_socket, reinterpret_cast<sockaddr *>(&bound), &size) != 0)
        return BoundInterface::gone;
    reply.ifr_ifindex = bound.sll_ifindex; // below 0 since the interface vanished
    if (::ioctl(packet_socket, SIOCGIFNAME, &reply) != 0 || ::ioctl(packet_socket, SIOCGIFFLAGS, &reply) != 0)
        return BoundInterface::gone;
    const bool up = (reply.ifr_flags & IFF_UP) && (reply.ifr_flags & IFF_RUNNING);
    return up ? BoundInterface::up : BoundInterface::down;
}

std::optional<IpNetwork> ip_network(int socket, const std::string &interface)
{
    if (interface.empty() || interface.size() >= IFNAMSIZ)
        return std::nullopt;
    const auto number = [&](unsigned long what) -> uint32_t {
        ifreq reply{};
        if (!ask(socket, what, interface, reply) || reply.ifr_addr.sa_family != AF_INET)
            return 0;
        sockaddr_in address;
        std::memcpy(&address, &reply.ifr_addr, sizeof(address));
        return ntohl(address.sin_addr.s_addr);
    };
    const IpNetwork found{number(SIOCGIFADDR), number(SIOCGIFNETMASK)};
    if (found.address == 0 || found.mask == 0)
        return std::nullopt;
    return found;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Addresses of interfaces.
#include "driver/base/ip_interface.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/text_file.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace emx {
namespace {

constexpr std::size_t v4_most = 256;

void add_v4(std::vector<IpAddress> &all)
{
    const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::vector<ifreq> found(v4_most);
    ifconf list{};
    list.ifc_len = static_cast<int>(found.size() * sizeof(ifreq));
    list.ifc_req = found.data();
    if (!fd || ::ioctl(fd.get(), SIOCGIFCONF, &list) != 0)
        return;
    found.resize(static_cast<std::size_t>(list.ifc_len) / sizeof(ifreq));
    for (const ifreq &each : found) {
        SocketAddress from{};
        std::memcpy(&from, &each.ifr_addr, sizeof(from.v4));
        const std::string label(each.ifr_name, ::strnlen(each.ifr_name, sizeof(each.ifr_name)));
        if (from.any.sa_family == AF_INET)
            all.push_back({from_socket(from).with_port(0), label.substr(0, label.find(':'))});
    }
}

bool read_hex(const std::string &text, uint32_t &number)
{
    constexpr int base = 16;
    const char *const end = text.data() + text.size();
    return std::from_chars(text.data(), end, number, base).ptr == end;
}

bool read_ip(const std::string &text, UdpAddress &address)
{
    if (text.size() != 2 * address.ip.size())
        return false;
    for (std::size_t i = 0; i < address.ip.size(); i++) {
        uint32_t byte = 0;
        if (!read_hex(text.substr(2 * i, 2), byte))
            return false;
        address.ip[i] = static_cast<uint8_t>(byte);
    }
    return true;
}

void add_v6(std::vector<IpAddress> &all)
{
    constexpr uint32_t of_link = 0x20, unusable = 0x48; // IFA_F_TENTATIVE and IFA_F_DADFAILED
    std::istringstream list = read_text_file("/proc/thread-self/net/if_inet6");
    std::vector<IpAddress> last;
    for (std::string ip, index, prefix, scope, flags, name;
         list >> ip >> index >> prefix >> scope >> flags >> name;) {
        uint32_t number = 0, reach = 0, state = 0;
        UdpAddress address;
        if (!read_ip(ip, address) || !read_hex(index, number) || !read_hex(scope, reach) ||
            !read_hex(flags, state) || (state & unusable))
            continue;
        address.scope = reach == of_link ? number : 0;
        (reach == of_link ? last : all).push_back({address, name});
    }
    all.insert(all.end(), last.begin(), last.end());
}

} // namespace

std::vector<IpAddress> ip_addresses()
{
    std::vector<IpAddress> all;
    add_v4(all);
    add_v6(all);
    return all;
}

std::string interface_with(const UdpAddress &address)
{
    const auto all = ip_addresses();
    const auto found = std::find_if(all.begin(), all.end(), [&](const IpAddress &each) {
        return each.address.ip == address.ip && (address.scope == 0 || each.address.scope == address.scope);
    });
    return found == all.end() ? std::string{} : found->interface;
}

std::optional<UdpAddress> first_address(const std::string &interface)
{
    const auto all = ip_addresses();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const IpAddress &each) { return each.interface == interface; });
    return found == all.end() ? std::nullopt : std::optional(found->address);
}

std::optional<UdpAddress> everybody_at(const std::string &interface, bool v4)
{
    const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq reply{};
    interface.copy(reply.ifr_name, sizeof(reply.ifr_name) - 1);
    if (!v4) {
        UdpAddress all;
        all.ip = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        if (::ioctl(fd.get(), SIOCGIFINDEX, &reply) != 0)
            return std::nullopt;
        all.scope = static_cast<uint32_t>(reply.ifr_ifindex);
        return all;
    }
    // Not the broadcast address that was given: often none was.
    const auto network = ip_network(fd.get(), interface);
    if (!network || ::ioctl(fd.get(), SIOCGIFFLAGS, &reply) != 0 || !(reply.ifr_flags & IFF_BROADCAST))
        return std::nullopt;
    return v4_address(network->address | ~network->mask, 0);
}

} // namespace emx

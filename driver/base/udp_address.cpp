// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Text and socket forms of UDP addresses, and the name service.
#include "driver/base/udp_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace emx {
namespace {

constexpr std::array<uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool parse_port(const std::string &text, uint32_t &port)
{
    constexpr uint32_t last = 65535;
    const char *const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, port);
    return failed == std::errc{} && rest == end && port >= 1 && port <= last;
}

bool in_host_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

} // namespace

bool UdpAddress::is_v4() const { return std::equal(mapped.begin(), mapped.end(), ip.begin()); }

bool UdpAddress::is_host() const
{
    constexpr uint8_t v4_groups = 224, v6_groups = 0xff;
    if (is_v4())
        return ip[12] < v4_groups && (ip[12] | ip[13] | ip[14] | ip[15]) != 0;
    return ip[0] != v6_groups && ip != decltype(ip){};
}

socklen_t to_socket(const UdpAddress &address, SocketAddress &to)
{
    if (address.is_v4()) {
        to.v4 = {};
        to.v4.sin_family = AF_INET;
        to.v4.sin_port = htons(address.port);
        std::memcpy(&to.v4.sin_addr, &address.ip[mapped.size()], sizeof(to.v4.sin_addr));
        return sizeof(to.v4);
    }
    to.v6 = {};
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons(address.port);
    to.v6.sin6_scope_id = address.scope;
    std::memcpy(&to.v6.sin6_addr, address.ip.data(), sizeof(to.v6.sin6_addr));
    return sizeof(to.v6);
}

UdpAddress from_socket(const SocketAddress &from)
{
    UdpAddress address;
    if (from.any.sa_family == AF_INET) {
        std::copy(mapped.begin(), mapped.end(), address.ip.begin());
        std::memcpy(&address.ip[mapped.size()], &from.v4.sin_addr, sizeof(from.v4.sin_addr));
        address.port = ntohs(from.v4.sin_port);
    } else if (from.any.sa_family == AF_INET6) {
        std::memcpy(address.ip.data(), &from.v6.sin6_addr, sizeof(from.v6.sin6_addr));
        address.scope = from.v6.sin6_scope_id;
        address.port = ntohs(from.v6.sin6_port);
    }
    return address;
}

UdpAddress v4_address(uint32_t address, uint32_t port)
{
    SocketAddress from{};
    from.v4.sin_family = AF_INET;
    from.v4.sin_addr.s_addr = htonl(address);
    return from_socket(from).with_port(port);
}

UdpAddress loopback_address(bool v4, uint32_t port)
{
    if (v4)
        return v4_address(INADDR_LOOPBACK, port);
    UdpAddress address;
    address.ip.back() = 1;
    return address.with_port(port);
}

std::string describe_host(const UdpAddress &address)
{
    SocketAddress to;
    to_socket(address, to);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void *bytes = address.is_v4() ? static_cast<const void *>(&to.v4.sin_addr) : &to.v6.sin6_addr;
    ::inet_ntop(to.any.sa_family, bytes, text.data(), text.size());
    std::string host = text.data();
    if (address.scope != 0)
        host += "%" + std::to_string(address.scope);
    return host;
}

std::string describe(const UdpAddress &address)
{
    const std::string host = describe_host(address), port = ":" + std::to_string(address.port);
    return address.is_v4() ? host + port : "[" + host + "]" + port;
}

std::optional<UdpAddress> parse_ip(const std::string &text, uint32_t port)
{
    SocketAddress from{};
    const auto percent = text.find('%');
    const std::string host = text.substr(0, percent);
    if (percent == std::string::npos && ::inet_pton(AF_INET, host.c_str(), &from.v4.sin_addr) == 1) {
        from.v4.sin_family = AF_INET;
        return from_socket(from).with_port(port);
    }
    from = {};
    if (::inet_pton(AF_INET6, host.c_str(), &from.v6.sin6_addr) != 1)
        return std::nullopt;
    from.v6.sin6_family = AF_INET6;
    UdpAddress address = from_socket(from).with_port(port);
    if (percent == std::string::npos)
        return address;
    const std::string scope = text.substr(percent + 1);
    const char *const end = scope.data() + scope.size();
    const auto [rest, failed] = std::from_chars(scope.data(), end, address.scope);
    if (failed != std::errc{} || rest != end)
        address.scope = ::if_nametoindex(scope.c_str());
    return address.scope != 0 ? std::optional(address) : std::nullopt;
}

std::optional<UdpAddress> parse_udp_address(const std::string &text)
{
    std::string host;
    uint32_t port = 0;
    if (!split_host(text, host, port) || port == 0)
        return std::nullopt;
    return parse_ip(host, port);
}

bool split_host(const std::string &text, std::string &host, uint32_t &port)
{
    port = 0;
    if (!text.empty() && text[0] == '[') {
        const auto close = text.find(']');
        if (close == std::string::npos)
            return false;
        host = text.substr(1, close - 1);
        const std::string rest = text.substr(close + 1);
        return parse_ip(host, 1) && (rest.empty() || (rest[0] == ':' && parse_port(rest.substr(1), port)));
    }
    host = text;
    if (parse_ip(text, 1))
        return true;
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    return !host.empty() && std::all_of(host.begin(), host.end(), in_host_name) &&
           (colon == std::string::npos || parse_port(text.substr(colon + 1), port));
}

std::optional<UdpAddress> resolve_host(const std::string &host, uint32_t port, bool v4, std::string &why)
{
    if (const auto address = parse_ip(host, port)) {
        if (address->is_v4() == v4)
            return address;
        why = host + " is " + (v4 ? "no IPv4" : "no IPv6") + " address, which the board has";
        return std::nullopt;
    }
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_family = v4 ? AF_INET : AF_INET6;
    wanted.ai_socktype = SOCK_DGRAM;
    const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    if (failed != 0 || !found) {
        why = std::string("the name ") + host + " has no " + (v4 ? "IPv4" : "IPv6") + " address here (" +
              (failed == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(failed)) + ")";
        return std::nullopt;
    }
    SocketAddress from{};
    std::memcpy(&from, found->ai_addr, std::min<std::size_t>(found->ai_addrlen, sizeof(from)));
    ::freeaddrinfo(found);
    return from_socket(from).with_port(port);
}

} // namespace emx

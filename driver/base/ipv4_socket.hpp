// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Addresses of IPv4 as sockets take them, from numbers in the byte order of the host; options of sockets.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace emx {

inline sockaddr_in ipv4_socket(uint32_t address, uint16_t port)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(address);
    to.sin_port = htons(port);
    return to;
}

/// False with errno set where the system refuses.
template <typename Value>
bool set_socket_option(int socket, int level, int option, const Value &value)
{
    return ::setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

} // namespace emx

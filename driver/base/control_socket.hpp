// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Datagrams with descriptors over a connected Unix socket, as agent and processes use them.
#pragma once

#include "driver/base/fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string>
#include <vector>

namespace emx {

/// Address of an abstract name; returns its length for bind and connect.
socklen_t abstract_address(const std::string &name, sockaddr_un &address);

/// Address of a path; returns its length.
socklen_t path_address(const std::string &path, sockaddr_un &address);

/// Sends one datagram with up to 8 descriptors. False with errno set; never raises SIGPIPE.
bool send_datagram(int socket, const void *data, std::size_t bytes, const std::vector<int> &fds,
                   int flags = 0);

/// Receives one datagram of at most `bytes`, and the descriptors on it (close-on-exec). Returns its
/// length, 0 when the other end is closed, -1 with errno set (EMSGSIZE when it was longer).
ssize_t receive_datagram(int socket, void *data, std::size_t bytes, std::vector<Fd> &fds, int flags = 0);

} // namespace emx

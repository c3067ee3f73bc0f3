// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Datagrams with descriptors over a connected Unix socket.
#include "driver/base/control_socket.hpp"

#include "driver/base/system_calls.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr std::size_t fds_max = 8;

void take_fds(msghdr &message, std::vector<Fd> &fds)
{
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; i++) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            fds.emplace_back(fd);
        }
    }
}

} // namespace

socklen_t abstract_address(const std::string &name, sockaddr_un &address)
{
    std::memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    assert(name.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

socklen_t path_address(const std::string &path, sockaddr_un &address)
{
    std::memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    assert(path.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.data(), path.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

bool send_datagram(int socket, const void *data, std::size_t bytes, const std::vector<int> &fds, int flags)
{
    assert(fds.size() <= fds_max);
    alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))] = {};
    iovec io = {const_cast<void *>(data), bytes};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
        cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
    }
    return sys::sendmsg(socket, &message, flags | MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

ssize_t receive_datagram(int socket, void *data, std::size_t bytes, std::vector<Fd> &fds, int flags)
{
    fds.reserve(fds.size() + fds_max); // not once descriptors are here, since it may fail
    alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))] = {};
    iovec io = {data, bytes};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = sys::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return -1;
    take_fds(message, fds);
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        // The kernel hands out what descriptors it can, and says no more: there is room for all of ours.
        errno = message.msg_flags & MSG_CTRUNC ? EMFILE : EMSGSIZE;
        return -1;
    }
    return got;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of datagrams: see udp_segments.hpp.
#include "driver/engine/udp_segments.hpp"

#include "driver/base/system_calls.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace emx {

bool send_segments(int socket, const DatagramTarget &target, std::span<iovec> pieces, uint16_t each)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(target.address);
    to.sin_port = htons(target.port);
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof(to);
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(each))> control{};
    if (each != 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr *cut = CMSG_FIRSTHDR(&message);
        cut->cmsg_level = SOL_UDP;
        cut->cmsg_type = UDP_SEGMENT;
        cut->cmsg_len = CMSG_LEN(sizeof(each));
        std::memcpy(CMSG_DATA(cut), &each, sizeof(each));
    }
    return sys::sendmsg(socket, &message, MSG_DONTWAIT) >= 0;
}

bool is_lasting(int error)
{
    return error != EAGAIN && error != ENOBUFS && error != ENOMEM && error != EINTR;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Runs of datagrams: see udp_segments.hpp.
#include "driver/engine/udp_segments.hpp"

#include "driver/base/ipv4_socket.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/udp_socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace emx {

bool send_segments(int socket, const DatagramTarget &target, std::span<iovec> pieces, uint16_t each)
{
    sockaddr_in to = ipv4_socket(target.address, target.port);
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof(to);
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    SegmentControl control{};
    if (each != 0)
        cut_into(message, control, each);
    return sys::sendmsg(socket, &message, MSG_DONTWAIT) >= 0;
}

bool is_lasting(int error)
{
    return error != EAGAIN && error != ENOBUFS && error != ENOMEM && error != EINTR;
}

} // namespace emx

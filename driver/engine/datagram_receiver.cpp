// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Datagrams in, scattered to their final places.
#include "driver/engine/datagram_receiver.hpp"

#include "driver/base/system_calls.hpp"
#include "driver/base/udp_socket.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

/// The socket takes no empty datagrams, of which this would tell nothing.
bool is_readable(int socket)
{
    int bytes = 0;
    return ::ioctl(socket, FIONREAD, &bytes) != 0 || bytes > 0;
}

} // namespace

void DatagramReceiver::arm(const fw_endpoint &ep, int slot, const PieceList *target)
{
    if (scratch_.empty()) {
        // The core reads a header's bytes, which may lie behind a short datagram.
        scratch_.resize(bytes_max + FW_CHECK_BYTES);
        whole_.resize(bytes_max + FW_CHECK_BYTES);
        iovecs_.resize(FW_PLACES_MAX * (1 + pieces_max) + 1);
        datagrams_.resize(joined_max);
    }
    slot_ = slot;
    handle_ = slot >= 0 ? ep.pull[slot].handle : 0;
    known_ = slot >= 0 ? fw_expect(&ep, slot, FW_PLACES_MAX, places_.data()) : 0;
    armed_ = true;
    uint32_t used = 0;
    for (uint32_t i = 0; i < known_; i++) {
        const fw_place &place = places_[i];
        const uint32_t pieces =
            target->describe(place.position, place.length, &iovecs_[used + 1], pieces_max);
        if (pieces == 0) {
            known_ = i;
            break;
        }
        iovecs_[used] = {headers_[i].data(), FW_X_DATA_HEADER};
        used += 1 + pieces;
    }
    iovecs_[used++] = {scratch_.data(), bytes_max};
    iovecs_used_ = used;
}

bool DatagramReceiver::is_armed(const fw_endpoint &ep, int slot) const
{
    return armed_ && slot == slot_ && (slot < 0 || (ep.pull[slot].handle == handle_ && known_ > 0));
}

/// True if all that came is what was expected, each in its place.
bool DatagramReceiver::in_place(const fw_endpoint &ep, int slot, uint32_t bytes, uint32_t each) const
{
    const uint32_t count = (bytes + each - 1) / each;
    if (count > known_)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const fw_place &place = places_[i];
        const uint32_t length = i + 1 < count ? each : bytes - i * each;
        const bool fits = i + 1 < count ? length == FW_X_DATA_HEADER + place.length
                                        : length >= FW_X_DATA_HEADER + place.length;
        emx_w_x_data data;
        std::memcpy(&data, headers_[i].data() + EMX_OUTER_LEN, sizeof(data));
        if (!fits || data.type != EMX_X_DATA || emx_get32(data.handle) != handle_ ||
            uint64_t{emx_get32(data.frame)} * ep.pull[slot].unit != place.position ||
            emx_get16(data.length) != place.length)
            return false;
    }
    return true;
}

void DatagramReceiver::describe_in_place(uint32_t bytes, uint32_t each)
{
    uint32_t i = 0;
    for (uint32_t at = 0; at < bytes; at += each, i++)
        datagrams_[i] = {headers_[i].data(), std::min(each, bytes - at), nullptr};
}

void DatagramReceiver::gather(uint32_t bytes, uint32_t each)
{
    std::byte *from = scratch_.data();
    if (known_ > 0) {
        uint32_t at = 0;
        for (const iovec *io = iovecs_.data(); at < bytes; io++) {
            const uint32_t here = std::min(bytes - at, static_cast<uint32_t>(io->iov_len));
            std::memcpy(whole_.data() + at, io->iov_base, here);
            at += here;
        }
        from = whole_.data();
    }
    uint32_t i = 0;
    for (uint32_t at = 0; at < bytes; at += each, i++)
        datagrams_[i] = {from + at, std::min(each, bytes - at), from + at + FW_X_DATA_HEADER};
}

int DatagramReceiver::receive(int socket, const fw_endpoint &ep, int slot, const PieceList *target)
{
    // The kernel reads all places before it looks whether something is there.
    if (is_armed(ep, slot) && !is_readable(socket)) {
        errno = EAGAIN;
        return -1;
    }
    if (!is_armed(ep, slot))
        arm(ep, slot, target);
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control;
    sockaddr_in from{};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof(from);
    message.msg_iov = iovecs_.data();
    message.msg_iovlen = iovecs_used_;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = sys::recvmsg(socket, &message, MSG_DONTWAIT);
    if (got < 0)
        return -1;
    armed_ = false;
    source_ = {ntohl(from.sin_addr.s_addr), ntohs(from.sin_port)};
    const auto bytes = static_cast<uint32_t>(got);
    if (bytes == 0 || message.msg_flags & MSG_TRUNC)
        return 0;
    const uint32_t each = length_of_each(message, bytes);
    const uint32_t count = (bytes + each - 1) / each;
    if (count > joined_max)
        return 0; // of a few bytes each: not ours
    if (in_place(ep, slot, bytes, each))
        describe_in_place(bytes, each);
    else
        gather(bytes, each);
    return static_cast<int>(count);
}

uint32_t DatagramReceiver::payload_sum(uint32_t i, uint32_t bytes, const PieceList *target) const
{
    if (datagrams_[i].payload)
        return fw_crc32c(0, datagrams_[i].payload, bytes);
    std::array<iovec, pieces_max> io;
    return sum_pieces(io.data(), target->describe(places_[i].position, bytes, io.data(), pieces_max));
}

} // namespace emx

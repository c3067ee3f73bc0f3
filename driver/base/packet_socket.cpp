// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Creation of AF_PACKET sockets, their filters, and mapping of their receive rings.
#include "driver/base/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace emx {
namespace {

// The kernel puts the frame behind its own header and a socket address, aligned to 16.
constexpr uint32_t slot_overhead = 80 - ethernet_header;
constexpr uint32_t block_bytes = 1u << 18;
// A small frame and its status are two cache lines, which processors fetch as a pair when they are aligned
// as one. The kernel asks for TPACKET_ALIGNMENT.
constexpr uint32_t slot_alignment = 128;
static_assert(slot_alignment % TPACKET_ALIGNMENT == 0);

bool add_ring(int fd, const RingShape &shape)
{
    const int version = TPACKET_V2;
    if (::setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0)
        return false;
    tpacket_req request{};
    request.tp_block_size = shape.block;
    request.tp_block_nr = shape.blocks;
    request.tp_frame_size = shape.slot;
    request.tp_frame_nr = shape.slots();
    return ::setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) == 0;
}

} // namespace

RingShape shape_ring(uint32_t frame_max, uint32_t slots)
{
    RingShape shape;
    shape.slot = (slot_overhead + frame_max + slot_alignment - 1) / slot_alignment * slot_alignment;
    shape.block = block_bytes;
    const uint32_t per_block = shape.block / shape.slot;
    shape.blocks = std::max(1u, (slots + per_block - 1) / per_block);
    return shape;
}

uint32_t RingShape::frame_max() const { return slot > slot_overhead ? slot - slot_overhead : 0; }

bool RingShape::possible() const
{
    constexpr uint64_t most = uint64_t{1} << 30;
    return slot >= TPACKET2_HDRLEN && slot % TPACKET_ALIGNMENT == 0 && block >= slot && block % 4096 == 0 &&
           blocks > 0 && bytes() <= most;
}

FilterProgram closed_filter() { return {{BPF_RET | BPF_K, 0, 0, 0}}; }

bool attach_filter(int socket, const FilterProgram &program)
{
    const sock_fprog fprog = {static_cast<unsigned short>(program.size()),
                              const_cast<sock_filter *>(program.data())};
    return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &fprog, sizeof(fprog)) == 0;
}

bool detach_filter(int socket)
{
    const int unused = 0;
    return ::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) == 0;
}

bool lock_filter(int socket)
{
    const int on = 1;
    return ::setsockopt(socket, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)) == 0;
}

Fd make_packet_socket(const FilterProgram &filter, const RingShape *shape)
{
    // Protocol 0 receives nothing until bind() names one: filter and ring come first.
    Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || !attach_filter(fd.get(), filter))
        return {};
    if (shape && !add_ring(fd.get(), *shape))
        return {};
    return fd;
}

bool is_packet_socket(int fd)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof(int);
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET &&
           ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_RAW;
}

bool bind_packet_socket(int fd, int interface, uint16_t ethertype)
{
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ethertype);
    address.sll_ifindex = interface;
    return ::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
}

bool set_membership(int fd, int interface, uint64_t address, bool member)
{
    packet_mreq request{};
    request.mr_ifindex = interface;
    request.mr_type = PACKET_MR_MULTICAST;
    request.mr_alen = 6;
    for (int i = 0; i < 6; i++)
        request.mr_address[i] = static_cast<uint8_t>(address >> (8 * (5 - i)));
    return ::setsockopt(fd, SOL_PACKET, member ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &request,
                        sizeof(request)) == 0;
}

std::optional<uint16_t> found_group(int fd)
{
    uint32_t group = static_cast<uint32_t>(PACKET_FANOUT_CBPF | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    socklen_t size = sizeof(group);
    if (::setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &group, size) != 0 ||
        ::getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &group, &size) != 0)
        return std::nullopt;
    return static_cast<uint16_t>(group);
}

bool join_group(int fd, uint16_t group)
{
    const uint32_t value = group | static_cast<uint32_t>(PACKET_FANOUT_CBPF) << 16;
    return ::setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value)) == 0;
}

bool steer_group(int fd, const FilterProgram &program)
{
    const sock_fprog fprog = {static_cast<unsigned short>(program.size()),
                              const_cast<sock_filter *>(program.data())};
    return ::setsockopt(fd, SOL_PACKET, PACKET_FANOUT_DATA, &fprog, sizeof(fprog)) == 0;
}

uint32_t grow_buffers(int socket, uint32_t bytes)
{
    const int wanted = static_cast<int>(bytes);
    if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) != 0)
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
    if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)) != 0)
        ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
    int granted = 0;
    socklen_t size = sizeof(granted);
    if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &granted, &size) != 0 || granted < 0)
        return 0;
    return static_cast<uint32_t>(granted);
}

bool buffers_grow_freely(int socket, uint32_t bytes)
{
    const int wanted = static_cast<int>(bytes);
    for (const int buffer : {SO_RCVBUF, SO_SNDBUF}) {
        int granted = 0; // twice what was asked for: bookkeeping counts as well
        socklen_t size = sizeof(granted);
        if (::setsockopt(socket, SOL_SOCKET, buffer, &wanted, sizeof(wanted)) != 0 ||
            ::getsockopt(socket, SOL_SOCKET, buffer, &granted, &size) != 0 || granted / 2 < wanted)
            return false;
    }
    return true;
}

uint32_t frames_held(uint32_t frame, uint32_t buffer_bytes)
{
    // The kernel charges a frame for its data with headroom and the shared info behind it, rounded up
    // to an allocation size, and the buffer head.
    const uint32_t charge = std::bit_ceil(frame + 512) + 512;
    return buffer_bytes / charge;
}

PacketRing::~PacketRing() { unmap(); }

Fd PacketRing::unmap()
{
    if (base_)
        ::munmap(base_, shape_.bytes());
    base_ = nullptr;
    return std::move(socket_);
}

bool PacketRing::map(Fd socket, const RingShape &shape)
{
    void *base =
        ::mmap(nullptr, shape.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket.get(), 0);
    if (base == MAP_FAILED)
        return false;
    base_ = static_cast<std::byte *>(base);
    socket_ = std::move(socket);
    shape_ = shape;
    per_block_ = shape.block / shape.slot;
    slots_ = shape.slots();
    current_ = slot(0);
    return true;
}

} // namespace emx

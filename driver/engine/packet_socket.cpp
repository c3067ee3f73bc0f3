// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Creation of AF_PACKET sockets and mapping of their receive rings.
#include "driver/engine/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace emx {
namespace {

constexpr uint32_t medium_header = EMX_OUTER_LEN + sizeof(emx_w_medium);
constexpr uint32_t reply_header = EMX_OUTER_LEN + sizeof(emx_w_pull_reply);
// The kernel puts the frame behind its own header and a socket address, aligned to 16.
constexpr uint32_t slot_overhead = 80 - ethernet_header;
constexpr uint32_t block_bytes = 1u << 18;
// A small frame and its status are two cache lines, which processors fetch as a pair when they are aligned
// as one. The kernel asks for TPACKET_ALIGNMENT.
constexpr uint32_t slot_alignment = 128;
static_assert(slot_alignment % TPACKET_ALIGNMENT == 0);

uint32_t medium_frame_max(const fw_sizes &sizes)
{
    return medium_header + std::max(sizes.frag, sizes.frag_accept);
}

/// The longest frame that an interface carries, of no extension and no pull.
uint32_t dialect_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::min(medium_frame_max(sizes),
                    std::max(interface_mtu + ethernet_header, uint32_t{EMX_FRAME_MIN}));
}

uint32_t x_medium_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return FW_X_MEDIUM_HEADER + fw_x_frag_max(fw_x_frame_max(&sizes, interface_mtu));
}

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

bool RingShape::possible() const
{
    constexpr uint64_t most = uint64_t{1} << 30;
    return slot >= TPACKET2_HDRLEN && slot % TPACKET_ALIGNMENT == 0 && block >= slot && block % 4096 == 0 &&
           blocks > 0 && bytes() <= most;
}

uint32_t ring_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::max(dialect_frame_max(sizes, interface_mtu), x_medium_frame_max(sizes, interface_mtu));
}

uint32_t ring_fragment(const RingShape &shape, uint32_t x_frame)
{
    const uint32_t fragment = fw_x_frag_max(x_frame);
    return shape.slot >= slot_overhead + FW_X_MEDIUM_HEADER + fragment ? fragment : 0;
}

FullFrames full_frames(const fw_sizes &sizes, uint32_t interface_mtu)
{
    const uint32_t reply = reply_header + sizes.reply, x_data = fw_x_frame_max(&sizes, interface_mtu);
    const uint32_t others = std::max(medium_frame_max(sizes), x_medium_frame_max(sizes, interface_mtu));
    return {reply > others ? reply : 0, x_data > others ? x_data : 0};
}

uint32_t lo_frame_max(const fw_sizes &sizes, uint32_t interface_mtu)
{
    return std::max(dialect_frame_max(sizes, interface_mtu), reply_header + sizes.reply);
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

bool bind_packet_socket(int fd, int interface)
{
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(EMX_ETHERTYPE);
    address.sll_ifindex = interface;
    return ::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
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

uint32_t replies_held(const fw_sizes &sizes, uint32_t buffer_bytes)
{
    return frames_held(reply_header + sizes.reply, buffer_bytes);
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

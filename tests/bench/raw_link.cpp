// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// AF_PACKET sockets of the floor.
#include "raw_link.hpp"

#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/series.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace emx::bench {

namespace {

// Not MXoE's: a board agent on these hosts would answer for endpoints that nobody has open.
constexpr uint16_t ethertype = 0x88b5; // IEEE 802, local experimental
constexpr uint32_t slots = 256;
constexpr uint32_t mac_bytes = 6;
constexpr uint32_t type_offset = EMX_OUTER_LEN;
constexpr uint32_t number_offset = EMX_OUTER_LEN + 4;
constexpr uint32_t deadline_check = 4096; // looks at the receive side between two looks at the clock
constexpr int bulk_buffer = 16 << 20;

[[noreturn]] void fail(const std::string &what)
{
    throw cli::Failure(what + ": " + std::strerror(errno) +
                       (errno == EPERM ? " (raw sockets need CAP_NET_RAW: run as root)" : ""));
}

void set_option(int fd, int option, const void *value, socklen_t size, const char *name)
{
    if (setsockopt(fd, SOL_PACKET, option, value, size) != 0)
        fail(name);
}

int open_socket(int index)
{
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("cannot open a raw socket");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ethertype);
    address.sll_ifindex = index;
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        fail("cannot bind a raw socket");
    return fd;
}

/// Splits by the type byte: pull replies to the second socket of the group, the rest to the first.
void join_fanout(int fd, uint16_t id)
{
    const uint32_t value = id | PACKET_FANOUT_CBPF << 16;
    set_option(fd, PACKET_FANOUT, &value, sizeof value, "PACKET_FANOUT");
}

void set_fanout_program(int fd)
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<uint32_t>(SKF_LL_OFF) + type_offset),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EMX_PULL_REPLY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    set_option(fd, PACKET_FANOUT_DATA, &program, sizeof program, "PACKET_FANOUT_DATA");
}

[[noreturn]] void silent()
{
    throw cli::Failure("no frame from the peer in time: a frame was lost, or the peer has ended");
}

bool late(uint32_t looks, uint64_t deadline_ns)
{
    return looks % deadline_check == 0 && perf::now_ns() > deadline_ns;
}

} // namespace

RawLink::RawLink(const std::string &interface, uint32_t frame_max, bool bulk) : frame_max_(frame_max)
{
    index_ = static_cast<int>(if_nametoindex(interface.c_str()));
    if (index_ == 0)
        fail("no interface " + interface);
    ring_fd_ = open_socket(index_);
    ifreq request{};
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface.c_str());
    if (ioctl(ring_fd_, SIOCGIFHWADDR, &request) != 0)
        fail("cannot read the address of " + interface);
    for (uint32_t i = 0; i < mac_bytes; i++)
        mac_ = mac_ << 8 | static_cast<uint8_t>(request.ifr_hwaddr.sa_data[i]);
    open_ring();
    if (bulk)
        open_bulk();
}

RawLink::~RawLink()
{
    if (ring_)
        munmap(ring_, ring_bytes_);
    close(bulk_fd_);
    close(ring_fd_);
}

void RawLink::open_ring()
{
    const int version = TPACKET_V2;
    set_option(ring_fd_, PACKET_VERSION, &version, sizeof version, "PACKET_VERSION");
    slot_bytes_ = std::bit_ceil(frame_max_ + static_cast<uint32_t>(TPACKET2_HDRLEN) + 16);
    tpacket_req request{};
    request.tp_frame_size = slot_bytes_;
    request.tp_frame_nr = slots;
    request.tp_block_size = std::max<uint32_t>(slot_bytes_, static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
    request.tp_block_nr = slots / (request.tp_block_size / slot_bytes_);
    set_option(ring_fd_, PACKET_RX_RING, &request, sizeof request, "PACKET_RX_RING");
    ring_bytes_ = std::size_t{slot_bytes_} * slots;
    void *map = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_fd_, 0);
    if (map == MAP_FAILED)
        fail("cannot map the receive ring");
    ring_ = static_cast<std::byte *>(map);
}

void RawLink::open_bulk()
{
    const auto id = static_cast<uint16_t>(getpid());
    join_fanout(ring_fd_, id);
    set_fanout_program(ring_fd_);
    bulk_fd_ = open_socket(index_);
    int granted = bulk_buffer;
    if (setsockopt(bulk_fd_, SOL_SOCKET, SO_RCVBUFFORCE, &granted, sizeof granted) != 0)
        setsockopt(bulk_fd_, SOL_SOCKET, SO_RCVBUF, &granted, sizeof granted);
    socklen_t size = sizeof granted;
    getsockopt(bulk_fd_, SOL_SOCKET, SO_RCVBUF, &granted, &size);
    // A frame is charged with the power of two above it, and a little.
    const uint32_t charge = std::bit_ceil(frame_max_) + 1024;
    bulk_window_ = std::clamp(static_cast<uint32_t>(granted) / charge, 1u, 64u);
    join_fanout(bulk_fd_, id);
    // Until it joined, it had copies of all frames. A bulk frame comes only after the two sides have agreed.
    std::byte stray;
    while (recv(bulk_fd_, &stray, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
    }
}

void RawLink::fill_header(std::byte *frame, uint64_t peer) const
{
    for (uint32_t i = 0; i < mac_bytes; i++) {
        frame[i] = static_cast<std::byte>(peer >> (8 * (mac_bytes - 1 - i)));
        frame[mac_bytes + i] = static_cast<std::byte>(mac_ >> (8 * (mac_bytes - 1 - i)));
    }
    frame[12] = std::byte{ethertype >> 8};
    frame[13] = std::byte{ethertype & 255};
}

void RawLink::send(uint64_t peer, std::span<std::byte> frame)
{
    fill_header(frame.data(), peer);
    if (::send(ring_fd_, frame.data(), std::max<std::size_t>(frame.size(), EMX_FRAME_MIN), 0) < 0)
        fail("cannot send a frame");
}

void RawLink::send_batch(uint64_t peer, uint8_t type, uint32_t header, std::span<const Piece> pieces,
                         uint32_t first)
{
    std::array<std::array<std::byte, EMX_FRAME_MIN>, batch> headers{};
    std::array<std::array<iovec, 2>, batch> parts;
    std::array<mmsghdr, batch> messages{};
    for (uint32_t i = 0; i < pieces.size(); i++) {
        fill_header(headers[i].data(), peer);
        headers[i][type_offset] = std::byte{type};
        const uint32_t number = first + i;
        std::memcpy(headers[i].data() + number_offset, &number, sizeof number);
        parts[i] = {{{headers[i].data(), header}, {pieces[i].data, pieces[i].length}}};
        messages[i].msg_hdr.msg_iov = parts[i].data();
        messages[i].msg_hdr.msg_iovlen = 2;
    }
    for (uint32_t sent = 0; sent < pieces.size();) {
        const int n = sendmmsg(ring_fd_, &messages[sent], static_cast<unsigned>(pieces.size()) - sent, 0);
        if (n < 0)
            fail("cannot send a batch");
        sent += static_cast<uint32_t>(n);
    }
}

std::span<const std::byte> RawLink::receive(uint64_t deadline_ns)
{
    auto *slot = ring_ + std::size_t{next_slot_} * slot_bytes_;
    auto *header = reinterpret_cast<tpacket2_hdr *>(slot);
    std::atomic_ref<uint32_t> status(header->tp_status);
    for (uint32_t looks = 1; !(status.load(std::memory_order_acquire) & TP_STATUS_USER); looks++) {
        if (late(looks, deadline_ns))
            silent();
    }
    return {slot + header->tp_mac, header->tp_snaplen};
}

void RawLink::release()
{
    auto *header = reinterpret_cast<tpacket2_hdr *>(ring_ + std::size_t{next_slot_} * slot_bytes_);
    std::atomic_ref<uint32_t>(header->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    next_slot_ = (next_slot_ + 1) % slots;
}

uint32_t RawLink::receive_batch(uint32_t header, std::span<const Piece> pieces, uint32_t first,
                                uint64_t deadline_ns)
{
    std::array<std::array<std::byte, header_max>, batch> headers;
    std::array<std::array<iovec, 2>, batch> parts;
    std::array<mmsghdr, batch> messages{};
    for (uint32_t i = 0; i < pieces.size(); i++) {
        parts[i] = {{{headers[i].data(), header}, {pieces[i].data, pieces[i].length}}};
        messages[i].msg_hdr.msg_iov = parts[i].data();
        messages[i].msg_hdr.msg_iovlen = 2;
    }
    int n = 0;
    for (uint32_t looks = 1; n <= 0; looks++) {
        n = recvmmsg(bulk_fd_, messages.data(), static_cast<unsigned>(pieces.size()), MSG_DONTWAIT, nullptr);
        if (n < 0 && errno != EAGAIN)
            fail("cannot receive a batch");
        if (n <= 0 && late(looks, deadline_ns))
            silent();
    }
    for (uint32_t i = 0; i < static_cast<uint32_t>(n); i++) {
        uint32_t number;
        std::memcpy(&number, headers[i].data() + number_offset, sizeof number);
        if (number != first + i)
            throw cli::Failure("bulk frame " + std::to_string(first + i) + " was lost");
    }
    return static_cast<uint32_t>(n);
}

} // namespace emx::bench

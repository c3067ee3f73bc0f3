// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See tap.hpp.
#include "tap.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace emx::watch {

namespace {

constexpr uint32_t slot_bytes = 512, block_bytes = 1u << 18;
constexpr uint32_t per_block = block_bytes / slot_bytes;
constexpr uint32_t look_ahead = 4; ///< slots that the kernel fills at a time, at most: one for each processor
constexpr uint32_t patience = 1u << 20; ///< looks at a slot that the kernel fills

[[noreturn]] void fail(const std::string &what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

uint32_t ancillary(int field) { return static_cast<uint32_t>(SKF_AD_OFF + field); }

/// Frames that are sent on the loopback interface come in there, too: each counts once.
bool add_filter(int fd, Ways ways)
{
    const uint8_t elsewhere = ways == Ways::both ? 3 : 0; // jump to the end, or on to the next
    sock_filter program[] = {
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, 12},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 4, EMX_ETHERTYPE},
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, ancillary(SKF_AD_HATYPE)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, elsewhere, ARPHRD_LOOPBACK},
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, ancillary(SKF_AD_PKTTYPE)},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, PACKET_OUTGOING},
        {BPF_RET | BPF_K, 0, 0, 0},
        {BPF_RET | BPF_K, 0, 0, kept_bytes},
    };
    const sock_fprog whole{static_cast<unsigned short>(std::size(program)), program};
    return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole) == 0;
}

/// The calling thread is in another network namespace while this lives.
class Visit {
public:
    explicit Visit(const std::string &path) : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
    {
        const Fd there(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!home_ || !there || ::setns(there.get(), CLONE_NEWNET) != 0)
            fail("cannot enter the network namespace " + path);
    }
    ~Visit() { ::setns(home_.get(), CLONE_NEWNET); }
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;

private:
    const Fd home_;
};

} // namespace

Tap::Tap(const std::string &path, Ways ways, uint32_t slots)
{
    const Visit visit(path);
    const int version = TPACKET_V2;
    socket_ = Fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)); // takes nothing until it is bound
    if (!socket_ || !add_filter(socket_.get(), ways) ||
        ::setsockopt(socket_.get(), SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0)
        fail("cannot watch frames");
    while (!add_ring(slots)) {
        if (errno != ENOMEM || slots <= per_block)
            fail("cannot make a ring of " + std::to_string(slots) + " frames");
        slots /= 2;
    }
    void *memory =
        ::mmap(nullptr, size_t{slots_} * slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket_.get(), 0);
    if (memory == MAP_FAILED)
        fail("cannot map a ring");
    memory_ = static_cast<std::byte *>(memory);
    sockaddr_ll everywhere{};
    everywhere.sll_family = AF_PACKET;
    everywhere.sll_protocol = htons(ETH_P_ALL); // ours alone would not see what is sent
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr *>(&everywhere), sizeof everywhere) != 0)
        fail("cannot watch frames");
}

Tap::~Tap()
{
    if (memory_)
        ::munmap(memory_, size_t{slots_} * slot_bytes);
}

Tap::Tap(Tap &&other) noexcept
    : socket_(std::move(other.socket_)), memory_(std::exchange(other.memory_, nullptr)), slots_(other.slots_),
      next_(other.next_), missed_(other.missed_)
{
}

bool Tap::add_ring(uint32_t slots)
{
    tpacket_req request{};
    request.tp_block_size = block_bytes;
    request.tp_block_nr = std::max(1u, slots / per_block);
    request.tp_frame_size = slot_bytes;
    request.tp_frame_nr = request.tp_block_nr * per_block;
    slots_ = request.tp_frame_nr;
    return ::setsockopt(socket_.get(), SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0;
}

tpacket2_hdr *Tap::slot(uint32_t number) const
{
    return reinterpret_cast<tpacket2_hdr *>(memory_ + size_t{number % slots_} * slot_bytes);
}

bool Tap::filled(uint32_t number) const
{
    return std::atomic_ref(slot(number)->tp_status).load(std::memory_order_acquire) & TP_STATUS_USER;
}

bool Tap::ready() const
{
    for (uint32_t tries = 0; tries < patience; tries++) {
        if (filled(next_))
            return true;
        uint32_t later = 1;
        while (later <= look_ahead && !filled(next_ + later))
            later++;
        if (later > look_ahead)
            return filled(next_);
        ::sched_yield();
    }
    throw std::runtime_error("the kernel does not finish a slot of its ring");
}

uint64_t Tap::time_ns() const { return uint64_t{slot(next_)->tp_sec} * 1000000000 + slot(next_)->tp_nsec; }

void Tap::take(Bytes &frame)
{
    tpacket2_hdr *from = slot(next_);
    frame.resize(from->tp_len);
    std::memcpy(frame.data(), reinterpret_cast<const std::byte *>(from) + from->tp_mac,
                std::min(from->tp_snaplen, from->tp_len));
    std::atomic_ref(from->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    next_ = (next_ + 1) % slots_;
}

uint64_t Tap::missed()
{
    tpacket_stats since{}; // the kernel counts anew after each look
    socklen_t size = sizeof since;
    if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0)
        missed_ += since.tp_drops;
    return missed_;
}

} // namespace emx::watch

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// AF_PACKET sockets, their filters and their mapped receive rings.
#pragma once

#include "driver/base/fd.hpp"

#include <linux/filter.h>
#include <linux/if_packet.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace emx {

/// Bytes that an MTU does not count.
inline constexpr uint32_t ethernet_header = 14;

/// Geometry of a mapped TPACKET_V2 receive ring; all sizes in bytes.
struct RingShape {
    uint32_t slot = 0;
    uint32_t block = 0;
    uint32_t blocks = 0;
    uint32_t slots() const { return slot ? block / slot * blocks : 0; }
    uint64_t bytes() const { return uint64_t{block} * blocks; }
    /// Bytes of the longest frame that a slot holds.
    uint32_t frame_max() const;
    /// True if a ring can have that shape; one that another process tells may be anything.
    bool possible() const;
};

/// Ring for frames of at most frame_max bytes, with about `slots` slots.
RingShape shape_ring(uint32_t frame_max, uint32_t slots);

/// A program of classic BPF.
using FilterProgram = std::vector<sock_filter>;

/// Passes nothing.
FilterProgram closed_filter();

/// Attaches a program, replacing the one before in one step. False with errno set.
bool attach_filter(int socket, const FilterProgram &program);
/// Lets all frames pass. False with errno set: EPERM when the program is permanent.
bool detach_filter(int socket);
/// Makes the attached program permanent.
bool lock_filter(int socket);

/// A raw socket, non-blocking, with that filter and, when shape is not null, a receive ring (not mapped
/// yet); it receives nothing before bind_packet_socket. Empty with errno set on failure.
Fd make_packet_socket(const FilterProgram &filter, const RingShape *shape);
/// True if a descriptor is a raw packet socket; one that another process sends may be anything.
bool is_packet_socket(int fd);
/// Lets the socket receive an interface's frames of that EtherType, from now on; false with errno set.
bool bind_packet_socket(int fd, int interface, uint16_t ethertype);

/// Has the interface take frames to that group address for as long as the socket is open, or no longer; false
/// with errno set. Any process may.
bool set_membership(int fd, int interface, uint64_t address, bool member);

/// Makes a bound socket the first member of a fan-out group: its sockets share one place in the interface's
/// list of receivers, the first one as of now, and each frame goes to one member, at first always this one.
/// The group's number, or nothing with errno set, and nothing changed.
std::optional<uint16_t> found_group(int fd);
/// Adds a socket bound to the same interface; false with errno set, and nothing changed.
bool join_group(int fd, uint16_t group);
/// Sets the program that chooses the member of a frame, for the whole group of a socket whose filter is not
/// locked; false with errno set.
bool steer_group(int fd, const FilterProgram &program);

/// Asks for buffers of that many bytes, beyond the system's limit when privileged; returns the granted
/// receive buffer as the kernel accounts it.
uint32_t grow_buffers(int socket, uint32_t bytes);

/// True if the system's limits let buffers of a socket grow so without CAP_NET_ADMIN; changes those of the
/// socket.
bool buffers_grow_freely(int socket, uint32_t bytes);

/// Frames of that length that a receive buffer of that many bytes surely holds.
uint32_t frames_held(uint32_t frame, uint32_t buffer_bytes);

inline constexpr std::size_t cache_line = 64;

/// The mapped receive ring. One thread at a time.
class PacketRing {
public:
    PacketRing() = default;
    ~PacketRing();
    PacketRing(const PacketRing &) = delete;
    PacketRing &operator=(const PacketRing &) = delete;

    bool map(Fd socket, const RingShape &shape); ///< false with errno set
    Fd unmap(); ///< the end of the ring: its socket, which may now be closed
    int fd() const { return socket_.get(); }
    uint32_t slots() const { return slots_; }

    /// True if a frame waits.
    bool ready() const
    {
        return std::atomic_ref(current_->tp_status).load(std::memory_order_acquire) & TP_STATUS_USER;
    }
    /// The frame that waits; 0 bytes when it was longer than a slot.
    const std::byte *frame(uint32_t &bytes) const
    {
        bytes = current_->tp_len == current_->tp_snaplen ? current_->tp_snaplen : 0;
        return reinterpret_cast<const std::byte *>(current_) + current_->tp_mac;
    }
    /// True when the kernel marks it as another host's, as it does all frames on lo.
    bool for_another_host() const
    {
        const auto *slot = reinterpret_cast<const std::byte *>(current_);
        const auto *address =
            reinterpret_cast<const sockaddr_ll *>(slot + TPACKET_ALIGN(sizeof(tpacket2_hdr)));
        return address->sll_pkttype == PACKET_OTHERHOST;
    }
    /// Bytes of it that are there.
    uint32_t kept() const { return current_->tp_snaplen; }
    /// Asks for what the next frame will be in: its first lines beside the status word's. Another processor
    /// writes them before the word, so that this fetch and the writer's last steps go on together.
    void expect() const
    {
        const auto *next = reinterpret_cast<const std::byte *>(current_);
        __builtin_prefetch(next + cache_line);
        __builtin_prefetch(next + 2 * cache_line);
        __builtin_prefetch(next + shape_.slot);
    }
    /// Gives the slot back to the kernel.
    void release()
    {
        std::atomic_ref(current_->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
        advance();
    }

private:
    tpacket2_hdr *slot(uint32_t i) const
    {
        return reinterpret_cast<tpacket2_hdr *>(base_ + uint64_t{i / per_block_} * shape_.block +
                                                uint64_t{i % per_block_} * shape_.slot);
    }
    void advance()
    {
        index_ = index_ + 1 == slots_ ? 0 : index_ + 1;
        in_block_ = in_block_ + 1 == per_block_ ? 0 : in_block_ + 1;
        if (in_block_ != 0) [[likely]]
            current_ =
                reinterpret_cast<tpacket2_hdr *>(reinterpret_cast<std::byte *>(current_) + shape_.slot);
        else
            current_ = slot(index_);
    }

    tpacket2_hdr *current_ = nullptr;
    RingShape shape_;
    uint32_t index_ = 0;
    uint32_t in_block_ = 0;
    uint32_t per_block_ = 1;
    uint32_t slots_ = 0;
    std::byte *base_ = nullptr;
    Fd socket_;
};

} // namespace emx

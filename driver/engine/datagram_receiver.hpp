// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Receives datagrams, which the kernel or the card may have joined (UDP_GRO), up to 64 KiB by one call,
// scattered so that the data of the X DATA that are expected next lands in its final place.
//
// What was joined is of one sender, and each datagram but the last has the same length. Where all of a call
// are what was expected, their data stays where it is. Else the whole is taken together elsewhere before any
// of it is judged, so that no good byte is overwritten: what was expected had not come yet.
#pragma once

#include "driver/engine/datagrams.hpp"
#include "driver/segments.hpp"

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <vector>

namespace emx {

/// Called under the port's lock.
class DatagramReceiver {
public:
    /// One of the last call.
    struct Datagram {
        std::byte *header; ///< FW_X_DATA_HEADER bytes, or all if it is shorter; may be written to
        uint32_t bytes; ///< of the whole
        const std::byte *payload; ///< where the rest lies now; null: in its final place
    };

    /// Takes what comes by one call, without blocking, to a socket that refuses empty datagrams. slot: the
    /// only active pull, whose memory is target, or -1. Returns the number of datagrams, or -1 with errno
    /// (EAGAIN: nothing there; EFAULT: the target cannot be written).
    int receive(int socket, const fw_endpoint &ep, int slot, const PieceList *target);
    DatagramSource source() const { return source_; }
    const Datagram &datagram(uint32_t i) const { return datagrams_[i]; }
    /// CRC-32C of the first bytes of its payload, wherever that lies; target as for receive().
    uint32_t payload_sum(uint32_t i, uint32_t bytes, const PieceList *target) const;
    /// A frame of the pull came by another way: its place is no longer free.
    void disarm() { armed_ = false; }

private:
    static constexpr uint32_t joined_max = 1024; ///< datagrams in 64 KiB
    static constexpr uint32_t pieces_max = 8; ///< of the data of one
    static constexpr uint32_t bytes_max = 65536;

    bool is_armed(const fw_endpoint &ep, int slot) const;
    void arm(const fw_endpoint &ep, int slot, const PieceList *target);
    bool in_place(const fw_endpoint &ep, int slot, uint32_t bytes, uint32_t each) const;
    void describe_in_place(uint32_t bytes, uint32_t each);
    void gather(uint32_t bytes, uint32_t each);

    std::vector<std::byte> scratch_; ///< for what was not expected; empty until the first call
    std::vector<std::byte> whole_; ///< all of a call, taken together
    std::array<std::array<std::byte, FW_X_DATA_HEADER>, FW_PLACES_MAX> headers_{};
    std::array<fw_place, FW_PLACES_MAX> places_{};
    uint32_t known_ = 0; ///< of them
    std::vector<iovec> iovecs_;
    uint32_t iovecs_used_ = 0;
    int slot_ = -1; ///< of the pull that the places are of
    uint32_t handle_ = 0;
    bool armed_ = false;
    DatagramSource source_;
    std::vector<Datagram> datagrams_;
};

} // namespace emx

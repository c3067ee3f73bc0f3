// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets that came before their turn, by their numbers. Those that are not kept are repeated.
#pragma once

#include "driver/core/fw.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace emx {

struct EarlyPacket {
    EarlyPacket *next = nullptr; ///< of the same number: fragments
    emx_msg msg{};
    std::unique_ptr<std::byte[]> data;
};

inline constexpr unsigned early_window = 255;

/// Those of one partner.
struct EarlyPackets {
    std::array<EarlyPacket *, 256> slot{};
    unsigned count = 0;
};

/// Bounds the packets of one partner and the bytes of all. Not thread-safe (the endpoint's lock).
class EarlyStore {
public:
    /// Twice the frames that 255 numbers bear when each is one.
    static constexpr unsigned packets_max = 512;
    static constexpr std::size_t bytes_max = std::size_t{32} << 20;

    enum class Stored : uint8_t { kept, known, no_room };
    /// Copies a packet, whose data may lie in its frame. `packets`: those of its partner, made when needed.
    Stored store(std::unique_ptr<EarlyPackets> &packets, const emx_msg &msg);
    /// The packets of that number, in the order of their arrival, which the caller frees one by one with
    /// pop(); nullptr: there are none.
    static EarlyPacket *take(EarlyPackets &packets, uint16_t number);
    /// The first packet of a list from take(). `packets`: where it stood, nullptr if that is gone.
    std::unique_ptr<EarlyPacket> pop(EarlyPacket *&list, EarlyPackets *packets);
    /// Frees all packets of a partner.
    void drop(std::unique_ptr<EarlyPackets> &packets);
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

} // namespace emx

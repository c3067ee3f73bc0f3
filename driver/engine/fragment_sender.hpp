// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fragments of one X MEDIUM message that leave in datagrams by one call, which the kernel or the card cuts
// (UDP_SEGMENT). The first fragment travels in a frame, and tells the receiver to look for the others
// (docs/protocol.md, Datagrams).
#pragma once

#include "driver/engine/datagrams.hpp"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace emx {

/// Called under the port's lock. Refers to the payloads until flush().
class FragmentSender {
public:
    /// Fragments of one message follow, to there.
    void begin(const DatagramTarget &target)
    {
        target_ = target;
        count_ = 0;
        begun_ = true;
    }
    bool begun() const { return begun_; }
    /// Keeps a fragment back, with the frame's header in front; false: it must leave as a frame.
    bool add(std::byte *frame, std::size_t bytes, int counter);
    bool empty() const { return count_ == 0; }
    int counter() const { return counter_; } ///< of such frames
    std::span<const iovec> fragments() const { return {fragments_.data(), count_}; }
    const DatagramTarget &target() const { return target_; }
    /// Sends all; 0, or errno: then the fragments are frames as before, to be sent as such.
    int send(int socket);
    void end()
    {
        begun_ = false;
        count_ = 0;
    }

private:
    void seal();
    void unseal();

    DatagramTarget target_;
    bool begun_ = false;
    uint32_t count_ = 0;
    int counter_ = 0;
    std::array<iovec, EMX_FRAGS_MAX> fragments_{};
    std::array<std::array<std::byte, EMX_OUTER_LEN>, EMX_FRAGS_MAX> outers_{}; ///< that the envelopes hide
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X DATA out of one connection (docs/protocol.md, TCP): its packets one after the other, the payload of each
// read straight into its final place.
#pragma once

#include "driver/segments.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// One of a connection; called under the port's lock. By turns: receive() until a header is there,
/// expect_payload(), receive() until the payload is, next_packet().
class TcpReceiver {
public:
    enum class State : uint8_t {
        nothing, ///< nothing more is there now
        header, ///< the header of the next packet is complete
        packet, ///< and so is its payload
        ended, ///< the connection has ended, or failed
    };

    /// Reads what is there, until something is complete. target: memory of the pull of the payload, null
    /// where it has none. EFAULT in errno after `ended`: the target cannot be written.
    State receive(int socket, const PieceList *target);

    /// The header, once complete: FW_CHECK_BYTES as of a frame. The caller fills in the first EMX_OUTER_LEN
    /// bytes.
    std::byte *header() { return headers_[current_].data(); }
    /// Bytes of payload that the header states.
    uint32_t stated() const;
    /// The payload goes to that place of the pull's memory, or, slot -1, to memory of ours.
    void expect_payload(int slot, uint32_t handle, uint32_t position, const PieceList *target);
    int slot() const { return slot_; }
    uint32_t handle() const { return handle_; }
    /// The pull has ended: the rest of the payload belongs to nobody.
    void lose_place() { slot_ = -1; }

    /// The payload of a complete packet, null when it is in its final place.
    const std::byte *payload() const { return slot_ >= 0 ? nullptr : scratch_.data(); }
    /// CRC-32C of it; target as for receive().
    uint32_t payload_sum(const PieceList *target) const;
    /// The header of the packet that it has turned to is complete.
    bool has_header() const { return have_[current_] == header_bytes; }
    /// Turns to the packet behind it, of which some is here, perhaps.
    void next_packet();

private:
    static constexpr uint32_t header_at = EMX_OUTER_LEN - EMX_X_TCP_PAD; ///< in that of a frame
    static constexpr uint32_t header_bytes = FW_X_DATA_HEADER - header_at;
    static constexpr uint32_t pieces_max = 16; ///< of one payload

    State note(uint32_t bytes);

    std::array<std::array<std::byte, FW_CHECK_BYTES>, 2> headers_{}; ///< of this packet, and of the next
    uint32_t current_ = 0;
    std::array<uint32_t, 2> have_{}; ///< bytes of each
    bool judged_ = false; ///< expect_payload() was called
    int slot_ = -1;
    uint32_t handle_ = 0;
    uint32_t position_ = 0;
    uint32_t length_ = 0;
    uint32_t left_ = 0; ///< of the payload
    std::vector<std::byte> scratch_; ///< empty until it is needed
};

} // namespace emx

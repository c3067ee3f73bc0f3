// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X DATA out of one connection (docs/protocol.md, TCP): its packets one after the other, the payload of each
// read straight into its final place.
#pragma once

#include "driver/segments.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// One of a connection; called under the port's lock. By turns: receive() until a header is there,
/// expect_payload(), receive() until the payload is, next_packet().
///
/// With a payload come, in the same call, the packets that are foreseen behind it, each in the place where
/// its payload belongs if it is the one. Where it is another, what was read is laid out anew.
class TcpReceiver {
public:
    enum class State : uint8_t {
        nothing, ///< nothing more is there now
        header, ///< the header of the next packet is complete
        packet, ///< and so is its payload
        ended, ///< the connection has ended, or failed
    };

    static constexpr uint32_t ahead_max = 15;

    /// Reads what is there, until something is complete. target: memory of the pull of the payload, null
    /// where it has none; foreseen: places that this pull awaits, in their order, perhaps that of this
    /// payload first. EFAULT in errno after `ended`: the target cannot be written.
    State receive(int socket, const PieceList *target, std::span<const fw_place> foreseen = {});
    /// True when receive() makes use of what is foreseen.
    bool looks_ahead() const { return slot_ >= 0 && left_ > 0 && again_.empty() && rest_ == 0; }
    /// This packet is complete, perhaps read with the one before.
    bool has_packet() const { return judged_ && left_ == 0; }
    /// Packets behind this one have been read.
    bool has_more() const { return !again_.empty() || (ahead_count_ > 0 && ahead_[0].have > 0); }

    /// The header, once complete: FW_CHECK_BYTES as of a frame. The caller fills in the first EMX_OUTER_LEN
    /// bytes.
    std::byte *header() { return now_.header.data(); }
    /// Bytes of payload that the header states: up to EMX_X_UNIT_MAX, or it is no header.
    uint32_t stated() const;
    /// The payload goes to that place of the pull's memory, or, slot -1, to memory of ours. False: some of it
    /// was read into memory of a pull that has ended, and is lost. foreseen_for: memory of the pull that has
    /// foreseen_handle(), null when there is none any more.
    bool expect_payload(int slot, uint32_t handle, uint32_t position, const PieceList *target,
                        const PieceList *foreseen_for);
    int foreseen_slot() const { return foreseen_slot_; }
    uint32_t foreseen_handle() const { return foreseen_handle_; }
    int slot() const { return slot_; }
    uint32_t handle() const { return handle_; }
    /// The pull has ended: the rest of the payload belongs to nobody.
    void lose_place() { slot_ = -1; }

    /// The payload of a complete packet, null when it is in its final place.
    const std::byte *payload() const { return slot_ >= 0 ? nullptr : scratch_.data(); }
    /// CRC-32C of it; target as for receive().
    uint32_t payload_sum(const PieceList *target) const;
    /// The header of the packet that it has turned to is complete.
    bool has_header() const { return now_.have == header_bytes; }
    /// Turns to the packet behind it, of which some is here, perhaps.
    void next_packet();

private:
    static constexpr uint32_t header_at = EMX_OUTER_LEN - EMX_X_TCP_PAD; ///< in that of a frame
    static constexpr uint32_t header_bytes = FW_X_DATA_HEADER - header_at;
    static constexpr uint32_t pieces_max = 16; ///< of one payload

    static constexpr uint32_t rest_after_fault = 64;

    struct Packet {
        std::array<std::byte, FW_CHECK_BYTES> header{};
        uint32_t have = 0; ///< bytes of the header
        fw_place place{}; ///< foreseen; of length 0: none
        uint32_t got = 0; ///< bytes of payload that were read into that place
    };
    static std::byte *header_of(Packet &packet) { return packet.header.data() + header_at; }
    void foresee(std::span<const fw_place> places);
    uint32_t describe(const PieceList *target, std::span<iovec> io);
    ssize_t read(int socket, std::span<iovec> io);
    State note(uint32_t bytes);
    bool take_foreseen(int slot, const PieceList *foreseen_for);
    void lay_out_anew(const PieceList &memory);

    Packet now_;
    std::array<Packet, ahead_max + 1> ahead_; ///< the last has a header alone
    uint32_t ahead_count_ = 0; ///< those that were offered to the newest read, the last included
    int foreseen_slot_ = -1; ///< of all that are foreseen
    uint32_t foreseen_handle_ = 0;
    std::vector<std::byte> again_; ///< bytes of the stream to be read before those of the socket
    uint32_t again_at_ = 0;
    uint32_t rest_ = 0; ///< packets until something is foreseen again
    bool judged_ = false; ///< expect_payload() was called
    int slot_ = -1;
    uint32_t handle_ = 0;
    uint32_t position_ = 0;
    uint32_t length_ = 0;
    uint32_t left_ = 0; ///< of the payload
    std::vector<std::byte> scratch_; ///< empty until it is needed
};

} // namespace emx

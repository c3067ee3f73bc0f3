// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames of the protocol, read and written from the wire specification alone: no code and no
// declaration is shared with the firmware core or the library, so a common mistake cannot hide.
#pragma once

#include <tests/support/rng.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace emx::model {

using Bytes = std::vector<uint8_t>;

inline constexpr uint16_t no_index = 0xffff;
inline constexpr uint32_t no_session = 0xffffffff;

/// Packet types (section 3).
enum Type : uint8_t {
    raw = 1,
    host_query = 3,
    host_reply = 4,
    truc = 35,
    connect = 36,
    tiny = 37,
    small = 38,
    medium = 39,
    rndv = 40,
    pull = 41,
    pull_reply = 42,
    notify = 43,
    nack_lib = 44,
    nack_mcp = 45,
    // the EtherMX extension (docs/protocol.md), which the model does not speak
    x_medium = 112,
    x_report = 113,
    x_pull = 114,
    x_data = 115,
    x_address = 117,
    x_group = 118,
    x_pack = 119,
};

/// The sizes that both ends share (section 5.2).
struct Dialect {
    bool native; ///< N
    uint32_t fragment; ///< of a medium message
    uint32_t fragments; ///< of a message, at most
    uint32_t reply; ///< data of a pull reply, L
    uint32_t block; ///< frames of a pull block, n
    uint32_t frame_max; ///< from the destination MAC on
    uint64_t medium_max() const { return static_cast<uint64_t>(fragment) * fragments; }
};
Dialect dialect_w();
/// Dialect N with that configured size.
Dialect dialect_n(uint32_t size);

/// Every bound of section 5, and one beside it on each side, up to 16 MiB, in order. `threshold`: above it
/// messages are large.
std::vector<uint32_t> boundaries(const Dialect &dialect, uint32_t threshold);

/// The fields of all packets. Which of them a type has, section 4 says.
struct Packet {
    uint64_t dst = 0, src = 0;
    uint16_t tag = no_index;
    uint8_t type = 0;
    uint8_t to = 0, from = 0; ///< endpoints
    uint32_t session = 0; ///< of the destination endpoint
    uint16_t seq = 0, ack = 0;
    uint64_t match = 0;
    uint32_t length = 0; ///< whole message; bytes of a whole pull; bytes transferred
    uint32_t position = 0; ///< of the data in the message
    uint8_t fragment = 0, exponent = 12;
    uint32_t window = 0, window_offset = 0;
    uint8_t window_tag = 0;
    uint32_t handle = 0, magic = 0;
    uint32_t skip = 0, block_length = 0, frame_index = 0;
    uint8_t frame_number = 0;
    uint16_t index = no_index; ///< advert
    bool is_reply = false;
    bool is_long = false; ///< X PACK: of its messages one has more than 128 bytes
    uint8_t connect_number = 0, status = 0;
    uint32_t own_session = 0; ///< of a connect's sender
    uint32_t key = 0;
    uint16_t start = 0;
    uint32_t counter = 0;
    uint8_t reason = 0;
    std::string name;
    Bytes data;
    bool offers = false; ///< a connect with an offer of the extension
    uint16_t features = 0, frame_max = 0; ///< that it names
    uint16_t unit = 0; ///< of an X PULL: data of a full frame
    uint8_t flags = 0; ///< of an X PULL or X ADDRESS
    uint32_t checksum = 0; ///< of an X MEDIUM, X DATA or X GROUP; 0: none
};

/// A frame that nobody may send; what() holds the rule and the frame.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void violate(const std::string &rule, const Bytes &frame);

/// Reads a frame of a sender that keeps every rule: section 13, the recommendations of 2.3 and 2.4 for
/// senders, and what makes an Open-MX host abort or crash (4.13, 6.3, 6.4, 10.2); of the extension's
/// packets and offers, what docs/protocol.md says. Throws Violation. Only the first bytes are as they were on
/// the wire when `kept` says so; a checksum of more than those is not judged.
Packet read_strictly(const Dialect &dialect, const Bytes &frame, size_t kept = SIZE_MAX);
/// Reads a TINY or PULL as Open-MX does, with whatever it holds; none: it is another frame.
std::optional<Packet> read_leniently(const Dialect &dialect, const Bytes &frame);

/// The way in which a frame is written.
struct Writing {
    test::Rng *garbage = nullptr; ///< for reserved bytes, unset fields and padding; none: zeros
    bool pad = true; ///< to 60 bytes
    uint32_t trailing = 0; ///< bytes behind the padding
    /// Instead of garbage of its own: a frame that lay in the same memory before, and how much further on.
    const Bytes *stale = nullptr;
    size_t shift = 0;
};
Bytes write(const Dialect &dialect, const Packet &packet, const Writing &how);

/// Name of a type, for messages.
const char *type_name(uint8_t type);
/// True for the packets that take numbers.
inline bool is_sequenced(uint8_t type) { return (type >= tiny && type <= rndv) || type == notify; }

} // namespace emx::model

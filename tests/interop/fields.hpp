// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The fields of MXoE frames of dialect W as a table, independent of the core's codec: what a replay
// translates between a captured exchange and a live one, and what it compares.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emx::interop {

using Frame = std::vector<uint8_t>;

/// Who fixes the value of a field.
enum class Use {
    same, ///< the exchange: must be equal
    session, ///< drawn by the endpoint that it names
    number, ///< connect number, counted by the requester
    window, ///< window id and tag, chosen by the sender of a large message
    handle, ///< handle and magic, chosen by the puller
    magic, ///< chosen by the board that asks for a name
    counter, ///< of explicit acks: rises
    tag, ///< index that the receiver told
};

struct Field {
    uint8_t type; ///< packet type; 0 = every type
    const char *name;
    uint8_t at, size; ///< offset in the frame and length, bytes
    Use use = Use::same;
};

/// Fields of a packet type, outer header included.
std::vector<Field> fields_of(uint8_t type);
/// Name of a packet type, as in the wire specification.
std::string type_name(uint8_t type);
/// Where the payload lies: offset and length as the frame states it.
std::pair<size_t, size_t> payload_of(const Frame &frame);

uint64_t get(const Frame &frame, const Field &field);
void put(Frame &frame, const Field &field, uint64_t value);
/// Value of the field with that name; the frame must have it.
uint64_t get(const Frame &frame, const std::string &name);

/// A frame's place in its exchange: two frames with the same identity do the same job.
std::string identity(const Frame &frame);

/// Sequence number or ack that the frame carries, or nothing.
std::optional<uint16_t> ack_of(const Frame &frame);

/// Values that the two sides of a captured exchange chose, and what stands for them in the live one.
class Translation {
public:
    /// The captured frame of the peer as the live endpoint must see it.
    Frame to_live(const Frame &captured);
    /// The value expected in a frame of ours where the captured host sent `value`; nothing: it is
    /// ours to choose, and `live` is taken as the choice.
    std::optional<uint64_t> expect(const Field &field, const Frame &captured, uint64_t live);

private:
    using Key = std::pair<Use, uint64_t>;
    static Key key(const Field &field, const Frame &frame, bool ours);
    std::map<Key, uint64_t> ours_; ///< captured value of the host we stand for -> our live value
    std::set<Key> theirs_; ///< chosen by the peer: stay as they are
};

} // namespace emx::interop

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The fields of MXoE frames of dialect W, from the table that the codec has no part in: what a replay
// translates between a captured exchange and a live one, and what it compares.
#pragma once

#include <tests/support/wire_fields.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emx::interop {

using Frame = std::vector<uint8_t>;
using Field = wire_field;

/// Fields of a frame, outer header included. Handle and magic are one field, a window and its tag are, too:
/// the frames that name them say both.
std::vector<Field> fields_of(const Frame &frame);
/// Name of a packet type, as in the wire specification.
std::string type_name(uint8_t type);
/// Where the payload lies: offset and length as the frame states it.
std::pair<size_t, size_t> payload_of(const Frame &frame);

uint64_t get(const Frame &frame, const Field &field);
void put(Frame &frame, const Field &field, uint64_t value);
/// Value of the field with that name; the frame must have it.
uint64_t get(const Frame &frame, const std::string &name);

/// TINY, SMALL, MEDIUM or RNDV.
bool is_eager(uint8_t type);
/// A frame's place in its exchange: two frames with the same identity do the same job.
std::string identity(const Frame &frame);

/// Sequence number or ack that the frame carries, or nothing.
std::optional<uint16_t> ack_of(const Frame &frame);

/// The use of a value that one side draws and others repeat: USE_SESSION,
/// USE_WINDOW, USE_HANDLE, USE_CONNECT_NUMBER or USE_HOST_MAGIC; USE_ANY where the exchange fixes the value.
wire_use chosen_as(const Field &field);

/// Values that the two sides of a captured exchange chose, and what stands for them in the live one.
class Translation {
public:
    /// The captured frame of the peer as the live endpoint must see it.
    Frame to_live(const Frame &captured);
    /// The value expected in a frame of ours where the captured host sent `value`; nothing: it is
    /// ours to choose, and `live` is taken as the choice.
    std::optional<uint64_t> expect(const Field &field, const Frame &captured, uint64_t live);

private:
    using Key = std::pair<wire_use, uint64_t>;
    static Key key(const Field &field, const Frame &frame, bool ours);
    std::map<Key, uint64_t> ours_; ///< captured value of the host we stand for -> our live value
    std::set<Key> theirs_; ///< chosen by the peer: stay as they are
};

} // namespace emx::interop

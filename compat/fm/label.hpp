// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The protocol of Fast Messages over MX, and the match bits that carry it.
//
// Packets. Each is one MX message of at most packet_bytes, or, where the window has room for some of those,
// a wide one of at most wide_bytes. All that FM says of it stands in its 64 match bits, so that four words
// make an MX message of 16 bytes:
//
//   63     1: data of a long piece (below)          62     1: a wide packet
//   61..60 kind                                     59     last packet of its message
//   58..47 number of the sending node               46..31 handler (first), stream, or a word's name
//   30..16 units that the sender has freed, modulo 2^15
//   15..0  number of this packet from that sender
//
//   first   starts a message. If more follow, its first 8 bytes are the length that begin announced.
//   body    goes on with it. A stream is numbered by both sides: first packets with more to follow, counted.
//   notice  the next bytes of the stream are a long piece; 8 bytes: its length.
//   word    credit, hello, bye: below.
//
// Receiving. A node keeps slots of both sizes, and MX receives posted into some of them: as many as arrive
// while the program looks away, since each one more takes its turn and is cold by then. A packet that finds
// none waits in MX. MX delivers in order of sending; a packet that became complete early is set aside by its
// number until its turn. FM_extract takes packets in order of arrival; the slot freed last is used first.
//
// Credits. A node may have `window` units at another that are not freed: a packet (first, body, notice) is
// one, a wide packet wide_units; hello tells the window. There is a slot for each unit, and a wide slot for
// each wide_units of them. What was freed is told in every packet, and by credit words after a quarter of a
// window. At most four of those can lie unseen, as each frees what the other side counts as out: spare_slots
// has room.
//
// Room. begin takes the units of the whole message, if it needs no more than half a window and
// whole_most, so that its pieces wait for nothing. It waits for them only while no other node holds more than
// a quarter of its window here: that one may itself wait, in begin, for what the caller would have to
// extract. So in a ring of nodes that wait one gives up: a node waits if more than half its window is out,
// and of that its successor has freed, but not told, less than a quarter.
//
// Long pieces, above the eager limit of MX, leave in parts of at most bulk_bytes, each a notice and an MX
// message with the match bits of that notice, and bit 63. The receive for it is posted by FM_receive, into
// the user's memory; bytes that do not fit there go into memory of the stream. A message that needs more
// than whole_most sends them from the user's memory, and its end waits until that was read. Another, whose
// end waits for nothing, sends copies; when all memory for copies is under way, packets.
//
// Start and end. hello {version, nodes, window} goes to all, and all are waited for; bye likewise. A node
// that others wait for is asked for a sign of life by mx_iconnect, which its library answers, or its host
// refuses.
#pragma once

#include <cstdint>

namespace fm {

inline constexpr uint32_t packet_bytes = 4096;
inline constexpr uint32_t wide_bytes = 32768, wide_units = wide_bytes / packet_bytes;
inline constexpr uint32_t bulk_bytes = 1 << 20;
inline constexpr uint32_t nodes_max = 4096;
inline constexpr uint32_t handlers_limit = 65536;
inline constexpr uint32_t window_most = 256, window_least = 4; ///< units; multiples of four
inline constexpr uint32_t whole_most = 33; ///< units of a message that never waits: 128 KiB, announced
inline constexpr uint32_t copy_bytes = whole_most * packet_bytes, copies_most = 16; ///< of long pieces
inline constexpr uint32_t wide_window_least = 4 * wide_units; ///< for wide packets
inline constexpr uint32_t spare_slots = 6; ///< of each node: four credits, hello, bye
inline constexpr uint32_t announce_bytes = 8; ///< in a first packet with more to follow
inline constexpr uint32_t protocol_version = 2;

enum class Kind : uint32_t { word, first, body, notice };
enum class Word : uint32_t { credit, hello, bye };

/// Match bits, without the two counters.
constexpr uint64_t label(Kind kind, bool last, uint32_t node, uint32_t name)
{
    return uint64_t{static_cast<uint32_t>(kind)} << 60 | uint64_t{last} << 59 | uint64_t{node} << 47 |
           uint64_t{name} << 31;
}
constexpr uint64_t label(Word word, uint32_t node)
{
    return label(Kind::word, true, node, static_cast<uint32_t>(word));
}
inline constexpr uint64_t bulk_bit = 1ull << 63, wide_bit = 1ull << 62;
inline constexpr uint32_t freed_mask = 0x7fff;

constexpr Kind kind_of(uint64_t label) { return static_cast<Kind>(label >> 60 & 3); }
constexpr bool is_last(uint64_t label) { return label >> 59 & 1; }
constexpr uint32_t node_of(uint64_t label) { return label >> 47 & (nodes_max - 1); }
constexpr uint32_t name_of(uint64_t label) { return label >> 31 & 0xffff; }
constexpr uint32_t freed_of(uint64_t label) { return label >> 16 & freed_mask; }
constexpr uint16_t number_of(uint64_t label) { return static_cast<uint16_t>(label); }
constexpr uint32_t units_of(uint32_t bytes) { return bytes <= packet_bytes ? 1 : wide_units; }
/// Match bits of the long piece that a notice announces.
constexpr uint64_t bulk_label(uint64_t notice)
{
    return (notice & ~(uint64_t{freed_mask} << 16) & ~(3ull << 60) & ~(1ull << 59)) | bulk_bit;
}

struct Hello {
    uint32_t version, nodes, window, packet;
};

} // namespace fm

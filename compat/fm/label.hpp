// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The protocol of Fast Messages over MX, and the match bits that carry it.
//
// Packets. Each is one MX message of at most packet_bytes. All that FM says of it stands in its 64 match
// bits, so that four words make an MX message of 16 bytes:
//
//   63     1: data of a long piece (below)          62..60 kind
//   59     last packet of its message               58..47 number of the sending node
//   46..31 handler (first), or stream (others)      30..16 packets that the sender has freed, modulo 2^15
//   15..0  number of this packet from that sender
//
//   first   starts a message. If more follow, its first 8 bytes are the length that begin announced.
//   body    goes on with it. A stream is numbered by both sides: first packets with more to follow, counted.
//   notice  the next bytes of the stream are a long piece; 8 bytes: its length.
//   credit, hello, bye: below.
//
// Receiving. A node keeps slots of packet_bytes and an MX receive posted into each. MX delivers in order of
// sending; a packet that became complete early is set aside by its number until its turn. FM_extract takes
// packets in order of arrival, and a slot is posted again when its bytes are used up.
//
// Credits. A node may have `window` packets (first, body, notice) at another that are not freed; hello tells
// the window. What was freed and posted again is told in every packet, and by credit packets after a quarter
// of a window. At most four of those can lie unseen, as each frees what the other side counts as out:
// spare_slots has room.
//
// Room. begin takes the credits of the whole message, if it needs no more than half a window, so that its
// pieces wait for nothing. It waits for them only while no other node holds more than a quarter of its window
// here: that one may itself wait, in begin, for what the caller would have to extract. So in a ring of nodes
// that wait one gives up: a node waits if more than half its window is out, and of that its successor has
// freed, but not told, less than a quarter.
//
// Long pieces. A message that needs more sends its pieces above the eager limit of MX in parts of at most
// bulk_bytes, each a notice and an MX message from the user's memory with the match bits of that notice, and
// bit 63. The receive for it is posted by FM_receive, into the user's memory; bytes that do not fit there
// go into memory of the stream.
//
// Start and end. hello {version, nodes, window} goes to all, and all are waited for; bye likewise. A node
// that others wait for is asked for a sign of life by mx_iconnect, which its library answers, or its host
// refuses.
#pragma once

#include <cstdint>

namespace fm {

inline constexpr uint32_t packet_bytes = 4096;
inline constexpr uint32_t bulk_bytes = 1 << 20;
inline constexpr uint32_t nodes_max = 4096;
inline constexpr uint32_t handlers_limit = 65536;
inline constexpr uint32_t window_most = 64, window_least = 4; ///< packets; multiples of four
inline constexpr uint32_t spare_slots = 6; ///< of each node: four credits, hello, bye
inline constexpr uint32_t announce_bytes = 8; ///< in a first packet with more to follow
inline constexpr uint32_t protocol_version = 1;

enum class Kind : uint32_t { first = 1, body = 2, notice = 3, credit = 4, hello = 5, bye = 6 };

/// Match bits, without the two counters.
constexpr uint64_t label(Kind kind, bool last, uint32_t node, uint32_t name)
{
    return uint64_t{static_cast<uint32_t>(kind)} << 60 | uint64_t{last} << 59 | uint64_t{node} << 47 |
           uint64_t{name} << 31;
}
inline constexpr uint64_t bulk_bit = 1ull << 63;
inline constexpr uint32_t freed_mask = 0x7fff;

constexpr Kind kind_of(uint64_t label) { return static_cast<Kind>(label >> 60 & 7); }
constexpr bool is_last(uint64_t label) { return label >> 59 & 1; }
constexpr uint32_t node_of(uint64_t label) { return label >> 47 & (nodes_max - 1); }
constexpr uint32_t name_of(uint64_t label) { return label >> 31 & 0xffff; }
constexpr uint32_t freed_of(uint64_t label) { return label >> 16 & freed_mask; }
constexpr uint16_t number_of(uint64_t label) { return static_cast<uint16_t>(label); }
/// Match bits of the long piece that a notice announces.
constexpr uint64_t bulk_label(uint64_t notice)
{
    return (notice & ~(uint64_t{freed_mask} << 16) & ~(7ull << 60) & ~(1ull << 59)) | bulk_bit;
}

struct Hello {
    uint32_t version, nodes, window, packet;
};

} // namespace fm

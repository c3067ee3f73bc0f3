// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The protocol of GAMMA over MX, and the match bits that carry it.
//
// Messages. A message of GAMMA is one MX message; all that GAMMA says of it stands in its 64 match bits:
//
//   63..60 kind                             59     flow controlled
//   58..47 number of the sending node       46..30 port that it goes to
//   29..13 port that it was sent by         12..8  units (below); of best effort 1: longer than MX copies
//    7     the next is told                 6..0   units that the sending port has freed, modulo 2^7
//
// Ports above those of users are channels: number r of them carries the broadcasts of node r, until that
// finds all others in the group of the job. Then the last message of its channel says so, and the broadcasts
// that follow are a stream of frames (compat/cast), whose packets, where they travel as messages, have a kind
// of their own.
//
// Receiving. A posted buffer is an MX receive for that port, so that data goes to its final place. A message
// without a buffer is met by the unexpected handler of MX. Of flow-controlled ones it leaves all to MX, whose
// memory is bounded by credits; of best effort as many as kept_most, from each node for each port, if they
// were copied. All else is dropped and noted. A message for a port that is not bound is refused.
//
// Credits. A node may have window_units at a port of another that have not met a buffer. A message counts for
// its length in units, at least for one, at most for half a window; one that MX does not copy waits at its
// sender and counts for one. What was freed is told as a count since the port was bound: in each message that
// goes back by the port, and alone after a quarter of a window. It is heard when a message arrives, as one
// that then waits for a buffer may be what the buffer's owner waits for. Messages that MX does not copy tell
// nothing: they may be overtaken by any number. A refused message was never there: its sender takes its units
// back.
//
// Control messages have bit 63, and fields a, b, c instead of the two ports and the rest:
//
//   credit   a port, b units freed modulo 2^16
//   refused  a port that it was sent by, b code of the error, c units
//   arrived  at a barrier, to node 0: b sum of the calls so far, c one thread made them all
//   release  from node 0
//   fail     barriers can no more succeed, or broadcasts: a code of the error
//   hello    its data tells version, nodes, number of the program, window; with a = 1: the node has joined
//            the group of the job, and its frames have b bytes; b = 0: it cannot
//   bye      the node leaves, after a + b * 2^16 frames of its stream
//   abort    the job ends
#pragma once

#include <cstdint>

namespace emx_gamma {

inline constexpr uint32_t nodes_max = 255;
inline constexpr uint32_t user_ports = 65536;
inline constexpr uint32_t ports_all = user_ports + 256;
inline constexpr uint32_t unit_bytes = 4096;
inline constexpr uint32_t window_units = 16;
inline constexpr uint32_t kept_most = 8; ///< messages of best effort without a buffer
inline constexpr uint32_t protocol_version = 3;
inline constexpr uint32_t hello_joined = 1;

enum class Kind : uint32_t {
    data = 1,
    packet = 2, ///< of a stream
    credit = 8,
    refused = 9,
    arrived = 10,
    release = 11,
    fail = 12,
    hello = 13,
    bye = 14,
    abort = 15
};

inline constexpr uint64_t control_bit = 1ull << 63;
inline constexpr uint64_t port_mask = 0x1ffff;
inline constexpr uint64_t kind_mask = 0xfull << 60;
inline constexpr uint64_t data_mask = kind_mask | port_mask << 30; ///< what a posted buffer looks at

constexpr uint64_t label(Kind kind, uint32_t node, uint32_t a, uint32_t b, uint32_t c)
{
    return uint64_t{static_cast<uint32_t>(kind)} << 60 | uint64_t{node} << 47 | (a & port_mask) << 30 |
           (b & port_mask) << 13 | (c & 0x1fff);
}
inline constexpr uint64_t flow_bit = 1ull << 59;
constexpr uint64_t data_label(uint32_t node, uint32_t to, uint32_t from, uint32_t units)
{
    return label(Kind::data, node, to, from, units << 8);
}
inline constexpr uint64_t freed_told = 0x80;
inline constexpr uint32_t freed_mask = 0x7f;
constexpr uint64_t freed_label(uint32_t freed) { return freed_told | (freed & freed_mask); }

constexpr Kind kind_of(uint64_t label) { return static_cast<Kind>(label >> 60); }
constexpr bool is_flow(uint64_t label) { return label & flow_bit; }
constexpr uint32_t node_of(uint64_t label) { return label >> 47 & 0xfff; }
constexpr uint32_t a_of(uint64_t label) { return label >> 30 & port_mask; }
constexpr uint32_t b_of(uint64_t label) { return label >> 13 & port_mask; }
constexpr uint32_t c_of(uint64_t label) { return label & 0x1fff; }
constexpr uint32_t units_of(uint64_t label) { return label >> 8 & 0x1f; }
constexpr uint32_t freed_of(uint64_t label) { return label & freed_mask; }

struct Hello {
    uint32_t version, nodes, par_pid, window;
};

} // namespace emx_gamma

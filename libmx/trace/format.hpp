// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A trace file: what one endpoint did, in a ring that its process maps and writes, and omx_trace reads, also
// while it is written.
#pragma once

#include <atomic>
#include <cstdint>

namespace emx::trace {

inline constexpr uint64_t file_magic = 0x6d78547261636531; // "mxTrace1"
inline constexpr uint32_t file_version = 1; ///< raised when any layout below changes
inline constexpr uint32_t header_bytes = 4096;

struct Header {
    uint64_t magic; ///< written last
    uint32_t version;
    uint32_t entry_bytes;
    uint32_t entries; ///< of the ring
    uint32_t board;
    uint32_t endpoint;
    uint32_t session;
    uint32_t pid;
    uint32_t reserved;
    uint64_t mac;
    uint64_t head; ///< entries written so far; the ring holds the last ones
    uint64_t closed_ns; ///< time of the last moment; 0: the endpoint is open, or its process died
    int64_t realtime_ns; ///< to be added to a time, for CLOCK_REALTIME of when the trace began
    int64_t tai_ns; ///< to be added to that, for CLOCK_TAI; 0 where nobody has told the kernel
    char host[64];
    char command[64];
    char board_name[80];
};
static_assert(sizeof(Header) <= header_bytes);

enum class Kind : uint8_t {
    none = 0,
    sent, ///< a packet went out (flags)
    received, ///< a packet came to the library
    matched, ///< its message found a receive
    queued, ///< its message waits for a receive
    early, ///< it waits for packets before it
    dropped, ///< the packet just received was of no use: `counter` says why
    counted, ///< `counter` rose by `value`: frames that only the firmware saw
    pulling, ///< the data of a large message is being fetched
    pulled, ///< it is here: `value` is enum emx_pull_status, msg_len the bytes
    link, ///< state of the interface: `value` is enum emx_link_state
    abandoned, ///< the message went with its partner
};

inline constexpr uint16_t flag_resent = 1; ///< not for the first time
inline constexpr uint16_t flag_refused = 2; ///< the interface did not take it
inline constexpr uint16_t flag_memory = 4; ///< through shared memory

struct Entry {
    uint64_t serial; ///< its number + 1; 0 while it is written
    uint64_t time_ns; ///< CLOCK_MONOTONIC of the host
    uint64_t match;
    uint64_t peer; ///< MAC of the other board
    uint32_t msg_len;
    uint32_t data_len;
    uint32_t value; ///< number that tells packets of one type and `seq` apart; else as the kind says
    uint16_t seq;
    uint16_t ack;
    uint16_t counter; ///< enum emx_counter
    uint16_t flags;
    uint8_t kind; ///< enum Kind
    uint8_t type; ///< enum emx_type
    uint8_t remote_ep;
    uint8_t reserved;
    uint64_t unused;
};
static_assert(sizeof(Entry) == 64);

} // namespace emx::trace

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Traces of several endpoints as one: which packet that came is which that was sent, what the clocks of the
// hosts are apart, and what never arrived.
#pragma once

#include "libmx/trace/format.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emx::trace {

/// Contents of one file.
struct Trace {
    std::string path;
    Header header{};
    std::vector<Entry> entries; ///< in their order
    uint64_t lost = 0; ///< entries that were overwritten
    uint64_t closed_ns = 0;
};

/// The fate of a packet that was sent.
enum class Fate : uint8_t {
    unknown, ///< its receiver was not traced, or not at that time
    arrived,
    missing, ///< the receiver's trace has no place for it
};

struct Event {
    uint32_t trace = 0; ///< index
    int64_t time_ns = 0; ///< CLOCK_REALTIME of the first host
    Entry entry{};
    Fate fate = Fate::unknown; ///< of a sent one
    int64_t under_way_ns = 0; ///< of one that arrived, and of what arrived there
};

/// The time by which a host's clock is ahead of the first host's.
struct HostClock {
    std::string host;
    int64_t ahead_ns = 0;
    int64_t doubt_ns = 0; ///< it may be so much more or less
    bool measured = false; ///< by packets in both directions; else it is taken for right
};

/// Packets from one endpoint to another.
struct Flow {
    uint64_t from = 0, to = 0; ///< MAC addresses
    uint32_t from_ep = 0, to_ep = 0;
    uint64_t sent = 0, resent = 0, refused = 0, arrived = 0, missing = 0;
    std::vector<int64_t> under_way_ns; ///< sorted
};

struct Merged {
    std::vector<Event> events; ///< by time
    std::vector<HostClock> clocks; ///< the first host's is right by definition
    std::vector<Flow> flows;
};

/// Traces of one host name share a clock.
Merged merge(const std::vector<Trace> &traces);

} // namespace emx::trace

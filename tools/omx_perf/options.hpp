// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Options of omx_perf, and the part of them that the client tells the server.
#pragma once

#include "report.hpp"
#include "series.hpp"

#include <cstdint>
#include <string>

namespace emx::perf {

enum class Pattern : uint32_t { pingpong = 0, stream = 1, both = 2, overlap = 3, batches = 4 };

/// A measurement's plan, on both sides alike.
struct Plan {
    Lengths lengths;
    Effort effort;
    uint32_t pause_ms = 100;
    Pattern pattern = Pattern::pingpong;
    bool synchronous = false;
    bool verify = false;
    bool transmission_too = false; ///< after each ping-pong of a length, a one-way stream of it
};

struct Options {
    std::string peer; ///< empty: server
    std::string report; ///< folder of the report; empty: none is asked for
    bool quick = false; ///< of the report: few messages and lengths
    uint32_t board = 0;
    uint32_t endpoint = 0;
    bool any_endpoint = false;
    uint32_t remote_endpoint = 0;
    bool slave = false;
    bool keep = false; ///< server: stay for further clients
    bool open_mx = false; ///< the dialogue of Open-MX's omx_perf
    bool time_given = false;
    bool aligned = false;
    bool blocking = false;
    bool yield = false;
    bool verbose = false;
    bool distribution = false;
    uint32_t patience_s = 10;
    Format format = Format::table;
    Plan plan;
};

/// Reads the command line; cli::Failure for what makes no sense.
Options read_options(int argc, char **argv);

/// "half round trip" and its like.
std::string quantity_of(const Plan &plan);
/// "lengths 0 to 4194304, times 2 plus 0; at most 1000 iterations in 1000 ms, 10 before".
std::string describe(const Plan &plan);

} // namespace emx::perf

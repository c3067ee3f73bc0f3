// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The findings of omx_check about one path, and the document that they make.
#pragma once

#include "tools/board_view.hpp"
#include "tools/omx_check/carrier.hpp"
#include "tools/omx_check/partner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emx::check {

/// Measurements are there as far as the test came.
struct Results {
    bool answers = false;
    bool served = false; ///< by omx_check -s there
    std::optional<Settings> theirs;
    bool same_dialect = true; ///< and sizes, as far as known
    std::optional<uint32_t> frame_max; ///< longest frame that is known to arrive there, bytes
    bool frames_vanish = false; ///< those above it do not
    std::optional<uint32_t> frames, lost, reordered;
    std::optional<double> round_trip_min_us, round_trip_median_us, latency_us, there_mb_s, back_mb_s;
    std::optional<Carrier> carrier; ///< of large messages from there
    std::vector<std::string> wrong;
    std::vector<std::string> untested;
};

/// Prints the document of omx_check: the path from that board to a host, as the user named it, and its board.
void print_json(const BoardFacts &board, const Settings &own, const std::string &host, uint64_t peer,
                const Results &results);

} // namespace emx::check

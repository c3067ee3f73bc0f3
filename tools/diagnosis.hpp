// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Diagnoses configuration and network by the counters of a board.
#pragma once

#include "board_view.hpp"

#include <string>
#include <vector>

namespace emx {

/// A sentence for each misconfiguration that the counters point to: its name, the evidence, the remedy. The
/// counters are taken as those of `board` since they were last cleared.
std::vector<std::string> diagnose(const emx_counters &counters, const BoardFacts &board);

} // namespace emx

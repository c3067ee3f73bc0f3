// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Counters for other programs: a JSON document, and the text form of OpenMetrics, which Prometheus reads.
#pragma once

#include "board_view.hpp"

#include <vector>

namespace emx {

/// All counters of these boards, and the sentences of the diagnosis, as the document of omx_counters.
void print_counters_json(BoardView &view, const std::vector<BoardFacts> &boards);

/// The same as metrics, a sample for each board. The older text form of Prometheus has all that is used of
/// the newer one but units and the end, which are comments in it: so either reader takes it, as
/// node_exporter's does.
void print_openmetrics(BoardView &view, const std::vector<BoardFacts> &boards);

} // namespace emx

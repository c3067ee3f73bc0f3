// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_perf --report: hands over to the script that measures and writes the report.
#pragma once

#include <string>

namespace emx::perf {

/// Becomes the script `report/run`, which finds omx_perf and its companions by EMX_REPORT_TOOLS. Returns only
/// by cli::Failure: the script is not there, or cannot be run. Call it while there is one thread.
[[noreturn]] void launch_report(const std::string &folder, bool quick);

} // namespace emx::perf

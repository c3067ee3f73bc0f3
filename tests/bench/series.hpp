// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Shared by the ping-pongs beside omx_perf: options, which tests/bench/rounds.sh gives alike, and the
// series.
#pragma once

#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/overlap.hpp"
#include "../../tools/omx_perf/report.hpp"

#include <string>

namespace emx::bench {

struct Series {
    perf::Lengths lengths;
    perf::Effort effort{1000000, 10, 100};
    std::string format = "csv";

    void add_to(cli::Parser &parser)
    {
        parser.size('S', "start", "first length (0)", lengths.from);
        parser.size('E', "end", "end of the series, exclusive (4194305)", lengths.to);
        parser.size('M', "multiply", "next length: times this (2)", lengths.multiply, "N");
        parser.number('N', "iterations", "most round trips per length (1000000)", effort.iterations);
        parser.number('T', "time", "milliseconds per length (100)", effort.budget_ms);
        parser.text('F', "format", "table, csv or json (csv)", format);
    }

    /// Measures and reports every length, then calls `finish` and prints the figures.
    template <typename Finish>
    void run(perf::Exchange &exchange, const std::string &quantity, const perf::Report::Settings &settings,
             Finish finish) const
    {
        perf::Report report(perf::parse_format(format), false);
        report.begin(quantity, settings);
        for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length))
            report.row(perf::measure(exchange, length, effort));
        finish();
        report.end();
    }

    /// The same with work while messages come.
    template <typename Finish>
    void run_overlap(perf::Overlapped &side, const perf::Report::Settings &settings, Finish finish) const
    {
        perf::OverlapReport report(perf::parse_format(format));
        report.begin(settings);
        for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length)) {
            for (const perf::OverlapRow &row : perf::measure_overlap(side, length, effort))
                report.row(row);
        }
        finish();
        report.end();
    }
};

} // namespace emx::bench

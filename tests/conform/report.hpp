// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Output of a runner: the table of cases and backends, failures, totals.
#pragma once

#include "conform.hpp"

#include <map>
#include <string>
#include <vector>

namespace emx::conform {

struct Options {
    std::vector<std::string> filters; ///< run only cases whose name or file contains one of them; none: all
    std::string config; ///< run only backends whose name contains it
    std::string device = "engine"; ///< conform_engine: or "kernel", the module
    unsigned patience = 1; ///< time limits of cases times that: for emulated machines
    unsigned jobs = 0; ///< cases side by side; 0: one more than there are processors
    bool full = false; ///< EMX_FULL=1
    bool big = false; ///< --big, or EMX_FULL=1
    bool list = false;
    bool verbose = false;

    bool chosen(const Case &c) const;
    /// In all columns where it exists: in the full tier, and in those that were asked for.
    bool everywhere() const { return full || !config.empty(); }
};

/// Reads the command line; prints usage and exits on errors.
Options parse_options(int argc, char **argv);

inline constexpr const char *skipped_for_size = "takes gigabytes or minutes: run with --big, or EMX_FULL=1";

enum class Outcome { passed, failed, skipped };

class Report {
public:
    explicit Report(std::vector<std::string> columns) : columns_(std::move(columns)) {}
    /// `detail` tells what failed, or why it was skipped. A case that makes no sense in a column is not
    /// added: its cell stays empty.
    void add(const Case &c, const std::string &column, Outcome outcome, const std::string &detail,
             double seconds = 0);
    /// A fault of a whole column: counts as a failed case.
    void add(const std::string &column, const std::string &detail);
    /// Prints the table, the slowest ones, the skipped ones, the failures and the totals; the exit status.
    int print() const;

private:
    void fail(const std::string &what, const std::string &detail);
    struct Row {
        const Case *c;
        std::map<std::string, Outcome> cells;
    };
    std::vector<std::string> columns_;
    std::vector<Row> rows_;
    std::vector<std::string> failures_, skips_;
    std::multimap<double, std::string> seconds_;
    int passed_ = 0, failed_ = 0, skipped_ = 0;
};

} // namespace emx::conform

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Output of measurements: table, CSV or JSON on stdout, progress on stderr, figures of merit.
#pragma once

#include "series.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emx::perf {

enum class Format { table, csv, json };

/// Failure for anything but "table", "csv", "json".
Format parse_format(std::string_view text);

/// Figures of merit of the field (Hockney's model, and the GAMMA project's reading of it).
struct Figures {
    uint64_t shortest = 0; ///< its length
    double latency_us = 0; ///< time of the shortest message
    double r_inf = 0; ///< asymptotic throughput: the best one measured, MB/s
    double n_half = 0; ///< length that reaches half of r_inf, interpolated, bytes; 0 = below the series
};
/// Figures of the rows of one kind, in the order of their lengths.
Figures figures_of(const std::vector<Row> &rows, Throughput kind);

/// Collects rows and prints them as they come. Settings go into the header (key, value).
class Report {
public:
    using Settings = std::vector<std::pair<std::string, std::string>>;

    /// `mixed`: rows of both kinds of throughput will come.
    Report(Format format, bool distribution, bool mixed = false)
        : format_(format), distribution_(distribution), mixed_(mixed)
    {
    }

    /// `quantity`: what a time is ("half round trip", "time per message of a stream").
    void begin(const std::string &quantity, const Settings &settings);
    void row(Row row);
    void end();
    const std::vector<Row> &rows() const { return rows_; }

private:
    void table_row(const Row &row) const;
    void histogram(const Row &row) const;
    void json_row(const Row &row) const;
    void csv_row(const Row &row) const;
    void table_end(Throughput kind) const;
    void json_end() const;

    Format format_;
    bool distribution_;
    bool mixed_;
    std::vector<Row> rows_;
};

/// Prints what stands before the rows of a table or of JSON; nothing for CSV. `quantity`: what a time is.
void print_head(Format format, const std::string &quantity, const Report::Settings &settings);

/// One line on stderr, rewritten in place, only when stderr is a terminal.
class Progress {
public:
    explicit Progress(uint32_t steps);
    ~Progress() { clear(); }
    void step(uint64_t length);
    void clear();

private:
    uint32_t steps_;
    uint32_t done_ = 0;
    uint64_t started_;
    bool shown_ = false;
    bool terminal_;
};

} // namespace emx::perf

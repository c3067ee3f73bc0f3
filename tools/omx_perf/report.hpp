// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Output of measurements: table, CSV or JSON (tools/schemas/omx_perf.json) on stdout, progress on stderr,
// figures of merit.
#pragma once

#include "../json.hpp"
#include "series.hpp"

#include <functional>
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

/// Facts of a measurement that belong to each row: (name, value), the columns of CSV behind a row's own, and
/// members of the JSON document. mtu is a number.
using Provenance = std::vector<std::pair<std::string, std::string>>;

/// A figure of a row, under the same name in CSV and JSON.
struct Field {
    const char *name;
    double value;
    int decimals = 0;
};

/// The frame around the rows of a measurement, and the rows but for those of tables.
class Sheet {
public:
    /// Facts of the header of a table and of JSON: (key, value), where "yes" and "no" are booleans.
    using Settings = std::vector<std::pair<std::string, std::string>>;

    explicit Sheet(Format format, Provenance provenance = {})
        : format_(format), provenance_(std::move(provenance))
    {
    }
    /// `quantity`: what a time is ("half round trip", "time per message of a stream").
    void begin(const std::string &quantity, const Settings &settings);
    /// A row of CSV, with the names of its columns above the first; of JSON, to which `more` may add members.
    /// `kind`: the kind of throughput, if that is told; a text.
    void row(const std::vector<Field> &fields, const char *kind = nullptr,
             const std::function<void(JsonWriter &)> &more = {});
    /// Behind the last row; `more` may add members to the JSON document.
    void end(const std::function<void(JsonWriter &)> &more = {});

    Format format() const { return format_; }

private:
    void csv_head(const std::vector<Field> &fields, const char *kind) const;
    void csv_row(const std::vector<Field> &fields, const char *kind) const;

    Format format_;
    Provenance provenance_;
    JsonWriter json_;
    bool first_ = true;
};

/// Collects rows and prints them as they come.
class Report {
public:
    using Settings = Sheet::Settings;

    /// `mixed`: rows of both kinds of throughput will come.
    Report(Format format, bool distribution, bool mixed = false, Provenance provenance = {})
        : sheet_(format, std::move(provenance)), distribution_(distribution), mixed_(mixed)
    {
    }

    void begin(const std::string &quantity, const Settings &settings) { sheet_.begin(quantity, settings); }
    void row(Row row);
    void end();
    const std::vector<Row> &rows() const { return rows_; }

private:
    void table_row(const Row &row) const;
    void histogram(const Row &row) const;
    void table_end(Throughput kind) const;

    Sheet sheet_;
    bool distribution_;
    bool mixed_;
    std::vector<Row> rows_;
};

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

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Printing of measurements.
#include "report.hpp"

#include "../cli.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace emx::perf {

namespace {

constexpr double mib = 1048576.0 / 1e6;
constexpr int bar_width = 50;

std::string json_text(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + "\"";
}

const char *name_of(Throughput kind)
{
    return kind == Throughput::end_to_end ? "end-to-end" : "transmission";
}

/// The kinds that occur, in a fixed order.
std::vector<Throughput> kinds_of(const std::vector<Row> &rows)
{
    std::vector<Throughput> kinds;
    for (const Throughput kind : {Throughput::end_to_end, Throughput::transmission}) {
        if (std::any_of(rows.begin(), rows.end(), [kind](const Row &row) { return row.kind == kind; }))
            kinds.push_back(kind);
    }
    return kinds;
}

double length_at(const Row &low, const Row &high, double target)
{
    const double span = high.throughput() - low.throughput();
    const double part = span > 0 ? (target - low.throughput()) / span : 1;
    return static_cast<double>(low.length) + part * static_cast<double>(high.length - low.length);
}

} // namespace

Format parse_format(std::string_view text)
{
    if (text == "table")
        return Format::table;
    if (text == "csv")
        return Format::csv;
    if (text == "json")
        return Format::json;
    throw cli::Failure("--format: \"" + std::string(text) + "\" is none of table, csv, json");
}

Figures figures_of(const std::vector<Row> &all, Throughput kind)
{
    std::vector<const Row *> rows;
    for (const Row &row : all) {
        if (row.kind == kind)
            rows.push_back(&row);
    }
    Figures f;
    if (rows.empty())
        return f;
    f.shortest = rows.front()->length;
    f.latency_us = rows.front()->times.median();
    for (const Row *row : rows)
        f.r_inf = std::max(f.r_inf, row->throughput());
    const auto reaches_half = [&](const Row *row) { return row->throughput() >= f.r_inf / 2; };
    const auto half = std::find_if(rows.begin(), rows.end(), reaches_half);
    if (half != rows.begin() && half != rows.end())
        f.n_half = length_at(**(half - 1), **half, f.r_inf / 2);
    return f;
}

void print_head(Format format, const std::string &quantity, const Report::Settings &settings)
{
    if (format == Format::json) {
        std::printf("{\"time\": %s, \"unit\": \"us\"", json_text(quantity).c_str());
        for (const auto &[key, value] : settings)
            std::printf(", %s: %s", json_text(key).c_str(), json_text(value).c_str());
        std::printf(", \"rows\": [");
    }
    if (format == Format::table) {
        std::printf("# median %s", quantity.c_str());
        for (const auto &[key, value] : settings)
            std::printf("; %s %s", key.c_str(), value.c_str());
        std::printf("\n");
    }
}

void Report::begin(const std::string &quantity, const Settings &settings)
{
    print_head(format_, quantity, settings);
    if (format_ == Format::csv)
        std::printf("bytes,iterations,min_us,median_us,p90_us,p99_us,max_us,mean_us,MB_s,throughput\n");
}

void Report::table_row(const Row &row) const
{
    std::printf("length %8llu: %9.3f us  %9.2f MB/s  %9.2f MiB/s",
                static_cast<unsigned long long>(row.length), row.times.median(), row.throughput(),
                row.throughput() / mib);
    if (mixed_)
        std::printf("  %s", name_of(row.kind));
    if (distribution_)
        std::printf("   min %.3f p90 %.3f p99 %.3f max %.3f mean %.3f n %zu", row.times.min(),
                    row.times.quantile(0.9), row.times.quantile(0.99), row.times.max(), row.times.mean(),
                    row.times.count());
    std::printf("\n");
    if (distribution_)
        histogram(row);
}

void Report::histogram(const Row &row) const
{
    const auto buckets = row.times.histogram();
    uint64_t most = 1;
    for (const auto &b : buckets)
        most = std::max(most, b.count);
    for (const auto &b : buckets) {
        if (b.count == 0)
            continue;
        const int bar = std::max(
            1, static_cast<int>(static_cast<double>(b.count * bar_width) / static_cast<double>(most)));
        std::printf("    %10.3f - %10.3f us %8llu %s\n", b.from_us, b.to_us,
                    static_cast<unsigned long long>(b.count),
                    std::string(static_cast<std::size_t>(bar), '#').c_str());
    }
}

void Report::json_row(const Row &row) const
{
    std::printf("%s\n  {\"bytes\": %llu, \"iterations\": %u, \"min\": %.3f, \"median\": %.3f, \"p90\": %.3f, "
                "\"p99\": %.3f, \"max\": %.3f, \"mean\": %.3f, \"MB_s\": %.3f, \"throughput\": \"%s\", "
                "\"histogram\": [",
                rows_.size() > 1 ? "," : "", static_cast<unsigned long long>(row.length), row.iterations,
                row.times.min(), row.times.median(), row.times.quantile(0.9), row.times.quantile(0.99),
                row.times.max(), row.times.mean(), row.throughput(), name_of(row.kind));
    bool first = true;
    for (const auto &b : row.times.histogram()) {
        if (b.count)
            std::printf("%s[%.3f, %.3f, %llu]", first ? "" : ", ", b.from_us, b.to_us,
                        static_cast<unsigned long long>(b.count));
        first = first && !b.count;
    }
    std::printf("]}");
}

void Report::csv_row(const Row &r) const
{
    std::printf("%llu,%u,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%s\n", static_cast<unsigned long long>(r.length),
                r.iterations, r.times.min(), r.times.median(), r.times.quantile(0.9), r.times.quantile(0.99),
                r.times.max(), r.times.mean(), r.throughput(), name_of(r.kind));
}

void Report::row(Row row)
{
    rows_.push_back(std::move(row));
    const Row &r = rows_.back();
    switch (format_) {
    case Format::table: table_row(r); break;
    case Format::csv: csv_row(r); break;
    case Format::json: json_row(r); break;
    }
    std::fflush(stdout);
}

void Report::table_end(Throughput kind) const
{
    const Figures f = figures_of(rows_, kind);
    std::printf("# %s: latency %.3f us (%llu bytes); r_inf %.1f MB/s; N1/2 ", name_of(kind), f.latency_us,
                static_cast<unsigned long long>(f.shortest), f.r_inf);
    if (f.n_half > 0)
        std::printf("%.0f bytes\n", f.n_half);
    else
        std::printf("below the shortest length measured\n");
}

void Report::json_end() const
{
    std::printf("\n], \"figures\": {");
    const char *separator = "";
    for (const Throughput kind : kinds_of(rows_)) {
        const Figures f = figures_of(rows_, kind);
        std::printf("%s\"%s\": {\"latency_us\": %.3f, \"r_inf_MB_s\": %.3f, \"n_half_bytes\": %.0f}",
                    separator, name_of(kind), f.latency_us, f.r_inf, f.n_half);
        separator = ", ";
    }
    std::printf("}}\n");
}

void Report::end()
{
    if (format_ == Format::json)
        json_end();
    if (format_ == Format::table && rows_.size() > 1) {
        for (const Throughput kind : kinds_of(rows_))
            table_end(kind);
    }
    std::fflush(stdout);
}

Progress::Progress(uint32_t steps) : steps_(steps), started_(now_ns()), terminal_(isatty(STDERR_FILENO) == 1)
{
}

void Progress::step(uint64_t length)
{
    done_++;
    if (!terminal_)
        return;
    const double seconds = static_cast<double>(now_ns() - started_) / 1e9;
    std::fprintf(stderr, "\r\033[K[%u/%u] %llu bytes, %.0f s", done_, steps_,
                 static_cast<unsigned long long>(length), seconds);
    shown_ = true;
}

void Progress::clear()
{
    if (shown_)
        std::fprintf(stderr, "\r\033[K");
    shown_ = false;
}

} // namespace emx::perf

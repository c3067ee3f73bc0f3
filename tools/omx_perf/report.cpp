// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Printing of measurements.
#include "report.hpp"

#include "../cli.hpp"
#include "../csv.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace emx::perf {

namespace {

constexpr double mib = 1048576.0 / 1e6;
constexpr int bar_width = 50;

const char *name_of(Throughput kind)
{
    return kind == Throughput::end_to_end ? "end-to-end" : "transmission";
}

/// "waiting spinning", "not verified".
std::string setting_text(const std::string &key, const std::string &value)
{
    return value == "yes" ? key : value == "no" ? "not " + key : key + " " + value;
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

void Sheet::begin(const std::string &quantity, const Settings &settings)
{
    if (format_ == Format::json) {
        begin_document(json_, "omx_perf");
        for (const auto &[key, value] : provenance_) {
            if (key == "mtu" && !value.empty())
                json_.member(key, cli::parse_number(key, value));
            else if (key != "version") // the document has it
                json_.text_or_null(key, value);
        }
        json_.member("quantity", quantity);
        for (const auto &[key, value] : settings)
            value == "yes" || value == "no" ? json_.flag(key, value == "yes") : json_.member(key, value);
        json_.key("rows").begin_array(JsonLayout::lines);
        json_.flush(stdout);
    }
    if (format_ == Format::table) {
        std::printf("# median %s", quantity.c_str());
        for (const auto &[key, value] : settings)
            std::printf("; %s", setting_text(key, value).c_str());
        std::printf("\n");
    }
}

void Sheet::csv_head(const std::vector<Field> &fields, const char *kind) const
{
    const char *between = "";
    const auto name = [&between](const std::string &text) {
        std::printf("%s%s", between, text.c_str());
        between = ",";
    };
    for (const Field &field : fields)
        name(field.name);
    if (kind)
        name("throughput");
    for (const auto &[key, value] : provenance_)
        name(key);
    std::printf("\n");
}

void Sheet::csv_row(const std::vector<Field> &fields, const char *kind) const
{
    const char *between = "";
    for (const Field &field : fields) {
        std::printf("%s%.*f", between, field.decimals, field.value);
        between = ",";
    }
    if (kind)
        std::printf("%s%s", between, kind);
    for (const auto &[key, value] : provenance_)
        std::printf(",%s", csv_text(value).c_str());
    std::printf("\n");
}

void Sheet::row(const std::vector<Field> &fields, const char *kind,
                const std::function<void(JsonWriter &)> &more)
{
    if (format_ == Format::csv && std::exchange(first_, false))
        csv_head(fields, kind);
    if (format_ == Format::csv)
        csv_row(fields, kind);
    if (format_ == Format::json) {
        json_.begin_object();
        for (const Field &field : fields)
            json_.key(field.name).decimal(field.value, field.decimals);
        if (kind)
            json_.member("throughput", kind);
        if (more)
            more(json_);
        json_.end();
        json_.flush(stdout);
    }
    std::fflush(stdout);
}

void Sheet::end(const std::function<void(JsonWriter &)> &more)
{
    if (format_ == Format::json) {
        json_.end();
        if (more)
            more(json_);
        end_document(json_);
    }
    std::fflush(stdout);
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

namespace {

std::vector<Field> fields_of(const Row &r)
{
    constexpr int decimals = 3;
    return {{"bytes", static_cast<double>(r.length)},    {"iterations", static_cast<double>(r.iterations)},
            {"min_us", r.times.min(), decimals},         {"median_us", r.times.median(), decimals},
            {"p90_us", r.times.quantile(0.9), decimals}, {"p99_us", r.times.quantile(0.99), decimals},
            {"max_us", r.times.max(), decimals},         {"mean_us", r.times.mean(), decimals},
            {"MB_s", r.throughput(), decimals}};
}

/// An array of [from_us, to_us, count].
void json_histogram(JsonWriter &json, const Row &row)
{
    json.key("histogram").begin_array();
    for (const auto &b : row.times.histogram()) {
        if (b.count == 0)
            continue;
        json.begin_array();
        json.decimal(b.from_us, 3);
        json.decimal(b.to_us, 3);
        json.number(uint64_t{b.count});
        json.end();
    }
    json.end();
}

} // namespace

void Report::row(Row row)
{
    rows_.push_back(std::move(row));
    const Row &r = rows_.back();
    if (sheet_.format() == Format::table)
        table_row(r);
    sheet_.row(fields_of(r), name_of(r.kind), [&r](JsonWriter &json) { json_histogram(json, r); });
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

void Report::end()
{
    if (sheet_.format() == Format::table && rows_.size() > 1) {
        for (const Throughput kind : kinds_of(rows_))
            table_end(kind);
    }
    sheet_.end([this](JsonWriter &json) {
        json.key("figures").begin_object();
        for (const Throughput kind : kinds_of(rows_)) {
            const Figures f = figures_of(rows_, kind);
            json.key(name_of(kind)).begin_object();
            json.key("latency_us").decimal(f.latency_us, 3);
            json.key("r_inf_MB_s").decimal(f.r_inf, 3);
            json.key("n_half_bytes").decimal(f.n_half, 0);
            json.end();
        }
        json.end();
    });
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

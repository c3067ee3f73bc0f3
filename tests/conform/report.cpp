// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Options and output of the conformance runners. See report.hpp.
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace emx::conform {

namespace {

constexpr size_t slowest_shown = 10;

/// 0: not a number of 1 to 1000.
unsigned factor(const char *text)
{
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return end == text || *end || value < 1 || value > 1000 ? 0 : static_cast<unsigned>(value);
}

} // namespace

Options parse_options(int argc, char **argv)
{
    Options o;
    const char *full = std::getenv("EMX_FULL");
    o.big = o.full = full && !std::strcmp(full, "1");
    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--filter" && i + 1 < argc)
            o.filters.push_back(argv[++i]);
        else if (a == "--config" && i + 1 < argc)
            o.config = argv[++i];
        else if (a == "--device" && i + 1 < argc)
            o.device = argv[++i];
        else if (a == "--patience" && i + 1 < argc && factor(argv[i + 1]))
            o.patience = factor(argv[++i]);
        else if (a == "--jobs" && i + 1 < argc && factor(argv[i + 1]))
            o.jobs = factor(argv[++i]);
        else if (a == "--big")
            o.big = true;
        else if (a == "--list")
            o.list = true;
        else if (a == "--verbose")
            o.verbose = true;
        else {
            std::fprintf(
                stderr,
                "usage: %s [--filter TEXT]... [--config TEXT] [--device engine|kernel] [--patience "
                "FACTOR] [--jobs COUNT] [--big] [--list] [--verbose]\nFACTOR and COUNT are 1 to 1000\n",
                argv[0]);
            std::exit(2);
        }
    }
    if (o.jobs ==
        0) // the module is one for all labs, and its counters are; other cases wait a part of their time
        o.jobs = o.device == "kernel" ? 1 : std::thread::hardware_concurrency() + 1;
    return o;
}

bool Options::chosen(const Case &c) const
{
    return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const std::string &text) {
               return std::string(c.name).find(text) != std::string::npos ||
                      std::string(c.file).find(text) != std::string::npos;
           });
}

void Report::add(const Case &c, const std::string &column, Outcome outcome, const std::string &detail,
                 double seconds)
{
    seconds_.emplace(seconds, std::string(c.name) + " [" + column + "]");
    auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row &r) { return r.c >= &c; });
    if (row == rows_.end() || row->c != &c)
        row = rows_.insert(row, {&c, {}}); // in the order of the cases, whichever ended first
    row->cells[column] = outcome;
    (outcome == Outcome::passed ? passed_ : outcome == Outcome::failed ? failed_ : skipped_)++;
    if (outcome == Outcome::skipped)
        skips_.push_back(std::string(c.name) + " [" + column + "]: " + detail);
    if (outcome == Outcome::failed)
        fail(std::string(c.name) + " [" + column + "]", detail);
}

void Report::add(const std::string &column, const std::string &detail)
{
    failed_++;
    fail("[" + column + "]", detail);
}

void Report::fail(const std::string &what, const std::string &detail)
{
    failures_.push_back(what + "\n" + detail);
    std::printf("FAILED %s", (failures_.back() + (detail.ends_with('\n') ? "" : "\n")).c_str());
    std::fflush(stdout);
}

int Report::print() const
{
    std::printf("\n%-58s", "case");
    for (const std::string &c : columns_)
        std::printf(" %s", c.c_str());
    std::printf("\n");
    for (const Row &r : rows_) {
        std::printf("%-58s", r.c->name);
        for (const std::string &c : columns_) {
            auto it = r.cells.find(c);
            const char *mark = it == r.cells.end()             ? " "
                               : it->second == Outcome::passed ? "ok"
                               : it->second == Outcome::failed ? "FAILED"
                                                               : "-";
            std::printf(" %-*s", static_cast<int>(c.size()), mark);
        }
        std::printf("\n");
    }
    std::printf("\nslowest:\n");
    size_t shown = 0;
    for (auto it = seconds_.rbegin(); it != seconds_.rend() && shown < slowest_shown; ++it, shown++)
        std::printf("%8.3f s  %s\n", it->first, it->second.c_str());
    for (const std::string &text : skips_)
        std::printf("\nskipped %s", text.c_str());
    for (const std::string &f : failures_)
        std::printf("\nFAILED %s", f.c_str());
    std::printf("\n\n%d passed, %d failed, %d skipped\n", passed_, failed_, skipped_);
    return failed_ ? 1 : 0;
}

} // namespace emx::conform

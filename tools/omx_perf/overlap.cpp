// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Work between asking for a message and looking at it: measuring and printing.
#include "overlap.hpp"

#include "work.hpp"

#include <algorithm>
#include <cstdio>

namespace emx::perf {

namespace {

constexpr double parts_of_message[] = {0, 0.5, 1, 2, 4};

OverlapRow measure_work(Overlapped &side, Work &work, OverlapRow row)
{
    const uint64_t steps = work.steps(row.work_us);
    Distribution times;
    uint32_t there = 0;
    side.prepare(row.length, row.iterations);
    for (uint32_t i = 0; i < row.iterations; i++) {
        const uint64_t before = now_ns();
        side.start();
        work.run(steps);
        there += side.look();
        side.finish();
        times.add(static_cast<double>(now_ns() - before) / 1000);
    }
    times.finish();
    row.elapsed_us = times.median();
    row.share = row.elapsed_us > 0 ? row.work_us / row.elapsed_us : 0;
    row.there = static_cast<double>(there) / row.iterations;
    return row;
}

} // namespace

std::vector<OverlapRow> measure_overlap(Overlapped &side, uint64_t length, const Effort &effort)
{
    Work work;
    OverlapRow plain;
    plain.length = length;
    plain.iterations = std::max(effort.warmup, 1u);
    const double message_us = measure_work(side, work, plain).elapsed_us;
    std::vector<OverlapRow> rows;
    for (const double part : parts_of_message) {
        OverlapRow row;
        row.length = length;
        row.work_us = part * message_us;
        row.iterations = effort.fit(message_us + row.work_us);
        rows.push_back(measure_work(side, work, row));
    }
    return rows;
}

void OverlapReport::begin(const Report::Settings &settings) const
{
    print_head(format_, "from asking for a message to having it, with work in between", settings);
    if (format_ == Format::csv)
        std::printf("bytes,iterations,work_us,elapsed_us,MB_s,cpu_share,there\n");
}

void OverlapReport::row(const OverlapRow &r)
{
    const auto length = static_cast<unsigned long long>(r.length);
    switch (format_) {
    case Format::table:
        std::printf("length %8llu: work %10.1f us  elapsed %10.1f us  %9.2f MB/s  processor left %5.1f %%  "
                    "there at the first look %5.1f %%\n",
                    length, r.work_us, r.elapsed_us, r.throughput(), 100 * r.share, 100 * r.there);
        break;
    case Format::json:
        std::printf("%s\n  {\"bytes\": %llu, \"iterations\": %u, \"work_us\": %.3f, \"elapsed_us\": %.3f, "
                    "\"MB_s\": %.3f, \"cpu_share\": %.4f, \"there\": %.4f}",
                    first_ ? "" : ",", length, r.iterations, r.work_us, r.elapsed_us, r.throughput(), r.share,
                    r.there);
        break;
    case Format::csv:
        std::printf("%llu,%u,%.3f,%.3f,%.3f,%.4f,%.4f\n", length, r.iterations, r.work_us, r.elapsed_us,
                    r.throughput(), r.share, r.there);
        break;
    }
    first_ = false;
    std::fflush(stdout);
}

void OverlapReport::end() const
{
    if (format_ == Format::json)
        std::printf("\n]}\n");
}

} // namespace emx::perf

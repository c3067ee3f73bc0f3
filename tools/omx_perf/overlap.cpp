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

void OverlapReport::begin(const Report::Settings &settings)
{
    sheet_.begin("from asking for a message to having it, with work in between", settings);
}

void OverlapReport::row(const OverlapRow &r)
{
    if (sheet_.format() == Format::table)
        std::printf("length %8llu: work %10.1f us  elapsed %10.1f us  %9.2f MB/s  processor left %5.1f %%  "
                    "there at the first look %5.1f %%\n",
                    static_cast<unsigned long long>(r.length), r.work_us, r.elapsed_us, r.throughput(),
                    100 * r.share, 100 * r.there);
    sheet_.row({{"bytes", static_cast<double>(r.length)},
                {"iterations", static_cast<double>(r.iterations)},
                {"work_us", r.work_us, 3},
                {"elapsed_us", r.elapsed_us, 3},
                {"MB_s", r.throughput(), 3},
                {"cpu_share", r.share, 4},
                {"there", r.there, 4}});
}

} // namespace emx::perf

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Message lengths, iteration counts and the measuring loop.
#include "series.hpp"

#include "../cli.hpp"

#include <algorithm>
#include <ctime>

namespace emx::perf {

namespace {
constexpr uint32_t fewest = 5;
// A stream is one sample, so it is repeated: more often than the machine is interrupted, and each time
// for longer than its messages in flight take to fill and drain.
constexpr uint32_t stream_samples_min = 5, stream_samples_max = 25;
constexpr uint32_t stream_length = 128;
constexpr uint32_t whole_samples = 3; // when each is as long as was asked for
} // namespace

uint64_t now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t Lengths::next(uint64_t length) const
{
    const uint64_t grown = length * multiply + add;
    return grown > length ? grown : length + 1;
}

void Lengths::check() const
{
    if (from >= to)
        throw cli::Failure("the end (-E) must lie above the start (-S): the series holds no length");
    if (multiply == 0 && add == 0)
        throw cli::Failure("-M 0 needs an increment (-I)");
}

uint32_t Lengths::count() const
{
    uint32_t n = 0;
    for (uint64_t length = from; length < to; length = next(length))
        n++;
    return n;
}

uint32_t Effort::fit(double us) const
{
    if (budget_ms == 0 || us <= 0)
        return iterations;
    const double fitting = budget_ms * 1000.0 / us;
    return std::clamp(fitting < iterations ? static_cast<uint32_t>(fitting) : iterations,
                      std::min(fewest, iterations), iterations);
}

double Row::throughput() const
{
    const double us = times.median();
    return us > 0 ? static_cast<double>(length) * directions / us : 0;
}

namespace {

void sample_each(Exchange &exchange, Row &row)
{
    exchange.prepare(row.length, row.iterations);
    row.times.reserve(row.iterations);
    const double per_sample = 1000.0 * exchange.ways();
    uint64_t before = now_ns();
    for (uint32_t i = 0; i < row.iterations; i++) {
        exchange.exchange();
        const uint64_t after = now_ns();
        row.times.add(static_cast<double>(after - before) / per_sample);
        before = after;
    }
}

/// Microseconds that a call of exchange() takes.
double time_of(Exchange &exchange)
{
    const uint64_t before = now_ns();
    exchange.exchange();
    return static_cast<double>(now_ns() - before) / 1000.0;
}

void sample_whole(Exchange &exchange, Row &row, bool one_stretch)
{
    const uint32_t samples =
        one_stretch ? whole_samples
                    : std::clamp(row.iterations / stream_length, stream_samples_min, stream_samples_max);
    const uint32_t part = one_stretch ? row.iterations : std::max(row.iterations / samples, 1u);
    row.iterations = part * samples;
    for (uint32_t i = 0; i < samples; i++) {
        exchange.prepare(row.length, part);
        row.times.add(time_of(exchange) / part);
    }
}

/// Microseconds of one exchange, from the warm-up. A median, since a single interruption would make all the
/// exchanges look long and leave hardly any to be measured; of a stream, of three stretches.
double warm_up(Exchange &exchange, uint64_t length, uint32_t count)
{
    Distribution times;
    if (exchange.whole()) {
        for (uint32_t parts = std::min(count, 3u); parts > 0; parts--) {
            const uint32_t part = count / parts;
            count -= part;
            exchange.prepare(length, part);
            times.add(time_of(exchange) / part);
        }
    } else {
        exchange.prepare(length, count);
        for (uint32_t i = 0; i < count; i++)
            times.add(time_of(exchange));
    }
    times.finish();
    return times.median();
}

} // namespace

Row measure(Exchange &exchange, uint64_t length, const Effort &effort)
{
    const double us = warm_up(exchange, length, std::max(effort.warmup, 1u));
    Row row;
    row.length = length;
    row.iterations = effort.fit(us);
    row.directions = exchange.directions();
    row.kind = exchange.whole() ? Throughput::transmission : Throughput::end_to_end;
    if (exchange.whole())
        sample_whole(exchange, row, effort.one_stretch);
    else
        sample_each(exchange, row);
    row.times.finish();
    return row;
}

} // namespace emx::perf

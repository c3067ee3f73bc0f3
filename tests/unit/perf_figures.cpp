// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Figures that omx_perf makes of its samples: quantiles, figures of merit on made-up curves, lengths,
// iterations, and the pattern that finds altered messages.
#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/overlap.hpp"
#include "../../tools/omx_perf/payload.hpp"
#include "../../tools/omx_perf/report.hpp"

#include <catch2/catch.hpp>

#include <cmath>

using namespace emx::perf;

namespace {

Row row_of(uint64_t length, double us, Throughput kind = Throughput::end_to_end)
{
    Row row;
    row.length = length;
    row.kind = kind;
    row.times.add(us);
    row.times.finish();
    return row;
}

/// Hockney's model: a start-up time, then a rate in MB/s.
std::vector<Row> hockney(double start_us, double rate, double step)
{
    std::vector<Row> rows{row_of(0, start_us)};
    for (double length = 1; length < 1e9; length = std::ceil(length * step))
        rows.push_back(row_of(static_cast<uint64_t>(length), start_us + length / rate));
    return rows;
}

/// An exchange that takes no time and counts what is asked of it.
class Counted : public Exchange {
public:
    explicit Counted(bool stream) : stream_(stream) {}
    void prepare(uint64_t, uint32_t iterations) override { asked.push_back(iterations); }
    void exchange() override { exchanges++; }
    bool whole() const override { return stream_; }
    std::vector<uint32_t> asked;
    uint32_t exchanges = 0;

private:
    bool stream_;
};

} // namespace

TEST_CASE("quantiles are samples, by the nearest rank")
{
    Distribution d;
    for (int i = 100; i >= 1; i--)
        d.add(i);
    d.finish();
    CHECK(d.min() == 1);
    CHECK(d.median() == 50);
    CHECK(d.quantile(0.9) == 90);
    CHECK(d.quantile(0.99) == 99);
    CHECK(d.max() == 100);
    CHECK(d.mean() == Approx(50.5));
    CHECK(Distribution().median() == 0);
}

TEST_CASE("the histogram holds every sample in the bucket around it")
{
    Distribution d;
    for (const double us : {0.5, 1.0, 1.1, 1.3, 64.0})
        d.add(us);
    d.finish();
    uint64_t sum = 0;
    for (const auto &b : d.histogram()) {
        CHECK(b.to_us == Approx(b.from_us * std::sqrt(std::sqrt(2.0))));
        if (b.from_us <= 1.05 && 1.05 < b.to_us)
            CHECK(b.count == 2);
        sum += b.count;
    }
    CHECK(sum == 5);
    CHECK(d.histogram().front().count == 1);
    CHECK(d.histogram().back().count == 1);
}

TEST_CASE("the half-power point lies between the rows around it, in proportion")
{
    // 10, 50 and 80 MB/s: half of 80 is three quarters of the way from 10 to 50.
    const std::vector<Row> rows{row_of(100, 10), row_of(200, 4), row_of(800, 10)};
    const Figures f = figures_of(rows, Throughput::end_to_end);
    CHECK(f.shortest == 100);
    CHECK(f.latency_us == Approx(10));
    CHECK(f.r_inf == Approx(80));
    CHECK(f.n_half == Approx(175));
}

TEST_CASE("a dense curve of Hockney's model has its half-power point at start-up time times rate")
{
    const Figures f = figures_of(hockney(2.0, 1000.0, 1.05), Throughput::end_to_end);
    CHECK(f.latency_us == Approx(2.0));
    CHECK(f.r_inf == Approx(1000.0).epsilon(1e-3));
    CHECK(f.n_half == Approx(2000.0).epsilon(1e-2));
}

TEST_CASE("the first length that reaches half counts, not a later one")
{
    // 20, 60, 30, 100 MB/s
    const std::vector<Row> rows{row_of(100, 5), row_of(300, 5), row_of(600, 20), row_of(1000, 10)};
    CHECK(figures_of(rows, Throughput::end_to_end).n_half == Approx(250));
}

TEST_CASE("no half-power point when the first row is above it, and none of nothing")
{
    CHECK(figures_of({row_of(1000, 1), row_of(2000, 1.9)}, Throughput::end_to_end).n_half == 0);
    CHECK(figures_of({}, Throughput::end_to_end).r_inf == 0);
}

TEST_CASE("end-to-end and transmission throughput are kept apart")
{
    const std::vector<Row> rows{row_of(100, 10), row_of(100, 2, Throughput::transmission), row_of(1000, 20),
                                row_of(1000, 5, Throughput::transmission)};
    CHECK(figures_of(rows, Throughput::end_to_end).r_inf == Approx(50));
    CHECK(figures_of(rows, Throughput::end_to_end).latency_us == Approx(10));
    CHECK(figures_of(rows, Throughput::transmission).r_inf == Approx(200));
    CHECK(figures_of(rows, Throughput::transmission).latency_us == Approx(2));
}

TEST_CASE("streams both ways count both directions")
{
    Row row = row_of(1000, 10, Throughput::transmission);
    row.directions = 2;
    CHECK(row.throughput() == Approx(200));
}

TEST_CASE("lengths grow as asked and always grow")
{
    Lengths usual;
    CHECK(usual.next(0) == 1);
    CHECK(usual.next(1) == 2);
    CHECK(usual.count() == 24); // 0, 1, 2, 4 ... 4 Mi
    const Lengths steps{10, 20, 1, 3};
    CHECK(steps.count() == 4); // 10 13 16 19
    const Lengths stuck{5, 8, 1, 0};
    CHECK(stuck.count() == 3);
    CHECK_THROWS_AS((Lengths{5, 5, 2, 0}.check()), emx::cli::Failure);
    CHECK_THROWS_AS((Lengths{0, 5, 0, 0}.check()), emx::cli::Failure);
}

TEST_CASE("iterations fit into the time, within their bounds")
{
    const Effort effort{1000, 10, 1000};
    CHECK(effort.fit(1e4) == 100);
    CHECK(effort.fit(1) == 1000);
    CHECK(effort.fit(1e9) == 5);
    CHECK(Effort{3, 10, 1000}.fit(1e9) == 3);
    CHECK(Effort{77, 10, 0}.fit(1e9) == 77);
}

TEST_CASE("a ping-pong is sampled each time after its warm-up, a stream as a whole")
{
    Counted pingpong(false);
    const Row each = measure(pingpong, 8, Effort{20, 10, 0});
    CHECK(pingpong.asked == std::vector<uint32_t>{10, 20});
    CHECK(pingpong.exchanges == 30);
    CHECK(each.times.count() == 20);
    CHECK(each.kind == Throughput::end_to_end);

    Counted stream(true);
    const Row whole = measure(stream, 8, Effort{20, 10, 0});
    CHECK(stream.asked == std::vector<uint32_t>{3, 3, 4, 4, 4, 4, 4, 4});
    CHECK(stream.exchanges == 8);
    CHECK(whole.iterations == 20);
    CHECK(whole.times.count() == 5);
    CHECK(whole.kind == Throughput::transmission);

    Counted longer(true);
    CHECK(measure(longer, 8, Effort{1280, 10, 0}).times.count() == 10); // 128 messages each
    CHECK(measure(longer, 8, Effort{1000000, 10, 0}).times.count() == 25);
    Counted unbroken(true);
    const Row stretches = measure(unbroken, 8, Effort{65535, 10, 0, true});
    CHECK(stretches.times.count() == 3);
    CHECK(std::vector(unbroken.asked.end() - 3, unbroken.asked.end()) == std::vector<uint32_t>(3, 65535));
}

namespace {

/// A message that comes whether anybody looks or not, a time after it was asked for; or only while somebody
/// waits.
class Coming : public Overlapped {
public:
    Coming(double us, bool by_itself) : us_(us), by_itself_(by_itself) {}
    void prepare(uint64_t, uint32_t iterations) override { asked.push_back(iterations); }
    void start() override { end_ns_ = now_ns() + static_cast<uint64_t>(us_ * 1000); }
    bool look() override { return by_itself_ && now_ns() >= end_ns_; }
    void finish() override
    {
        if (!by_itself_)
            start();
        while (now_ns() < end_ns_) {
        }
    }
    std::vector<uint32_t> asked;

private:
    double us_;
    bool by_itself_;
    uint64_t end_ns_ = 0;
};

} // namespace

TEST_CASE("work during a message that comes by itself hides its time, other work adds to it")
{
    Coming by_itself(500, true), only_while_waiting(500, false);
    const auto hidden = measure_overlap(by_itself, 1000, Effort{9, 3, 0});
    const auto added = measure_overlap(only_while_waiting, 1000, Effort{9, 3, 0});
    CHECK(by_itself.asked == std::vector<uint32_t>{3, 9, 9, 9, 9, 9});
    REQUIRE(hidden.size() == 5);
    REQUIRE(added.size() == 5);
    for (std::size_t i = 0; i < 5; i++) {
        CHECK(hidden[i].length == 1000);
        CHECK(hidden[i].elapsed_us >= 500);
        CHECK(added[i].elapsed_us >= 500);
        CHECK(added[i].there == 0);
        CHECK(hidden[i].share == Approx(hidden[i].work_us / hidden[i].elapsed_us));
        CHECK(hidden[i].throughput() == Approx(1000 / hidden[i].elapsed_us));
    }
    CHECK(hidden[0].work_us == 0);
    CHECK(hidden[4].work_us >= 2000);
    CHECK(hidden[4].there == 1);
}

TEST_CASE("a single altered byte is found at its place, and another message's contents too")
{
    Buffer buffer(1001, 2, false);
    fill(buffer.at(0), 1001, 7);
    CHECK_FALSE(find_damage(buffer.at(0), 1001, 7));
    for (const uint32_t place : {0u, 7u, 8u, 500u, 1000u}) {
        buffer.at(0)[place] ^= std::byte{0x10};
        CHECK(find_damage(buffer.at(0), 1001, 7) == place);
        buffer.at(0)[place] ^= std::byte{0x10};
    }
    CHECK(find_damage(buffer.at(0), 1001, 8));
    CHECK_FALSE(find_damage(buffer.at(0), 0, 8));
}

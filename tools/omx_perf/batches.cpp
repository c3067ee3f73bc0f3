// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Batches of messages with work in between: both sides' loop, and printing.
#include "batches.hpp"

#include "traffic.hpp"
#include "work.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace emx::perf {

namespace {

constexpr double parts_of_batch[] = {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20};

/// The body of go: the work of each loop, in nanoseconds.
struct WorkMessage {
    emx_be64 work_ns;
};

struct LoopTimes {
    Distribution loop, send, receive, wait;

    void finish()
    {
        for (Distribution *times : {&loop, &send, &receive, &wait})
            times->finish();
    }
};

/// One side's loops.
class Batches {
public:
    Batches(Session &session, mx_endpoint_addr_t peer, uint32_t length, bool aligned)
        : session_(session), peer_(peer), length_(length), out_(length, 1, aligned),
          in_(length, batch_messages, aligned)
    {
    }

    LoopTimes run(uint32_t loops, double work_us)
    {
        const uint64_t steps = work_.steps(work_us);
        LoopTimes times;
        for (uint32_t i = 0; i < loops; i++)
            loop(steps, times);
        times.finish();
        return times;
    }

private:
    void loop(uint64_t steps, LoopTimes &times)
    {
        const uint64_t began = now_ns();
        for (uint32_t i = 0; i < batch_messages; i++)
            receives_[i] = session_.receive(in_.at(i), length_, match_of(Word::data));
        const uint64_t received = now_ns();
        for (mx_request_t &send : sends_)
            send = session_.send(peer_, out_.at(0), length_, match_of(Word::data), false);
        const uint64_t sent = now_ns();
        work_.run(steps);
        const uint64_t worked = now_ns();
        for (mx_request_t &receive : receives_)
            session_.wait(receive);
        for (mx_request_t &send : sends_)
            session_.wait(send);
        const uint64_t over = now_ns();
        times.receive.add(static_cast<double>(received - began) / 1000);
        times.send.add(static_cast<double>(sent - received) / 1000);
        times.wait.add(static_cast<double>(over - worked) / 1000);
        times.loop.add(static_cast<double>(over - began) / 1000);
    }

    Session &session_;
    mx_endpoint_addr_t peer_;
    uint32_t length_;
    Buffer out_, in_;
    Work work_;
    std::array<mx_request_t, batch_messages> sends_, receives_;
};

} // namespace

BatchRow BatchesClient::measure_work(BatchRow row)
{
    Batches batches(session_, server_, static_cast<uint32_t>(row.length), aligned_);
    ask_for_step(session_, server_, row.length, row.loops, plan_);
    tell(session_, server_, Word::go, WorkMessage{emx_put64(std::llround(row.work_us * 1000))});
    const LoopTimes times = batches.run(row.loops, row.work_us);
    row.loop_us = times.loop.median();
    row.least_us = times.loop.min();
    row.send_us = times.send.median();
    row.receive_us = times.receive.median();
    row.wait_us = times.wait.median();
    return row;
}

std::vector<BatchRow> BatchesClient::measure(uint64_t length, const Effort &effort)
{
    BatchRow plain;
    plain.length = length;
    plain.loops = std::max(effort.warmup, 1u);
    // An interrupted loop would make the work many times as long as the messages take.
    const double alone_us = measure_work(plain).least_us;
    std::vector<BatchRow> rows;
    for (const double part : parts_of_batch) {
        BatchRow row = plain;
        row.work_us = part * alone_us;
        row.loops = effort.fit(alone_us + row.work_us);
        rows.push_back(measure_work(row));
    }
    return rows;
}

void BatchesClient::end()
{
    tell(session_, server_, Word::step, StepMessage{});
    take<DoneMessage>(session_, Word::bye);
}

void serve_batches(Session &session, mx_endpoint_addr_t client, const Traffic::Shape &shape)
{
    Batches batches(session, client, shape.length, shape.aligned);
    tell(session, client, Word::ready, DoneMessage{});
    const auto work = take<WorkMessage>(session, Word::go);
    batches.run(shape.iterations, static_cast<double>(emx_get64(work.work_ns)) / 1000);
}

void BatchesReport::begin(const Report::Settings &settings)
{
    sheet_.begin("of a batch of five messages each way, with work in between", settings);
}

void BatchesReport::row(const BatchRow &r)
{
    if (sheet_.format() == Format::table)
        std::printf(
            "length %8llu: work %9.1f us  batch %9.1f us  %9.2f MB/s both ways; posting sends %7.2f us, "
            "receives %7.2f us, waiting %9.2f us\n",
            static_cast<unsigned long long>(r.length), r.work_us, r.loop_us, r.throughput(), r.send_us,
            r.receive_us, r.wait_us);
    sheet_.row({{"bytes", static_cast<double>(r.length)},
                {"count", static_cast<double>(r.loops)},
                {"work_us", r.work_us, 3},
                {"loop_us", r.loop_us, 3},
                {"isend_us", r.send_us, 3},
                {"irecv_us", r.receive_us, 3},
                {"wait_us", r.wait_us, 3},
                {"MB_s", r.throughput(), 3}});
}

} // namespace emx::perf

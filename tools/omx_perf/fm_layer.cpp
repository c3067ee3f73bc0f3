// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fast Messages by the method of its authors (FM 1.x, 1995): time per message in a stream of many, and one
// way of a message by ping-pongs, from the send to the return of a nearly empty handler. A job of two nodes.
//
//   omx_perf_fm whole|streams COUNT TRIALS LENGTH...
//
// Node 0 prints "what,bytes,count,us", a stream's (the best of three) and a latency's line for each length.
// "whole" are messages of FM 1.1, "streams" those of FM 2.x in one piece.
#include "../cli.hpp"
#include "series.hpp"

#include <fm.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using emx::cli::Failure;

enum Id : ULONG { stream_id = 1, whole_id, answer_id, step_id };
constexpr ULONG length_max = 1 << 20, warm_up = 200;

/// Task of node 1: after `expected` messages it answers, with a message of the same length or a word.
struct Step {
    ULONG length = 0, expected = 0, same_length = 0, whole = 0;
};

Step step;
ULONG got = 0, answers = 0;
bool over = false;
std::vector<char> buffer(length_max);

int take_stream(FM_stream *stream, unsigned)
{
    FM_receive(buffer.data(), stream, step.length);
    got++;
    return FM_CONTINUE;
}

int take_whole(void *, unsigned, unsigned)
{
    got++;
    return FM_CONTINUE;
}

int take_answer(void *, unsigned, unsigned)
{
    answers++;
    return FM_CONTINUE;
}

int take_step(void *data, unsigned, unsigned)
{
    const auto *words = static_cast<const ULONG *>(data);
    step = {words[0], words[1], words[2], words[3]};
    over = step.expected == 0;
    got = 0;
    return FM_CONTINUE;
}

void check_room()
{
    if (FM_errno != FM_E_FULL && FM_errno != FM_E_BUSY)
        throw Failure(FM_strerror(FM_errno));
    FM_extract(FM_ALL);
}

void words(ULONG to, Id id, const Step &s)
{
    while (FM_send_4(to, id, s.length, s.expected, s.same_length, s.whole) < 0)
        check_room();
}

void send(ULONG to, ULONG length, bool whole)
{
    if (whole) {
        while (FM_send(to, whole_id, buffer.data(), length) < 0)
            check_room();
        return;
    }
    FM_stream *stream;
    while (!(stream = FM_begin_message(to, length, stream_id)))
        check_room();
    FM_send_piece(stream, buffer.data(), length);
    FM_end_message(stream);
}

/// Microseconds a message of a stream, until the answer to all is here.
double stream_time(ULONG length, ULONG count, bool whole)
{
    words(1, step_id, {length, count, 0, whole});
    const ULONG before = answers;
    const uint64_t began = emx::perf::now_ns();
    for (ULONG i = 0; i < count; i++)
        send(1, length, whole);
    while (answers == before)
        FM_extract(FM_ALL);
    return static_cast<double>(emx::perf::now_ns() - began) / 1e3 / count;
}

/// Microseconds one way, the mean of `trials` ping-pongs.
double one_way(ULONG length, ULONG trials, bool whole)
{
    step.length = length; // of what comes back
    words(1, step_id, {length, 1, 1, whole});
    const uint64_t began = emx::perf::now_ns();
    for (ULONG i = 0; i < trials; i++) {
        const ULONG before = got;
        send(1, length, whole);
        while (got == before)
            FM_extract(FM_ALL);
    }
    return static_cast<double>(emx::perf::now_ns() - began) / 2e3 / trials;
}

void measure(const std::vector<ULONG> &lengths, ULONG count, ULONG trials, bool whole)
{
    std::printf("what,bytes,count,us\n");
    for (const ULONG length : lengths) {
        stream_time(length, std::min(count, warm_up), whole);
        double best = stream_time(length, count, whole);
        for (int again = 0; again < 2; again++)
            best = std::min(best, stream_time(length, count, whole));
        std::printf("stream,%u,%u,%.4f\n", unsigned{length}, unsigned{count}, best);
        one_way(length, std::min(trials, warm_up), whole);
        std::printf("latency,%u,%u,%.4f\n", unsigned{length}, unsigned{trials},
                    one_way(length, trials, whole));
        std::fflush(stdout);
    }
    words(1, step_id, {});
}

void serve()
{
    while (!over) {
        FM_extract(FM_ALL);
        if (got == 0 || got < step.expected)
            continue;
        got = 0;
        if (step.same_length)
            send(0, step.length, step.whole);
        else
            words(0, answer_id, step);
    }
}

int body(int argc, char **argv)
{
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 4 || (words[0] != "whole" && words[0] != "streams"))
        throw Failure("usage: omx_perf_fm whole|streams COUNT TRIALS LENGTH...");
    std::vector<ULONG> numbers;
    for (std::size_t i = 1; i < words.size(); i++)
        numbers.push_back(static_cast<ULONG>(
            emx::cli::parse_number("COUNT, TRIALS or LENGTH", words[i], i < 3 ? 1u << 30 : length_max)));
    if (numbers[0] == 0 || numbers[1] == 0)
        throw Failure("COUNT and TRIALS are 1 at least");
    FM_register_handler(stream_id, take_stream);
    FM_register_handler_1(whole_id, take_whole);
    FM_register_handler_1(answer_id, take_answer);
    FM_register_handler_1(step_id, take_step);
    FM_initialize();
    if (FM_numnodes != 2)
        throw Failure("omx_perf_fm is a job of two nodes: see fm(3) on FM_HOSTS");
    if (FM_nodeid == 0)
        measure({numbers.begin() + 2, numbers.end()}, numbers[0], numbers[1], words[0] == "whole");
    else
        serve();
    FM_finalize();
    return 0;
}

} // namespace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, body); }

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Options of omx_perf.
#include "options.hpp"

#include "../cli.hpp"

namespace emx::perf {

namespace {

/// Flags that become a pattern once all options are read.
struct PatternFlags {
    bool one_way = false;
    bool both = false;
    bool transmission_too = false;
    bool overlap = false;
    bool batches = false;
};

void add_where(cli::Parser &parser, Options &o)
{
    parser.text('d', "dest", "server's name, or MAC address: client mode", o.peer);
    parser.number('b', "board", "local board (0)", o.board);
    parser.option('e', "endpoint", "N", "local endpoint (server 0, client any)", [&o](std::string_view text) {
        o.endpoint = static_cast<uint32_t>(cli::parse_number("--endpoint", text, 255));
        o.any_endpoint = false;
    });
    parser.number('r', "remote", "the server's endpoint (0)", o.remote_endpoint, 255);
    parser.flag('s', "slave", "take the peer's parameters over", o.slave);
    parser.flag('k', "keep", "server: stay for further clients", o.keep);
    parser.flag(0, "open-mx", "speak the dialogue of Open-MX's omx_perf (client: found out by itself)",
                o.open_mx);
    parser.number(0, "patience", "seconds to wait for the server (10), and for a message (60 at least)",
                  o.patience_s, 86400);
}

void add_series(cli::Parser &parser, Plan &p)
{
    parser.size('S', "start", "first length (0)", p.lengths.from);
    parser.size('E', "end", "end of the lengths, exclusive (4194305)", p.lengths.to);
    parser.size('M', "multiply", "next length: times this (2)", p.lengths.multiply, "N");
    parser.size('I', "increment", "next length: plus this (0)", p.lengths.add);
    parser.number('W', "warmup", "warm-up iterations (10)", p.effort.warmup, 1000000);
    parser.number('P', "pause", "milliseconds between lengths (100)", p.pause_ms, 60000);
    parser.flag(0, "stretch", "with -U or -x: all iterations of a length in one stretch, three times",
                p.effort.one_stretch);
}

void add_how(cli::Parser &parser, Options &o, PatternFlags &flags)
{
    parser.flag('U', "unidirectional", "stream one way instead of a ping-pong", flags.one_way);
    parser.flag('x', "both", "stream both ways at once", flags.both);
    parser.flag('G', "gamma", "ping-pong, then a one-way stream: end-to-end beside transmission throughput",
                flags.transmission_too);
    parser.flag('O', "overlap",
                "work while a message comes: throughput against the share of the processor left for it",
                flags.overlap);
    parser.flag(0, "batches",
                "five messages each way at a time, work between posting and waiting for them: times of each",
                flags.batches);
    parser.flag('Y', "sync", "synchronous sends", o.plan.synchronous);
    parser.flag('a', "aligned", "buffers aligned to pages", o.aligned);
    parser.flag('w', "wait", "block instead of spinning", o.blocking);
    parser.flag('y', "yield", "give the core away between two looks", o.yield);
    parser.flag('V', "verify", "fill and check every message; times include it", o.plan.verify);
    parser.flag('D', "distribution", "quantiles and a histogram for every length", o.distribution);
    parser.flag('v', "verbose", "tell the lengths and iterations, too", o.verbose);
}

} // namespace

Options read_options(int argc, char **argv)
{
    Options o;
    o.any_endpoint = true;
    PatternFlags flags;
    bool count_given = false;
    uint32_t count = 0;
    cli::Parser parser(
        "[-d HOST] [options]",
        "Measures latency and throughput between two hosts. Start it without -d on the server;\n"
        "the client, with -d, tells the server everything else.");
    add_where(parser, o);
    parser.option(0, "report", "FOLDER",
                  "measure between two hosts made on this machine, and write a report there",
                  [&o](std::string_view text) {
                      if (text.empty())
                          throw cli::Failure("--report wants the name of a folder");
                      o.report = text;
                  });
    parser.flag(0, "quick", "with --report: a quick look, whose figures only show that all works", o.quick);
    add_series(parser, o.plan);
    parser.option('N', "iterations", "N", "iterations per length (at most 1000 within --time)",
                  [&](std::string_view text) {
                      count = static_cast<uint32_t>(cli::parse_number("--iterations", text, 1u << 30));
                      if (count == 0)
                          throw cli::Failure("--iterations 0 measures nothing: give a number from 1");
                      count_given = true;
                  });
    parser.option(
        'T', "time", "MS", "time per length: iterations adapt to it (1000)", [&](std::string_view text) {
            o.plan.effort.budget_ms = static_cast<uint32_t>(cli::parse_number("--time", text, 3600000));
            o.time_given = true;
        });
    add_how(parser, o, flags);
    parser.option('F', "format", "FORMAT", "table, csv or json (table)",
                  [&](std::string_view text) { o.format = parse_format(text); });
    const auto rest = parser.parse(argc, argv);
    if (!rest.empty())
        throw cli::Failure("\"" + rest.front() + "\" is no option; the server's name follows -d");
    if (flags.one_way + flags.both + flags.transmission_too + flags.overlap + flags.batches > 1)
        throw cli::Failure("-U, -x, -G, -O and --batches exclude each other");
    if (!o.report.empty() && !o.peer.empty())
        throw cli::Failure("--report makes its own two hosts: leave -d out");
    if (o.quick && o.report.empty())
        throw cli::Failure("--quick is for --report FOLDER");
    if (o.plan.effort.one_stretch && !flags.one_way && !flags.both)
        throw cli::Failure("--stretch is for streams: give -U or -x, too");
    if (flags.batches && o.plan.verify)
        throw cli::Failure("-V has nothing to check with --batches, whose messages all carry the same");
    if ((flags.overlap || flags.batches) && o.distribution)
        throw cli::Failure(
            "-D has nothing to show with -O and --batches: its rows are medians of few samples");
    o.plan.transmission_too = flags.transmission_too;
    o.plan.pattern = flags.one_way   ? Pattern::stream
                     : flags.both    ? Pattern::both
                     : flags.overlap ? Pattern::overlap
                     : flags.batches ? Pattern::batches
                                     : Pattern::pingpong;
    if (count_given) {
        o.plan.effort.iterations = count;
        if (!o.time_given)
            o.plan.effort.budget_ms = 0; // exactly as many as asked for
    } else if (o.time_given) {
        o.plan.effort.iterations = 1000000;
    }
    if (o.peer.empty() && o.any_endpoint)
        o.any_endpoint = false; // the server's default is endpoint 0
    o.plan.lengths.check();
    return o;
}

std::string quantity_of(const Plan &plan)
{
    if (plan.transmission_too)
        return "half round trip (end to end), and time per message of a one-way stream (transmission)";
    switch (plan.pattern) {
    case Pattern::stream: return "time per message of a one-way stream (transmission)";
    case Pattern::both: return "time per message of streams both ways (transmission)";
    default: return "half round trip (end to end)";
    }
}

std::string describe(const Plan &plan)
{
    const Lengths &l = plan.lengths;
    const Effort &e = plan.effort;
    std::string text = "lengths " + std::to_string(l.from) + " to " + std::to_string(l.to - 1) + ", times " +
                       std::to_string(l.multiply) + " plus " + std::to_string(l.add) + "; " +
                       (e.budget_ms ? "at most " : "") + std::to_string(e.iterations) + " iterations";
    if (e.budget_ms)
        text += " in " + std::to_string(e.budget_ms) + " ms";
    return text + ", " + std::to_string(e.warmup) + " before";
}

} // namespace emx::perf

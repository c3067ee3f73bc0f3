// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_perf: latency and throughput of MX messages between two hosts.
#include "../cli.hpp"
#include "batches.hpp"
#include "dialogue.hpp"
#include "launch_report.hpp"
#include "open_mx.hpp"
#include "overlap_mx.hpp"
#include "provenance.hpp"

#include "driver/base/printable.hpp"

#include <cstdio>
#include <unistd.h>

namespace emx::perf {
namespace {

constexpr int exit_altered = 2; // as mx_pingpong

Waiting waiting_of(const Options &o)
{
    return o.blocking ? Waiting::block : o.yield ? Waiting::yield : Waiting::spin;
}

void serve_clients(const Options &o)
{
    Session session(o.board, o.endpoint, waiting_of(o), o.open_mx ? open_mx_key : Session::usual_key);
    session.set_patience(o.patience_s);
    std::printf("omx_perf: opened %s; waiting for a client%s\n", session.describe().c_str(),
                o.open_mx ? " of Open-MX" : " (--open-mx: for one of Open-MX)");
    std::fflush(stdout);
    try {
        do
            o.open_mx ? serve_open_mx(session) : serve(session, o.plan, o.aligned);
        while (o.keep);
    } catch (const cli::Failure &failure) {
        if (!o.keep)
            throw;
        std::fprintf(stderr, "omx_perf: %s\n", printable(failure.what()).c_str());
    }
}

int run_server(const Options &o)
{
    do // what a failed client left of receives goes with its endpoint
        serve_clients(o);
    while (o.keep);
    return 0;
}

Report::Settings settings_of(const Options &o, const Session &session)
{
    const char *waits[] = {"spinning", "yielding", "blocking"};
    Report::Settings settings{{"local", session.describe()},
                              {"peer", o.peer},
                              {"waiting", waits[static_cast<int>(waiting_of(o))]},
                              {"sends", o.plan.synchronous ? "synchronous" : "standard"},
                              {"verified", o.plan.verify ? "yes" : "no"}};
    if (o.verbose)
        settings.emplace_back("series", describe(o.plan));
    return settings;
}

/// Tables are for people, and bear no such facts.
Provenance provenance_for(const Options &o)
{
    return o.format == Format::table ? Provenance{} : provenance_of(o.board);
}

void measure_length(OpenMxSender &sender, const Plan &plan, uint64_t length, Report &report,
                    Progress &progress)
{
    Row row = measure(sender, length, plan.effort);
    progress.clear();
    report.row(std::move(row));
}

/// One row, or two when the stream is wanted beside the ping-pong.
void measure_length(Client &client, const Plan &plan, uint64_t length, Report &report, Progress &progress)
{
    std::vector<Pattern> patterns{plan.pattern};
    if (plan.transmission_too)
        patterns.push_back(Pattern::stream);
    for (const Pattern pattern : patterns) {
        client.choose(pattern);
        Row row = measure(client, length, plan.effort);
        progress.clear();
        report.row(std::move(row));
    }
}

template <typename Side>
void measure_all(Side &side, const Plan &plan, Report &report)
{
    Progress progress(plan.lengths.count());
    for (uint64_t length = plan.lengths.from; length < plan.lengths.to; length = plan.lengths.next(length)) {
        progress.step(length);
        measure_length(side, plan, length, report, progress);
        usleep(plan.pause_ms * 1000);
    }
}

/// The number of messages that arrived altered.
uint32_t run_exchange(Session &session, mx_endpoint_addr_t server, const Options &o)
{
    Client client(session, server, o.plan, o.aligned);
    Report report(o.format, o.distribution, o.plan.transmission_too, provenance_for(o));
    report.begin(quantity_of(o.plan), settings_of(o, session));
    measure_all(client, o.plan, report);
    const uint32_t altered = client.finish();
    report.end();
    return altered;
}

uint32_t run_overlap(Session &session, mx_endpoint_addr_t server, const Options &o)
{
    OverlapClient client(session, server, o.plan, o.aligned);
    OverlapReport report(o.format, provenance_for(o));
    report.begin(settings_of(o, session));
    const Lengths &lengths = o.plan.lengths;
    for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length)) {
        for (const OverlapRow &row : measure_overlap(client, length, o.plan.effort))
            report.row(row);
        usleep(o.plan.pause_ms * 1000);
    }
    const uint32_t altered = client.end();
    report.end();
    return altered;
}

uint32_t run_batches(Session &session, mx_endpoint_addr_t server, const Options &o)
{
    BatchesClient client(session, server, o.plan, o.aligned);
    BatchesReport report(o.format, provenance_for(o));
    report.begin(settings_of(o, session));
    const Lengths &lengths = o.plan.lengths;
    for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length)) {
        for (const BatchRow &row : client.measure(length, o.plan.effort))
            report.row(row);
    }
    client.end();
    report.end();
    return 0;
}

/// With Open-MX's omx_perf, or ours with --open-mx.
void run_open_mx(const Options &o)
{
    const OpenMxTerms terms = open_mx_terms(o);
    Session session(o.board, o.any_endpoint ? MX_ANY_ENDPOINT : o.endpoint, waiting_of(o), open_mx_key);
    session.set_patience(o.patience_s);
    const uint64_t nic_id = session.resolve(o.peer, o.patience_s);
    OpenMxSender sender(session, session.connect(nic_id, o.remote_endpoint, o.patience_s), terms);
    Report report(o.format, o.distribution, false, provenance_for(o));
    Report::Settings settings = settings_of(o, session);
    settings.emplace_back("dialogue", "Open-MX's");
    report.begin(terms.one_way() ? "time of a message and its empty answer" : quantity_of(terms.plan),
                 settings);
    measure_all(sender, terms.plan, report);
    report.end();
}

int run_client(Options o)
{
    Session session(o.board, o.any_endpoint ? MX_ANY_ENDPOINT : o.endpoint, waiting_of(o));
    session.set_patience(o.patience_s);
    const uint64_t nic_id = session.resolve(o.peer, o.patience_s);
    const mx_endpoint_addr_t server = session.connect(nic_id, o.remote_endpoint, o.patience_s);
    tell(session, server, Word::hello, encode(o.plan));
    const Plan theirs = decode(take<PlanMessage>(session, Word::welcome));
    if (o.slave)
        o.plan = theirs;
    const auto run = o.plan.pattern == Pattern::overlap   ? run_overlap
                     : o.plan.pattern == Pattern::batches ? run_batches
                                                          : run_exchange;
    const uint32_t altered = run(session, server, o);
    if (altered)
        throw cli::Failure(std::to_string(altered) + " messages arrived altered", exit_altered);
    return 0;
}

int body(int argc, char **argv)
{
    const Options o = read_options(argc, argv);
    if (!o.report.empty())
        launch_report(o.report, o.quick);
    if (o.peer.empty())
        return run_server(o);
    if (!o.open_mx) {
        try {
            return run_client(o);
        } catch (const WrongKey &) { // Open-MX's omx_perf has another one
        }
    }
    try {
        run_open_mx(o);
    } catch (const WrongKey &failure) {
        throw cli::Failure(std::string(failure.what()) +
                           ": neither omx_perf of EtherMX nor of Open-MX is there" +
                           (o.open_mx ? " with --open-mx" : ""));
    }
    return 0;
}

} // namespace
} // namespace emx::perf

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::perf::body); }

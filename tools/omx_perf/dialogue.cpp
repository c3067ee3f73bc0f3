// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client and server of omx_perf.
#include "dialogue.hpp"

#include "../cli.hpp"
#include "batches.hpp"
#include "overlap_mx.hpp"
#include "traffic.hpp"

#include <algorithm>

namespace emx::perf {

namespace {

constexpr uint32_t flag_synchronous = 1;
constexpr uint32_t flag_verify = 2;
constexpr uint32_t flag_transmission_too = 4;
constexpr uint64_t stream_memory = 64 << 20;

uint32_t flags_of(const Plan &plan)
{
    return (plan.synchronous ? flag_synchronous : 0) | (plan.verify ? flag_verify : 0) |
           (plan.transmission_too ? flag_transmission_too : 0);
}

Pattern pattern_of(uint32_t value)
{
    if (value > static_cast<uint32_t>(Pattern::batches))
        throw cli::Failure(
            "the client asks for something this omx_perf does not know; use the same version on both hosts");
    return static_cast<Pattern>(value);
}

Traffic::Shape shape_of(uint64_t length, uint32_t iterations, Pattern pattern, uint32_t flags, bool aligned,
                        bool client)
{
    return {static_cast<uint32_t>(length),
            iterations,
            pattern == Pattern::pingpong ? 1 : window_of(length),
            (flags & flag_synchronous) != 0,
            (flags & flag_verify) != 0,
            aligned,
            client,
            pattern == Pattern::pingpong};
}

} // namespace

PlanMessage encode(const Plan &plan)
{
    const Lengths &l = plan.lengths;
    const Effort &e = plan.effort;
    return {
        emx_put64(l.from),        emx_put64(l.to),          emx_put64(l.multiply),
        emx_put64(l.add),         emx_put32(e.iterations),  emx_put32(e.warmup),
        emx_put32(e.budget_ms),   emx_put32(plan.pause_ms), emx_put32(static_cast<uint32_t>(plan.pattern)),
        emx_put32(flags_of(plan))};
}

Plan decode(const PlanMessage &m)
{
    Plan plan;
    plan.lengths = {emx_get64(m.from), emx_get64(m.to), emx_get64(m.multiply), emx_get64(m.add)};
    plan.lengths.check();
    plan.effort = {emx_get32(m.iterations), emx_get32(m.warmup), emx_get32(m.budget_ms)};
    plan.pause_ms = emx_get32(m.pause_ms);
    plan.pattern = pattern_of(emx_get32(m.pattern));
    plan.synchronous = emx_get32(m.flags) & flag_synchronous;
    plan.verify = emx_get32(m.flags) & flag_verify;
    plan.transmission_too = emx_get32(m.flags) & flag_transmission_too;
    return plan;
}

uint32_t window_of(uint64_t length)
{
    return static_cast<uint32_t>(std::clamp<uint64_t>(stream_memory / std::max<uint64_t>(length, 1), 2, 32));
}

void ask_for_step(Session &session, mx_endpoint_addr_t server, uint64_t length, uint32_t iterations,
                  const Plan &plan)
{
    tell(session, server, Word::step,
         StepMessage{emx_put64(length), emx_put32(iterations), emx_put32(static_cast<uint32_t>(plan.pattern)),
                     emx_put32(flags_of(plan))});
    take<DoneMessage>(session, Word::ready);
}

Client::Client(Session &session, mx_endpoint_addr_t server, const Plan &plan, bool aligned)
    : session_(session), server_(server), plan_(plan), aligned_(aligned)
{
}

Client::~Client() = default;

void Client::prepare(uint64_t length, uint32_t iterations)
{
    if (traffic_)
        altered_ += traffic_->altered();
    traffic_ = std::make_unique<Traffic>(
        session_, server_, shape_of(length, iterations, plan_.pattern, flags_of(plan_), aligned_, true));
    done_ = 0;
    if (plan_.pattern == Pattern::both)
        traffic_->post_window();
    ask_for_step(session_, server_, length, iterations, plan_);
}

void Client::exchange()
{
    switch (plan_.pattern) {
    case Pattern::pingpong: traffic_->ping(done_++); return;
    case Pattern::stream: traffic_->send_all(); break;
    case Pattern::both: traffic_->send_and_receive_all(); break;
    case Pattern::overlap: // OverlapClient's
    case Pattern::batches: break; // BatchesClient's
    }
    take<DoneMessage>(session_, Word::done);
}

uint32_t Client::finish()
{
    if (traffic_)
        altered_ += traffic_->altered();
    traffic_.reset();
    tell(session_, server_, Word::step, StepMessage{});
    return altered_ + emx_get32(take<DoneMessage>(session_, Word::bye).altered);
}

namespace {

/// One step of the server; messages that came altered.
uint32_t serve_step(Session &session, mx_endpoint_addr_t client, const StepMessage &step, bool aligned)
{
    const Pattern pattern = pattern_of(emx_get32(step.pattern));
    const Traffic::Shape shape = shape_of(emx_get64(step.length), emx_get32(step.iterations), pattern,
                                          emx_get32(step.flags), aligned, false);
    if (pattern == Pattern::overlap) {
        serve_overlap(session, client, shape);
        return 0;
    }
    if (pattern == Pattern::batches) {
        serve_batches(session, client, shape);
        return 0;
    }
    Traffic traffic(session, client, shape);
    if (pattern == Pattern::pingpong)
        traffic.post_first();
    else
        traffic.post_window();
    tell(session, client, Word::ready, DoneMessage{});
    switch (pattern) {
    case Pattern::pingpong: traffic.pong_all(); return traffic.altered();
    case Pattern::stream: traffic.receive_all(); break;
    case Pattern::both: traffic.send_and_receive_all(); break;
    case Pattern::overlap:
    case Pattern::batches: break;
    }
    tell(session, client, Word::done, DoneMessage{});
    return traffic.altered();
}

} // namespace

void serve(Session &session, const Plan &own_plan, bool aligned)
{
    mx_endpoint_addr_t client;
    decode(take<PlanMessage>(session, Word::hello, &client, 0)); // refuses what it cannot do
    session.set_peer(client);
    tell(session, client, Word::welcome, encode(own_plan));
    uint32_t altered = 0;
    for (;;) {
        const auto step = take<StepMessage>(session, Word::step);
        if (emx_get32(step.iterations) == 0)
            break;
        altered += serve_step(session, client, step, aligned);
    }
    tell(session, client, Word::bye, DoneMessage{emx_put32(altered), {}});
}

} // namespace emx::perf

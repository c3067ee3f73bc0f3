// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sender and receiver of Open-MX's dialogue.
#include "open_mx.hpp"

#include "../cli.hpp"

#include <algorithm>

namespace emx::perf {

namespace {

OpenMxLong put_long(uint64_t value)
{
    return {emx_put32(static_cast<uint32_t>(value)), emx_put32(static_cast<uint32_t>(value >> 32))};
}

uint64_t get_long(const OpenMxLong &value)
{
    return emx_get32(value.low) | static_cast<uint64_t>(emx_get32(value.high)) << 32;
}

/// Both sides make the series by themselves: its lengths must be those of Open-MX, and end.
void check_lengths(const Lengths &lengths)
{
    lengths.check();
    if (lengths.to - 1 > UINT32_MAX)
        throw cli::Failure("a message of Open-MX has at most 4 GiB - 1: give a lower end (-E)");
    for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length))
        if (length != 0 && length * lengths.multiply + lengths.add <= length)
            throw cli::Failure("Open-MX's series of lengths would not end: give -M or -I");
}

void expect(const mx_status_t &status, uint32_t length)
{
    if (status.msg_length != length)
        throw cli::Failure("a message of " + std::to_string(status.msg_length) + " bytes came instead of " +
                           std::to_string(length) + ": the peer does not speak Open-MX's dialogue");
}

mx_request_t receive_any(Session &session, void *data, uint32_t length)
{
    return session.receive(data, length, 0, 0);
}

} // namespace

OpenMxTerms open_mx_terms(const Options &options)
{
    OpenMxTerms terms{options.plan, options.aligned};
    Plan &plan = terms.plan;
    const bool other_pattern = plan.pattern != Pattern::pingpong && plan.pattern != Pattern::stream;
    if (other_pattern || plan.transmission_too || plan.verify || options.slave || options.time_given ||
        plan.effort.one_stretch)
        throw cli::Failure("Open-MX's omx_perf knows no -x, -G, -O, -V, -s and -T, nor --batches and "
                           "--stretch: leave them out");
    plan.effort.budget_ms = 0; // both sides count
    plan.effort.warmup = std::max(plan.effort.warmup, 1u);
    check_lengths(plan.lengths);
    return terms;
}

OpenMxParameters encode(const OpenMxTerms &terms)
{
    const Lengths &l = terms.plan.lengths;
    const Effort &e = terms.plan.effort;
    return {emx_put32(e.iterations), emx_put32(e.warmup),
            put_long(l.from),        put_long(l.to),
            put_long(l.multiply),    put_long(l.add),
            terms.aligned,           terms.one_way(),
            terms.plan.synchronous,  0};
}

OpenMxTerms decode(const OpenMxParameters &p)
{
    OpenMxTerms terms;
    terms.plan.lengths = {get_long(p.from), get_long(p.to), get_long(p.multiply), get_long(p.add)};
    terms.plan.effort = {emx_get32(p.iterations), emx_get32(p.warmup), 0};
    terms.plan.pattern = p.one_way ? Pattern::stream : Pattern::pingpong;
    terms.plan.synchronous = p.synchronous != 0;
    terms.aligned = p.aligned != 0;
    check_lengths(terms.plan.lengths);
    return terms;
}

OpenMxSender::OpenMxSender(Session &session, mx_endpoint_addr_t receiver, const OpenMxTerms &terms)
    : session_(session), receiver_(receiver), terms_(terms)
{
    OpenMxParameters parameters = encode(terms);
    uint8_t nothing = 0;
    mx_request_t answer = receive_any(session, &nothing, sizeof nothing);
    mx_request_t told = session.send(receiver, &parameters, sizeof parameters, open_mx_match, true);
    session.wait(told);
    expect(session.wait(answer), 0);
}

void OpenMxSender::prepare(uint64_t length, uint32_t /*iterations*/)
{
    buffer_.emplace(static_cast<uint32_t>(length), 1, terms_.aligned);
}

void OpenMxSender::exchange()
{
    const uint32_t length = buffer_->length();
    mx_request_t sent =
        session_.send(receiver_, buffer_->at(0), length, open_mx_match, terms_.plan.synchronous);
    mx_request_t answer = receive_any(session_, buffer_->at(0), length);
    session_.wait(sent);
    expect(session_.wait(answer), terms_.one_way() ? 0 : length);
}

namespace {

/// All messages of one length.
void serve_length(Session &session, mx_endpoint_addr_t sender, const OpenMxTerms &terms, uint32_t length)
{
    Buffer buffer(length, 1, terms.aligned);
    for (uint64_t left = terms.exchanges(); left > 0; left--) {
        mx_request_t request = receive_any(session, buffer.at(0), length);
        expect(session.wait(request), length);
        mx_request_t answer = session.send(sender, buffer.at(0), terms.one_way() ? 0 : length, open_mx_match,
                                           terms.plan.synchronous);
        session.wait(answer);
    }
}

} // namespace

void serve_open_mx(Session &session)
{
    OpenMxParameters parameters{};
    mx_request_t request = receive_any(session, &parameters, sizeof parameters);
    const mx_status_t status = session.wait(request, 0);
    expect(status, sizeof parameters);
    const OpenMxTerms terms = decode(parameters);
    uint64_t nic_id = 0;
    uint32_t endpoint = 0;
    check(mx_decompose_endpoint_addr(status.source, &nic_id, &endpoint), "whence the parameters come");
    const mx_endpoint_addr_t sender = session.connect(nic_id, endpoint, 10);
    uint8_t nothing = 0;
    mx_request_t answer = session.send(sender, &nothing, 0, 0, true);
    session.wait(answer);
    const Lengths &lengths = terms.plan.lengths;
    for (uint64_t length = lengths.from; length < lengths.to; length = lengths.next(length))
        serve_length(session, sender, terms, static_cast<uint32_t>(length));
}

} // namespace emx::perf

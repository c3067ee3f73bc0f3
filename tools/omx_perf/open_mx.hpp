// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The dialogue of Open-MX's omx_perf, so that one of our hosts can be measured against one of theirs.
//
//   sender (our client)               receiver (our server)
//   parameters, synchronous     -->
//                               <--   nothing, synchronous
//   a message of each length    -->
//                               <--   the same back, or nothing in one direction
//
// Both endpoints have another key than those of our own dialogue. Each receive takes any message: one is
// under way at a time. The sender ends without a word.
#pragma once

#include "options.hpp"
#include "payload.hpp"
#include "session.hpp"

#include <emx/wire.h>

#include <optional>

namespace emx::perf {

constexpr uint32_t open_mx_key = 0x12345678;
constexpr uint64_t open_mx_match = 0x1234567887654321;

/// A 64-bit number: two in network byte order, the low half first.
struct OpenMxLong {
    emx_be32 low, high;
};

/// Parameters that the sender tells, in that order.
struct OpenMxParameters {
    emx_be32 iterations, warmup;
    OpenMxLong from, to, multiply, add;
    uint8_t aligned, one_way, synchronous, padding;
};
static_assert(sizeof(OpenMxParameters) == 44);

/// Terms of a measurement that this dialogue can tell; Pattern::stream is one direction with an answer to
/// each message.
struct OpenMxTerms {
    Plan plan;
    bool aligned = false;

    bool one_way() const { return plan.pattern == Pattern::stream; }
    uint64_t exchanges() const { return uint64_t{plan.effort.iterations} + plan.effort.warmup; }
};

/// The options in that dialogue; a Failure names those that it does not know.
OpenMxTerms open_mx_terms(const Options &options);
OpenMxParameters encode(const OpenMxTerms &terms);
/// A Failure when the series would not end or a length is beyond 4 GiB - 1.
OpenMxTerms decode(const OpenMxParameters &parameters);

/// The sender, which has told the parameters once it is constructed. prepare() must get the lengths and
/// counts that they say.
class OpenMxSender : public Exchange {
public:
    OpenMxSender(Session &session, mx_endpoint_addr_t receiver, const OpenMxTerms &terms);
    void prepare(uint64_t length, uint32_t iterations) override;
    void exchange() override;
    double ways() const override { return terms_.one_way() ? 1 : 2; }

private:
    Session &session_;
    mx_endpoint_addr_t receiver_;
    OpenMxTerms terms_;
    std::optional<Buffer> buffer_;
};

/// The receiver: serves one sender, to its last message.
void serve_open_mx(Session &session);

} // namespace emx::perf

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A series of message lengths and the measuring loop over it, the same for every transport that
// is compared: MX, raw frames and TCP.
#pragma once

#include "distribution.hpp"

#include <cstdint>
#include <functional>

namespace emx::perf {

/// Lengths `from` (first) to below `to`, each the last times `multiply` plus `add`; 0 is followed by 1.
struct Lengths {
    uint64_t from = 0;
    uint64_t to = 4194305;
    uint64_t multiply = 2;
    uint64_t add = 0;

    uint64_t next(uint64_t length) const;
    /// Throws cli::Failure when the series would not end or holds nothing.
    void check() const;
    uint32_t count() const;
};

/// The effort for one length.
struct Effort {
    uint32_t iterations = 1000; ///< most
    uint32_t warmup = 10;
    uint32_t budget_ms = 1000; ///< per length; 0 = exactly `iterations`
    bool one_stretch = false; ///< all iterations of a stream are one sample, of which there are three

    /// Iterations that fit into the budget when one takes `us` (at least 5, so that a median means
    /// something).
    uint32_t fit(double us) const;
};

/// The active side of one exchange pattern.
class Exchange {
public:
    virtual ~Exchange() = default;
    /// Agrees with the peer on `iterations` exchanges of `length` bytes.
    virtual void prepare(uint64_t length, uint32_t iterations) = 0;
    /// One exchange: there and back. Or `iterations` messages, when whole() says so.
    virtual void exchange() = 0;
    /// True when one exchange() call moves all iterations of prepare() (streams).
    virtual bool whole() const { return false; }
    /// Messages' ways that one round trip counts: 2 for a ping-pong (half is reported).
    virtual double ways() const { return 2; }
    /// Messages moved at the same time by both directions, for the throughput.
    virtual double directions() const { return 1; }
};

/// The meaning of length over time in a row (the GAMMA project's terms): over the delay that one
/// message has from end to end, or over the time from one message to the next in a stream.
enum class Throughput { end_to_end, transmission };

struct Row {
    uint64_t length = 0;
    Throughput kind = Throughput::end_to_end;
    uint32_t iterations = 0;
    double directions = 1;
    Distribution times; ///< microseconds for one message in one direction

    /// Megabytes (10^6) a second, by the median.
    double throughput() const;
};

uint64_t now_ns();

/// Measures one length: a warm-up that also tells how many iterations fit, then the samples.
Row measure(Exchange &exchange, uint64_t length, const Effort &effort);

} // namespace emx::perf

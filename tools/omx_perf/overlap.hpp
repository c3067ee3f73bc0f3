// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Measures the share of the processor that a program keeps for itself while a message arrives: the
// post-work-wait method, throughput against the share of the processor left to user code (Shivam, Wyckoff,
// Panda, "EMP: Zero-copy OS-bypass NIC-driven Gigabit Ethernet message passing", SC 2001).
#pragma once

#include "report.hpp"
#include "series.hpp"

#include <cstdint>
#include <vector>

namespace emx::perf {

/// The receiving side of one transport.
class Overlapped {
public:
    virtual ~Overlapped() = default;
    /// Agrees with the peer on `iterations` messages of `length` bytes.
    virtual void prepare(uint64_t length, uint32_t iterations) = 0;
    /// Asks the peer for a message; returns as soon as it is under way.
    virtual void start() = 0;
    /// One look, which does not wait: whether all of it is here.
    virtual bool look() = 0;
    /// Waits for the rest, and checks what came.
    virtual void finish() = 0;
};

/// One length with one stretch of work.
struct OverlapRow {
    uint64_t length = 0;
    uint32_t iterations = 0;
    double work_us = 0; ///< what the work takes when nothing else happens
    double elapsed_us = 0; ///< median, from asking for the message to having it with the work done
    double share = 0; ///< of the processor's time for the work: work_us / elapsed_us
    double there = 0; ///< share of the messages that the first look after the work found complete

    /// Megabytes (10^6) a second.
    double throughput() const { return elapsed_us > 0 ? static_cast<double>(length) / elapsed_us : 0; }
};

/// Rows for no work, and for work of half, one, two and four times the message's own time.
std::vector<OverlapRow> measure_overlap(Overlapped &side, uint64_t length, const Effort &effort);

/// Prints the rows as they come.
class OverlapReport {
public:
    explicit OverlapReport(Format format, Provenance provenance = {}) : sheet_(format, std::move(provenance))
    {
    }
    void begin(const Report::Settings &settings);
    void row(const OverlapRow &row);
    void end() { sheet_.end(); }

private:
    Sheet sheet_;
};

} // namespace emx::perf

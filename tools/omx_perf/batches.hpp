// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Batches of five messages each way with work between posting them and waiting for them: where the time of
// communication goes, and throughput against the share of the processor for the program's own work (Shivam,
// Wyckoff, Panda, "EMP: Zero-copy OS-bypass NIC-driven Gigabit Ethernet message passing", SC 2001).
#pragma once

#include "dialogue.hpp"
#include "report.hpp"
#include "traffic.hpp"

#include <vector>

namespace emx::perf {

constexpr uint32_t batch_messages = 5;

/// One length with one stretch of work: medians over loops, microseconds of a whole batch.
struct BatchRow {
    uint64_t length = 0;
    uint32_t loops = 0;
    double work_us = 0; ///< what the work takes when nothing else happens
    double loop_us = 0;
    double least_us = 0; ///< the shortest loop
    double send_us = 0; ///< in posting the sends
    double receive_us = 0; ///< in posting the receives
    double wait_us = 0;

    /// Megabytes (10^6) a second, both ways together.
    double throughput() const
    {
        return loop_us > 0 ? 2 * batch_messages * static_cast<double>(length) / loop_us : 0;
    }
};

/// The client; the server does the same loop.
class BatchesClient {
public:
    BatchesClient(Session &session, mx_endpoint_addr_t server, const Plan &plan, bool aligned)
        : session_(session), server_(server), plan_(plan), aligned_(aligned)
    {
    }
    /// Rows for no work, and for work of up to 20 times a batch's own time.
    std::vector<BatchRow> measure(uint64_t length, const Effort &effort);
    /// Says bye.
    void end();

private:
    BatchRow measure_work(BatchRow row);

    Session &session_;
    mx_endpoint_addr_t server_;
    Plan plan_;
    bool aligned_;
};

/// Serves one step of it, as serve_overlap() does.
void serve_batches(Session &session, mx_endpoint_addr_t client, const Traffic::Shape &shape);

/// Prints the rows as they come.
class BatchesReport {
public:
    explicit BatchesReport(Format format, Provenance provenance = {}) : sheet_(format, std::move(provenance))
    {
    }
    void begin(const Report::Settings &settings);
    void row(const BatchRow &row);
    void end() { sheet_.end(); }

private:
    Sheet sheet_;
};

} // namespace emx::perf

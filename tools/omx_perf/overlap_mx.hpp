// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Overlap over MX: the client asks for each message and works while it comes.
#pragma once

#include "dialogue.hpp"
#include "overlap.hpp"
#include "payload.hpp"
#include "traffic.hpp"

#include <optional>

namespace emx::perf {

/// The client. A message counts as under way when an empty one that was sent after it has come: MX keeps the
/// order, so its receive is matched, and the pull of a large message asked for.
class OverlapClient : public Overlapped {
public:
    OverlapClient(Session &session, mx_endpoint_addr_t server, const Plan &plan, bool aligned)
        : session_(session), server_(server), plan_(plan), aligned_(aligned)
    {
    }
    void prepare(uint64_t length, uint32_t iterations) override;
    void start() override;
    bool look() override;
    void finish() override;
    /// Says bye; the number of messages that arrived altered.
    uint32_t end();

private:
    Session &session_;
    mx_endpoint_addr_t server_;
    Plan plan_;
    bool aligned_;
    std::optional<Buffer> buffer_;
    uint32_t number_ = 0;
    uint32_t altered_ = 0;
    mx_request_t request_ = nullptr; ///< nullptr: complete
};

/// The server's side of one step: messages as they are asked for.
void serve_overlap(Session &session, mx_endpoint_addr_t client, const Traffic::Shape &shape);

} // namespace emx::perf

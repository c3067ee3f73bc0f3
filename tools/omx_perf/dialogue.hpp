// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages between client and server of omx_perf beside the measured ones.
//
//   client                            server
//   hello (its plan)            -->
//                               <--   welcome (its own plan, which a slave takes over)
//   step (length, iterations)   -->
//                               <--   ready (receives are posted)
//   measured messages           <->   by the pattern; of an overlap for each message:
//     go                        -->
//                               <--     data, under_way
//                                       of batches a go with the work, then data both ways
//                               <--   done (streams only; altered messages so far)
//   bye                         -->
//                               <--   done
#pragma once

#include "options.hpp"
#include "session.hpp"

#include <emx/wire.h>

#include <memory>

namespace emx::perf {

enum class Word : uint64_t { hello = 1, welcome, step, ready, done, bye, data, go, under_way };

constexpr uint64_t match_of(Word word)
{
    return static_cast<uint64_t>(word) << 56 | 0x656d78; // "emx"
}

/// A plan in network byte order.
struct PlanMessage {
    emx_be64 from, to, multiply, add;
    emx_be32 iterations, warmup, budget_ms, pause_ms, pattern, flags;
};
PlanMessage encode(const Plan &plan);
Plan decode(const PlanMessage &message);

/// Client to server: what comes next. iterations 0: nothing, the end.
struct StepMessage {
    emx_be64 length;
    emx_be32 iterations, pattern, flags;
};

/// Server to client.
struct DoneMessage {
    emx_be32 altered;
    emx_be32 reserved;
};

/// The body of go and under_way. One byte, since the language knows no smaller object.
struct Nothing {
    uint8_t nothing;
};

/// Receives one control message of a fixed type; Failure when its size is another's.
template <typename Message>
Message take(Session &session, Word word, mx_endpoint_addr_t *from = nullptr, uint32_t limit_s = 60)
{
    Message message{};
    mx_request_t request = session.receive(&message, sizeof message, match_of(word));
    const mx_status_t status = session.wait(request, limit_s);
    if (from)
        *from = status.source;
    return message;
}

template <typename Message>
void tell(Session &session, mx_endpoint_addr_t to, Word word, Message message)
{
    mx_request_t request = session.send(to, &message, sizeof message, match_of(word), false);
    session.wait(request);
}

/// Client: tells the server what comes next, and returns when it is ready.
void ask_for_step(Session &session, mx_endpoint_addr_t server, uint64_t length, uint32_t iterations,
                  const Plan &plan);

/// Messages in flight of a stream: as many as fit into 64 MiB, 2 to 32.
uint32_t window_of(uint64_t length);

class Traffic;

/// The active side; every pattern is an Exchange for measure().
class Client : public Exchange {
public:
    Client(Session &session, mx_endpoint_addr_t server, const Plan &plan, bool aligned);
    ~Client() override;
    void prepare(uint64_t length, uint32_t iterations) override;
    void exchange() override;
    bool whole() const override { return plan_.pattern != Pattern::pingpong; }
    double directions() const override { return plan_.pattern == Pattern::both ? 2 : 1; }
    /// Sets the pattern that the next prepare() is about.
    void choose(Pattern pattern) { plan_.pattern = pattern; }
    /// Says bye; the number of messages that arrived altered, on either side.
    uint32_t finish();

private:
    Session &session_;
    mx_endpoint_addr_t server_;
    Plan plan_;
    bool aligned_;
    uint32_t done_ = 0;
    uint32_t altered_ = 0;
    std::unique_ptr<Traffic> traffic_;
};

/// Serves one client from hello to bye. Returns after the client's end.
void serve(Session &session, const Plan &own_plan, bool aligned);

} // namespace emx::perf

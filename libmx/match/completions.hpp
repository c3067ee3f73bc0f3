// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests that ended: those that the program has not asked for yet, failures that it will never ask for,
// and the deadlines by which those under way end.
#pragma once

#include "driver/base/probe.hpp"
#include "libmx/indexed_fifo.hpp"
#include "libmx/request.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace emx {

/// Not thread-safe (the endpoint's lock). The requests are the pool's, which outlives it.
class Completions {
public:
    explicit Completions(RequestPool &requests) : requests_(requests) {}

    /// Ends a request with that mx_status_code_t. One that was forgotten is released.
    void complete(Request *request, int code);
    /// The same, inlined where each message comes by.
    [[gnu::always_inline]] void complete_inline(Request *request, int code)
    {
        request->complete = true;
        request->code = code;
        ++count_;
        EMX_PROBE(5, completed, request, static_cast<uint8_t>(request->kind), code, request->xfer_length,
                  request->match);
        if (request->expires_ns) [[unlikely]]
            clear_deadline(request);
        if (request->forgotten) [[unlikely]]
            return complete_forgotten(request, code);
        if (!request->hidden) [[likely]]
            done_.push_back(request);
    }
    /// Takes a finished request out of those that are asked for.
    void remove(Request *request)
    {
        if (!request->hidden) [[likely]]
            done_.remove(request);
    }
    /// Its handle is in nobody's hands any more: it goes when it is finished.
    void forget(Request *request);
    /// The oldest finished request with (bits & mask) == info; or nullptr.
    Request *find(uint64_t info, uint64_t mask) { return done_.find(info, mask); }
    Request *oldest() const { return done_.front(); }
    /// Requests that ended until now.
    uint64_t count() const { return count_; }

    /// Notes a failure that nobody will ask about, for the error handler.
    void lose(int code) { lost_.push_back(code); }
    bool any_lost() const { return !lost_.empty(); }
    std::vector<int> take_lost() { return std::exchange(lost_, {}); }

    /// Time limit in ns of requests posted from now on; 0: the partner's.
    void set_default_budget(uint64_t ns) { default_budget_ns_ = ns; }
    uint64_t default_budget_ns() const { return default_budget_ns_; }
    /// The request ends at that time of the device at the latest.
    void set_deadline(Request *request, uint64_t time_ns)
    {
        request->expires_ns = time_ns;
        ++timed_;
    }
    void clear_deadline(Request *request)
    {
        if (request->expires_ns) [[unlikely]]
            --timed_;
        request->expires_ns = 0;
    }
    bool any_deadline() const { return timed_ != 0; }

private:
    [[gnu::cold, gnu::noinline]] void complete_forgotten(Request *request, int code);

    uint64_t count_ = 0;
    uint64_t default_budget_ns_ = 0;
    std::vector<int> lost_; ///< status codes for the error handler
    IndexedFifo<Request, &Request::done_hook, &Request::match> done_;
    RequestPool &requests_;
    uint32_t timed_ = 0; ///< requests with a deadline of their own
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests that end: see completions.hpp.
#include "libmx/match/completions.hpp"

#include "driver/base/probe.hpp"

namespace emx {

void Completions::complete(Request *request, int code)
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

void Completions::complete_forgotten(Request *request, int code)
{
    if (code != MX_STATUS_SUCCESS)
        lose(code);
    requests_.release(request);
}

void Completions::forget(Request *request)
{
    if (!request->complete) {
        request->forgotten = true;
        return;
    }
    done_.remove(request);
    if (is_failure(request->code))
        lose(request->code);
    requests_.release(request);
}

} // namespace emx

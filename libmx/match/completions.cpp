// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests that end: see completions.hpp.
#include "libmx/match/completions.hpp"

namespace emx {

void Completions::complete(Request *request, int code) { complete_inline(request, code); }

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

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The gate of an endpoint: see gate.hpp.
#include "libmx/progress/gate.hpp"

#include "driver/base/system_calls.hpp"

namespace emx {

void Gate::disable(std::unique_lock<Lock> &lock)
{
    if (inside_handler())
        return;
    const sys::Uncancelled here;
    closed_ |= by_program;
    ++slot_.users;
    while (handler_runs() && !is_ending())
        slot_.changed.wait(lock);
    --slot_.users;
    slot_.changed.notify_all();
}

bool Gate::enable()
{
    const bool was = closed_ & by_program;
    closed_ &= static_cast<uint8_t>(~by_program);
    return was;
}

void Gate::begin_linger()
{
    phase_ = Phase::lingering;
    closed_ &= static_cast<uint8_t>(~by_program);
}

} // namespace emx

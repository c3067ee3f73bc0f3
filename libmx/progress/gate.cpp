// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The gate of an endpoint: see gate.hpp.
#include "libmx/progress/gate.hpp"

#include "driver/base/system_calls.hpp"

#include <utility>

namespace emx {

void Gate::disable(std::unique_lock<Lock> &lock)
{
    if (inside_handler())
        return;
    const sys::Uncancelled here;
    disabled_ = true;
    ++slot_.users;
    while (in_handler_ && !is_ending())
        slot_.changed.wait(lock);
    --slot_.users;
    slot_.changed.notify_all();
}

bool Gate::enable() { return std::exchange(disabled_, false); }

void Gate::begin_linger()
{
    phase_ = Phase::lingering;
    disabled_ = false;
}

} // namespace emx

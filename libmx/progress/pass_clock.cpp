// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The clock of progress passes: see pass_clock.hpp.
#include "libmx/progress/pass_clock.hpp"

namespace emx {

bool PassClock::is_behind(bool found)
{
    if (!found || behind_ == passes_behind_max) {
        behind_ = 0;
        return false;
    }
    behind_++;
    hurry();
    return true;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Patience of a process that waits for frames: as long as it has a processor for itself it looks again and
// again, and where others want the processor it sleeps after a few looks.
//
// To yield the processor is not enough there: Linux (EEVDF) lets one that yields go on to the end of its turn
// of some milliseconds when it has had its part, so that all wait for those who have nothing to do.
#pragma once

#include <cstdint>

namespace emx::cast {

/// Belongs to one thread. Reads clocks of the system; not for the simulator, whose processes take no time.
class Patience {
public:
    /// Something came: waiting begins anew.
    void was_busy()
    {
        looks_ = 0;
        since_ns_ = 0;
    }
    /// A look in vain. True: sleep, until something comes.
    bool may_sleep();
    /// Others wanted the processor lately.
    bool is_crowded() const { return crowded_; }

private:
    bool measure(uint64_t wall_ns) const;

    uint32_t looks_ = 0;
    bool crowded_ = false;
    uint64_t crowded_until_ns_ = 0;
    uint64_t since_ns_ = 0; ///< waiting began; 0: not yet
    uint64_t cpu_ns_ = 0, wall_ns_ = 0; ///< at the first of these looks
};

} // namespace emx::cast

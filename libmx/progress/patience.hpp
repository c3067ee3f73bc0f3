// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Patience with a program that polls: after empty calls in a row it is given more looks at the device,
// and later the core to others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace emx {

/// Counts empty calls. Not thread-safe (the endpoint's lock).
class Patience {
public:
    static constexpr uint32_t waiting_calls = 3; ///< empty ones in a row, of a program that waits by asking
    static constexpr uint32_t between_yields = 8;
    // So many empty calls take about as long as a busy poll of a microsecond.
    static constexpr unsigned calls_per_us = 4;

    /// The program does nothing but ask.
    bool is_waiting() const { return empty_ >= waiting_calls; }
    /// A blocking call begins, which spins or sleeps at once.
    void begin_wait(bool spins) { empty_ = spins ? std::max(empty_, waiting_calls) : 0; }
    /// The call gave the program something.
    void found()
    {
        empty_ = 0;
        just_found_ = true;
    }
    /// True once after found(): a caller that was given something may ask for more before it acts.
    bool take_just_found() { return std::exchange(just_found_, false); }
    /// A call found nothing. True: so many did that others may have the core, if yields() agrees.
    bool asked_in_vain(uint32_t limit) { return ++empty_ >= limit && limit != 0; }
    /// False where a long message moves: on a busy machine a yield costs milliseconds. `limit`: the calls
    /// that are patience; `served`: returns how many frames of long messages went by until now.
    template <class Served>
    bool yields(uint32_t limit, Served served)
    {
        if (has_moved(served())) {
            empty_ = waiting_calls;
            return false;
        }
        empty_ -= std::min(between_yields, limit);
        return true;
    }
    /// A busy poll took so long in vain: it was time in which others could have had the core.
    void polled(unsigned us, uint32_t limit)
    {
        if (empty_ < limit)
            empty_ = std::min(empty_ + us * calls_per_us, limit);
    }
    /// Frames of long messages when a yield was considered last.
    uint64_t frames_seen() const { return frames_seen_; }

private:
    bool has_moved(uint64_t frames) { return std::exchange(frames_seen_, frames) != frames; }

    uint32_t empty_ = 0;
    bool just_found_ = false;
    uint64_t frames_seen_ = 0;
};

} // namespace emx

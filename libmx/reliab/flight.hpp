// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Bounds the eager frames under way to a partner: fewer after a loss, since the queue that drops them is one
// that others fill, too (docs/protocol.md, "Loss of eager messages").
#pragma once

#include "libmx/reliab/sequence.hpp"

#include <algorithm>

namespace emx {

struct Flight {
    static constexpr uint32_t least = 4;

    uint32_t limit = 0; ///< frames
    uint16_t most = 0; ///< what we would send and the receiver holds
    uint16_t at_once = 0; ///< frames up to which a message leaves as it is posted, without a look at others
    uint16_t hold_above = 0xffff; ///< beyond so many, short messages may wait for others
    uint16_t mark = 0; ///< while narrowed: the next change waits until all before this number is there

    /// Some were lost not long ago.
    bool narrowed() const { return limit < most; }
    void open(uint32_t frames)
    {
        limit = frames;
        most = static_cast<uint16_t>(frames);
        settle();
    }
    /// Short messages may wait for others from now on, while more than so many frames are under way.
    void hold_beyond(uint16_t frames)
    {
        hold_above = frames;
        settle();
    }
    /// The receiver holds no more.
    void bound(uint32_t frames)
    {
        most = static_cast<uint16_t>(std::min<uint32_t>(most, frames));
        limit = std::min<uint32_t>(limit, most);
        settle();
    }
    /// Notes that this number was lost, while `next` is not sent yet. Losses of one window count once.
    void halve(uint16_t lost, uint16_t next)
    {
        if (narrowed() && !reached(lost))
            return;
        limit = std::max(limit / 2, std::min<uint32_t>(least, most));
        mark = next;
        settle();
    }
    /// All before `oldest` is there, and there is more to send than may be sent.
    void widen(uint16_t oldest, uint16_t next)
    {
        if (!narrowed() || !reached(oldest))
            return;
        ++limit;
        mark = next;
        settle();
    }

private:
    void settle() { at_once = static_cast<uint16_t>(std::min<uint32_t>(limit, hold_above)); }
    bool reached(uint16_t number) const { return seq::distance(number, mark) <= seq::number_mask / 2; }
};

} // namespace emx

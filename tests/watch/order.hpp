// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The order in which frames of several taps are judged.
#pragma once

#include "judge.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace emx::watch {

/// Gives frames of taps to a judge, those that were sent first before others. What led to a frame was in its
/// ring when the frame was sent; but clocks of processors may differ, and then the frame looks older. So one
/// that seems wrong is held back, with all that its tap sent later, until it is right, or nothing else waits.
template <typename Tap>
class Order {
public:
    explicit Order(std::vector<Tap> &taps) : taps_(taps), held_(taps.size()) {}

    /// All that waits. judge(frame, tap, last): whether the frame is right, or need not be; with `last` it is
    /// not given again.
    template <typename Judge>
    void drain(Judge judge)
    {
        for (;;) {
            if (const int tap = earliest(); tap >= 0) {
                const auto i = static_cast<std::size_t>(tap);
                const uint64_t time = taps_[i].time_ns();
                taps_[i].take(frame_);
                if (judge(frame_, tap, false))
                    reconsider(judge);
                else
                    held_[i] = {time, frame_};
            } else if (!give_up(judge)) {
                return;
            }
        }
    }

private:
    struct Held {
        uint64_t time;
        Bytes frame;
    };

    /// The tap whose waiting frame was sent first, of those that hold none back; -1: none waits. A frame that
    /// comes meanwhile may be older than the one found: they are looked at again.
    int earliest() const
    {
        int first = -1;
        for (bool again = true; again;) {
            again = false;
            for (int i = 0; i < static_cast<int>(taps_.size()); i++) {
                const Tap &tap = taps_[static_cast<std::size_t>(i)];
                if (i == first || held_[static_cast<std::size_t>(i)] || !tap.ready() ||
                    (first >= 0 && tap.time_ns() >= taps_[static_cast<std::size_t>(first)].time_ns()))
                    continue;
                first = i;
                again = true;
            }
        }
        return first;
    }

    template <typename Judge>
    void reconsider(Judge judge)
    {
        for (bool again = true; again;) {
            again = false;
            for (std::size_t i = 0; i < held_.size(); i++) {
                if (!held_[i] || !judge(held_[i]->frame, static_cast<int>(i), false))
                    continue;
                held_[i].reset();
                again = true;
            }
        }
    }

    /// The oldest that is held back is wrong. False when there is none.
    template <typename Judge>
    bool give_up(Judge judge)
    {
        std::size_t oldest = held_.size();
        for (std::size_t i = 0; i < held_.size(); i++)
            if (held_[i] && (oldest == held_.size() || held_[i]->time < held_[oldest]->time))
                oldest = i;
        if (oldest == held_.size())
            return false;
        judge(held_[oldest]->frame, static_cast<int>(oldest), true);
        held_[oldest].reset();
        reconsider(judge);
        return true;
    }

    std::vector<Tap> &taps_;
    std::vector<std::optional<Held>> held_;
    Bytes frame_;
};

} // namespace emx::watch

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The round trip to a partner as its answers show it, and what is waited for by that measure
// (docs/protocol.md, "Loss of eager messages").
#pragma once

#include <algorithm>
#include <cstdint>

namespace emx {

/// Smoothed by an eighth. Questions and answers have counters, so repeats do not blur it.
class RoundTrip {
public:
    static constexpr uint32_t unknown_ns = 100000; ///< taken for the round trip until one is measured
    static constexpr uint32_t sample_max_ns = 1000000; ///< whoever takes longer computes: that is no distance
    static constexpr uint32_t lateness_min_ns = 100000;
    static constexpr uint32_t patience_min_ns = 300000;
    static constexpr uint32_t patience_max_ns = 50000000;

    uint32_t ns() const { return smoothed_ns_ ? smoothed_ns_ : unknown_ns; }
    void take(uint64_t sample_ns)
    {
        const auto sample = static_cast<uint32_t>(std::clamp<uint64_t>(sample_ns, 1, sample_max_ns));
        smoothed_ns_ = smoothed_ns_ ? smoothed_ns_ - smoothed_ns_ / 8 + sample / 8 : sample;
    }
    /// Overtaken by another after that time, a message is lost and not late.
    uint32_t lateness_ns() const { return std::max(ns() + ns() / 4, lateness_min_ns); }
    /// A question may overtake what was sent less than that before.
    uint32_t disorder_ns() const { return ns() / 2; }
    /// Silence of a partner that is worth a question.
    uint32_t patience_ns() const { return std::max(2 * ns(), patience_min_ns); }
    /// The same after so many questions, or repeats, in vain.
    uint32_t patience_ns(unsigned in_vain) const
    {
        return std::min(patience_ns() << std::min(in_vain, 8u), patience_max_ns);
    }

private:
    uint32_t smoothed_ns_ = 0;
};

/// The last question to a partner: a report with the wish for another.
struct Question {
    uint64_t sent_ns = 0; ///< what left before and is not in the answer is lost
    uint64_t since_ns = 0; ///< of it, or of a repeat since: the next one waits from here
    uint32_t counter = 0; ///< of its report; 0: answered, or none yet
    uint16_t oldest = 0; ///< number not acknowledged then
    unsigned in_vain = 0; ///< it and those before it, while nothing was acknowledged
};

} // namespace emx

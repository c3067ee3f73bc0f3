// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Judges whether a TCP connection repeats so much that other carriers cost less (docs/protocol.md, TCP).
#pragma once

#include <algorithm>
#include <cstdint>

namespace emx {

/// Watches one connection that sends. Not thread-safe.
///
/// Counts how often something is lost, not how much: one loss takes a segment, or the dozens that a virtual
/// link or a card's queue holds as one. A loss costs TCP half of what is under way, and sometimes a timer.
/// Where more than a quarter of the looks find one, frames are quicker (docs/performance/findings.md, Loss).
class TcpRepeats {
public:
    /// Packets are 32 KiB, or all of a shorter answer.
    static constexpr uint64_t packets_per_look = 16;

    /// Figures of the system (struct tcp_info).
    struct Told {
        uint32_t repeated = 0; ///< segments, from the first on
        uint32_t needless = 0; ///< of them, those that the receiver had already (D-SACK)
    };

    /// The system cannot be told to repeat soon, so that a timer costs more than a message.
    void expect_late_repeats() { lossy_look_ = lossy_look_late; }

    /// True when look() is due: that many packets were sent in all.
    bool is_due(uint64_t packets) const { return packets - packets_ >= packets_per_look; }
    /// Takes in what the system tells now. True: the connection is lossy.
    bool look(uint64_t packets, const Told &told)
    {
        // Where processors are crowded, acks come late and segments are repeated that were not lost. Their
        // receiver tells of them, perhaps after this look.
        const int64_t lost = int64_t{told.repeated} - told.needless;
        packets_ = packets;
        if (lost > lost_)
            faults_ += lossy_look_;
        else if (faults_ > 0)
            faults_--;
        lost_ = std::max(lost_, lost);
        return faults_ > faults_max;
    }

private:
    // With seven lossy looks more than clean ones make up for, three for each, a connection is lossy; with
    // two and few others in between where repeats are late.
    static constexpr uint32_t lossy_look = 3, lossy_look_late = 18, faults_max = 20;

    uint64_t packets_ = 0; ///< sent at the last look
    int64_t lost_ = 0; ///< most segments, as was told until then
    uint32_t faults_ = 0;
    uint32_t lossy_look_ = lossy_look;
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Judges whether a TCP connection repeats so much that other carriers cost less (docs/protocol.md, TCP).
#pragma once

#include <algorithm>
#include <cstdint>

namespace emx {

/// Watches one connection that sends. Not thread-safe.
class TcpRepeats {
public:
    static constexpr uint64_t packets_per_look = 64;
    /// Bytes of data in a packet, as engines ask for.
    static constexpr uint32_t packet_data = 32768;

    /// Figures of the system (struct tcp_info).
    struct Told {
        uint32_t repeated = 0; ///< segments, from the first on
        uint32_t needless = 0; ///< of them, those that the receiver had already (D-SACK)
        uint32_t segment = 0; ///< bytes of data in one
    };

    /// True when look() is due: that many packets were sent in all.
    bool is_due(uint64_t packets) const { return packets - packets_ >= packets_per_look; }
    /// Takes in what the system tells now. True: the connection is lossy.
    bool look(uint64_t packets, const Told &told)
    {
        // Where processors are crowded, acks come late and segments are repeated that were not lost. Their
        // receiver tells of them, perhaps after this look.
        const int64_t lost = int64_t{told.repeated} - told.needless;
        const int64_t more = std::max<int64_t>(0, lost - lost_);
        const uint64_t segments = (packets - packets_) * (packet_data / std::max(told.segment, 1u) + 1);
        lost_ = std::max(lost_, lost);
        packets_ = packets;
        if (static_cast<uint64_t>(more) * segments_per_loss > segments)
            faults_ += lossy_look;
        else if (faults_ > 0)
            faults_--;
        return faults_ > faults_max;
    }

private:
    // More than one segment lost in so many makes a look lossy; with the second such one, and few others in
    // between, so is the connection.
    static constexpr uint32_t segments_per_loss = 500;
    static constexpr uint32_t lossy_look = 16;
    static constexpr uint32_t faults_max = lossy_look + lossy_look / 2;

    uint64_t packets_ = 0; ///< sent at the last look
    int64_t lost_ = 0; ///< most segments, as was told until then
    uint32_t faults_ = 0;
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Judges every frame that one of our hosts sends, simulated or not: nothing may go out that the wire
// specification forbids or calls dangerous to other implementations. Independent of the core's own checks.
#pragma once

#include <driver/core/fw.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace emx::watch {

class WireChecker {
public:
    /// Checks a frame of a board with those sizes. The first violation is kept.
    void check(const fw_sizes &sizes, const std::vector<uint8_t> &frame);
    /// Empty, or what was wrong with the first bad frame, with its header in hex.
    const std::string &violation() const { return violation_; }
    /// Checks a frame likewise, and keeps nothing: what is wrong with it, or nothing.
    std::string judge(const fw_sizes &s, const std::vector<uint8_t> &f);

    /// From now on frames may come in another order than that in which they were sent: counters are not
    /// judged.
    void expect_disorder() { in_order_ = false; }

private:
    std::string judge_eager(const fw_sizes &s, const std::vector<uint8_t> &f);
    std::string judge_control(const std::vector<uint8_t> &f);
    std::string judge_host(const std::vector<uint8_t> &f);
    std::string judge_truc(const std::vector<uint8_t> &f);

    void note_session(const std::vector<uint8_t> &f);

    std::string violation_;
    bool in_order_ = true;
    /// (source board and endpoint, destination board and endpoint) -> session the source told
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> told_;
    /// (source board and endpoint, destination board and endpoint, session) -> last ack counter
    std::map<std::tuple<uint64_t, uint64_t, uint32_t>, uint32_t> ack_counters_;
};

} // namespace emx::watch

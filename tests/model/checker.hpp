// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Watches the frames of a network: refuses what may abort or crash an Open-MX host, what the strict
// reader refuses, and tags and sessions that nobody told the sender.
#pragma once

#include "frame.hpp"

#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace emx::model {

class Checker {
public:
    /// Judges a frame as it is sent, of which so many bytes are known; throws Violation.
    void sent(const Dialect &dialect, const Bytes &frame, size_t kept = SIZE_MAX);
    /// Notes what an unjudged sender's frame tells: its adverts and sessions are good from now on.
    void told(const Packet &packet);
    /// Sessions and tags can be judged no more: frames were altered on their way.
    void distrust() { trusting_ = false; }

private:
    void judge_tag(const Packet &packet, const Bytes &frame);
    void judge_session(const Packet &packet, const Bytes &frame);
    void judge_offer(const Packet &packet, const Bytes &frame) const;
    void judge_agreement(const Packet &packet, const Bytes &frame) const;
    void judge_length(const Packet &packet, const Bytes &frame) const;
    uint16_t longest(uint64_t receiver, uint64_t sender) const;

    bool trusting_ = true;
    std::map<std::pair<uint64_t, uint64_t>, std::set<uint16_t>> adverts_; ///< by teller and told
    std::map<std::pair<uint64_t, uint8_t>, std::set<uint32_t>> sessions_; ///< by board and endpoint
    using Way = std::tuple<uint64_t, uint8_t, uint64_t, uint8_t>; ///< boards and endpoints: from, to
    std::map<Way, std::set<uint32_t>> offers_; ///< sessions whose requests offered the extension, from asker
    std::map<Way, std::map<uint32_t, uint16_t>> agreements_; ///< sessions and features, to replier
    std::map<std::pair<uint64_t, uint64_t>, uint16_t> longest_; ///< longest frame offered, by teller and told
};

} // namespace emx::model

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Both checkers of the simulator over frames of real hosts, of whose boards only some things are known: which
// dialects they may have, and which senders are not ours.
#pragma once

#include "wirecheck.hpp"

#include <tests/model/checker.hpp>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace emx::watch {

using Bytes = std::vector<uint8_t>;

/// Only the first bytes of a frame are kept: all headers, names and short messages. What payloads hold is
/// nobody's business here.
inline constexpr uint32_t kept_bytes = 256;

struct Dialect {
    std::string name; ///< "W" or "N=SIZE"
    fw_sizes sizes;
    model::Dialect model;
};

/// Nothing if that is none.
std::optional<Dialect> dialect_of(const std::string &name);

/// "02:00:00:00:00:0a" as a number; nothing if that is none.
std::optional<uint64_t> mac_of(const std::string &text);

/// Names the danger if the frame makes an Open-MX host abort or crash (wire.md 2.3, 4.13, 6.3, 6.4, 9, 13),
/// whatever else is wrong with the frame: its name, or nothing.
std::string danger(const std::vector<Dialect> &dialects, const Bytes &frame);

class Judge {
public:
    /// A frame is right when it is right in one of these dialects.
    explicit Judge(std::vector<Dialect> dialects) : dialects_(std::move(dialects)) {}

    /// Frames with that source are judged, and of others none but those named so, too.
    void only(uint64_t mac) { ours_.insert(mac); }
    /// Frames with that source are not judged.
    void stranger(uint64_t mac) { strangers_.insert(mac); }
    /// Messages and pull requests for that endpoint are not judged: omx_check asks with them what a host is
    /// like, and nobody has that endpoint open.
    void spare(uint8_t endpoint) { spared_.insert(endpoint); }
    /// From now on only what is dangerous counts: the senders may do as they like.
    void only_dangers() { only_dangers_ = true; }
    /// Some frames are seen where they arrive, which need not be in the order of their sending.
    void expect_disorder() { by_core_.expect_disorder(); }
    /// Frames were missed: tags and sessions can be judged no more.
    void distrust();
    bool trusts() const { return trusts_; }

    bool is_judged(const Bytes &frame) const;
    /// Judges the next frame of a sender of ours: empty, or what is wrong with it. When it is wrong nothing
    /// is remembered of it, and it may be judged anew.
    std::string judge(const Bytes &frame);
    /// The next frame of somebody else: what it tells may be used.
    void overhear(const Bytes &frame);

private:
    std::string judge_as(const Dialect &dialect, const Bytes &frame);
    std::string judge_group(const Bytes &frame);
    bool is_spared(const Bytes &frame) const;

    const std::vector<Dialect> dialects_;
    std::set<uint64_t> ours_, strangers_;
    std::set<uint8_t> spared_;
    bool only_dangers_ = false, trusts_ = true;
    WireChecker by_core_;
    model::Checker by_specification_;
};

/// The bytes that were kept of a frame, in lines of 16.
std::string hex(const Bytes &frame);

} // namespace emx::watch

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See judge.hpp.
#include "judge.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace emx::watch {

namespace {

uint64_t source(const Bytes &frame)
{
    uint64_t mac = 0;
    for (size_t i = 6; i < 12; i++)
        mac = mac << 8 | frame[i];
    return mac;
}

uint64_t number(const Bytes &frame, size_t at, unsigned size)
{
    uint64_t value = 0;
    for (size_t i = at; i < at + size; i++)
        value = value << 8 | frame[i];
    return value;
}

/// A pull request that begins a whole frame or more behind its own first frame makes the replier send a huge
/// one. One of dialect W has nothing where one of N has its length.
bool skips_too_far(const std::vector<Dialect> &dialects, const Bytes &f)
{
    const bool native = number(f, 48, 8) != 0;
    const uint64_t skip = native ? number(f, 48, 4) : number(f, 40, 2);
    const auto allows = [&](const Dialect &d) { return d.model.native == native && skip < d.model.reply; };
    const auto has = [&](const Dialect &d) { return d.model.native == native; };
    return std::any_of(dialects.begin(), dialects.end(), has) &&
           std::none_of(dialects.begin(), dialects.end(), allows);
}

/// The rule that was broken, without the frame.
std::string rule_of(const model::Violation &violation)
{
    const std::string text = violation.what();
    return text.substr(0, text.find(":\n"));
}

} // namespace

std::optional<Dialect> dialect_of(const std::string &name)
{
    Dialect d{name, {}, {}};
    if (name == "W") {
        fw_sizes_w(&d.sizes);
        d.model = model::dialect_w();
        return d;
    }
    uint32_t size = 0;
    const char *end = name.data() + name.size();
    if (!name.starts_with("N="))
        return {};
    const auto [stop, error] = std::from_chars(name.data() + 2, end, size);
    if (error != std::errc() || stop != end || fw_sizes_n(&d.sizes, size))
        return {};
    d.model = model::dialect_n(size);
    return d;
}

std::optional<uint64_t> mac_of(const std::string &text)
{
    uint64_t mac = 0;
    if (text.size() != 17)
        return {};
    for (size_t i = 0; i < 17; i += 3) {
        uint8_t octet = 0;
        const char *at = text.data() + i;
        const auto [stop, error] = std::from_chars(at, at + 2, octet, 16);
        if (error != std::errc() || stop != at + 2 || (i < 15 && text[i + 2] != ':'))
            return {};
        mac = mac << 8 | octet;
    }
    return mac;
}

std::string danger(const std::vector<Dialect> &dialects, const Bytes &f)
{
    if (f.size() < EMX_FRAME_MIN)
        return "2.3: a frame below 60 bytes may crash the peer's kernel";
    const uint8_t name_length = f[17];
    switch (f[16]) {
    case model::raw:
        return f.size() > 64 ? "6.4: a RAW frame above 64 bytes overflows the peer's daemon" : "";
    case model::host_reply:
        return name_length < 1 || name_length > 80 || f.size() < 32u + name_length
                   ? "6.3: a name length of 0, above 80 or beyond the frame overwrites the peer's memory"
                   : "";
    case model::nack_lib:
        return f[19] < 1 || f[19] > 3 ? "4.13: another reason than 1, 2, 3 aborts the peer's process" : "";
    case model::nack_mcp:
        return f[19] < 1 || f[19] > 4 ? "4.13: 0 is taken for success, 5 and up abort the peer's process"
                                      : "";
    case model::medium: return f[42] > 31 ? "9: a fragment number above 31 makes the peer misbehave" : "";
    case model::pull:
        return skips_too_far(dialects, f) ? "13: a skip of a frame or more makes the replier send a huge one"
                                          : "";
    default: return "";
    }
}

bool Judge::is_judged(const Bytes &frame) const
{
    if (frame.size() < 12)
        return true;
    const uint64_t mac = source(frame);
    return strangers_.count(mac) == 0 && (ours_.empty() || ours_.count(mac) != 0);
}

bool Judge::is_spared(const Bytes &f) const
{
    return f.size() >= EMX_FRAME_MIN && (f[16] == model::tiny || f[16] == model::pull) &&
           spared_.count(f[17]) != 0;
}

void Judge::distrust()
{
    trusts_ = false;
    by_specification_.distrust();
}

std::string Judge::judge(const Bytes &frame)
{
    if (frame.size() >= EMX_FRAME_MIN && frame[16] == EMX_X_GROUP)
        return judge_group(frame);
    if (only_dangers_)
        return danger(dialects_, frame);
    if (is_spared(frame))
        return "";
    std::string all, first;
    bool alike = true;
    for (const Dialect &d : dialects_) {
        const std::string why = judge_as(d, frame);
        if (why.empty())
            return "";
        if (first.empty())
            first = why;
        alike = alike && why == first;
        all += (all.empty() ? "as " : "; as ") + d.name + ": " + why;
    }
    return alike ? first : all;
}

/// X GROUP, which is of any dialect, and which the core looks at by itself (driver/core/fw_group.h).
std::string Judge::judge_group(const Bytes &frame)
{
    try {
        by_specification_.sent(dialects_.front().model, frame, kept_bytes);
    } catch (const model::Violation &violation) {
        return rule_of(violation);
    }
    return "";
}

/// The specification first: its checker remembers only what is right, and the same of a frame that it sees
/// twice.
std::string Judge::judge_as(const Dialect &d, const Bytes &frame)
{
    try {
        by_specification_.sent(d.model, frame, kept_bytes);
    } catch (const model::Violation &violation) {
        return rule_of(violation);
    }
    return by_core_.judge(d.sizes, frame);
}

/// A host that breaks rules may have told anything.
void Judge::overhear(const Bytes &frame)
{
    for (const Dialect &d : dialects_)
        try {
            by_specification_.told(model::read_strictly(d.model, frame, kept_bytes));
            return;
        } catch (const model::Violation &) {
            continue;
        }
    distrust();
}

std::string hex(const Bytes &frame)
{
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(frame.size(), kept_bytes); i++) {
        char b[4];
        std::snprintf(b, sizeof b, "%02x%c", frame[i], i % 16 == 15 ? '\n' : ' ');
        text += b;
    }
    if (text.ends_with(' '))
        text.back() = '\n';
    return text;
}

} // namespace emx::watch

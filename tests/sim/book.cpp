// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The ledger's judgements. See book.hpp.
#include "book.hpp"

#include <algorithm>
#include <cstring>

namespace emx::sim {

namespace {

uint64_t word(uint64_t bits, uint64_t i)
{
    uint64_t w = (bits ^ (i * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
    return w ^ (w >> 32);
}

std::string show(const Name &n)
{
    return "message " + std::to_string(n.number) + " from " + std::to_string(n.from) + " to " +
           std::to_string(n.to);
}

} // namespace

void fill(std::byte *data, uint64_t bits, uint32_t length)
{
    for (uint32_t at = 0; at < length; at += 8) {
        uint64_t w = word(bits, at / 8);
        std::memcpy(data + at, &w, std::min<uint32_t>(8, length - at));
    }
}

uint32_t compare(const std::byte *data, uint64_t bits, uint32_t length)
{
    for (uint32_t at = 0; at < length; at += 8) {
        uint64_t w = word(bits, at / 8);
        if (std::memcmp(data + at, &w, std::min<uint32_t>(8, length - at)) != 0)
            return at;
    }
    return length;
}

void Book::complain(const std::string &what)
{
    if (complaint_.empty())
        complaint_ = what;
}

Name Book::post(uint32_t from, uint32_t to, uint8_t group, uint32_t length)
{
    Flow &f = flow(from, to);
    f.messages.push_back({length, group, false, false, 0});
    return {from, to, group, static_cast<uint32_t>(f.messages.size() - 1)};
}

void Book::send_ended(const Name &name, bool failed)
{
    Message &m = flow(name.from, name.to).messages[name.number];
    if (m.ended)
        complain(show(name) + ": the send ended twice");
    m.ended = true;
    m.failed = failed;
    if (failed && !hostile && !flow(name.from, name.to).broken)
        complain(show(name) + ": the send failed for no reason");
}

void Book::arrived(uint32_t at, uint64_t bits, const std::byte *data, uint32_t got, uint32_t told)
{
    if (hostile)
        return;
    Name n = Name::of(bits);
    auto it = flows_.find({n.from, n.to});
    if (n.to != at || it == flows_.end() || n.number >= it->second.messages.size()) {
        complain("process " + std::to_string(at) + " received what nobody sent to it");
        return;
    }
    Message &m = it->second.messages[n.number];
    if (m.group != n.group || told != m.length)
        complain(show(n) + ": length or match bits are wrong");
    if (++m.delivered > 1)
        complain(show(n) + ": delivered twice");
    if (data && got <= m.length) {
        uint32_t wrong = compare(data, bits, got);
        if (wrong != got)
            complain(show(n) + ": altered at byte " + std::to_string(wrong) + " of " +
                     std::to_string(m.length));
    }
}

void Book::took(uint32_t at, uint64_t bits, uint64_t post_order, uint64_t info, uint64_t mask)
{
    if (hostile)
        return;
    Name n = Name::of(bits);
    for (const Taken &t : taken_[at]) {
        Name o = Name::of(t.bits);
        if (o.from != n.from || (t.bits & mask) != info || (bits & t.mask) != t.info)
            continue; // the receives could not have had each other's message
        if ((t.post_order < post_order) != (o.number < n.number))
            complain(show(n) + " and number " + std::to_string(o.number) +
                     " were matched in the wrong order");
    }
    taken_[at].push_back({bits, post_order, info, mask});
}

void Book::break_flows(uint32_t actor)
{
    for (uint32_t other = 0; other < 32; other++)
        break_flows(actor, other);
}

void Book::break_flows(uint32_t a, uint32_t b)
{
    flow(a, b).broken = true;
    flow(b, a).broken = true;
}

bool Book::all_arrived(uint32_t to) const
{
    if (hostile)
        return true;
    for (auto &[pair, f] : flows_)
        if (pair.second == to && !f.broken)
            for (const Message &m : f.messages)
                if (!m.delivered && !m.failed)
                    return false;
    return true;
}

std::string Book::missing() const
{
    std::string s;
    for (auto &[pair, f] : flows_)
        for (size_t i = 0; i < f.messages.size() && s.size() < 400; i++)
            if (!f.broken && !f.messages[i].delivered && !f.messages[i].failed)
                s += "\n  " + show({pair.first, pair.second, 0, static_cast<uint32_t>(i)}) + " of " +
                     std::to_string(f.messages[i].length) + " bytes did not arrive";
    return s;
}

void Book::judge_end()
{
    if (!hostile && !missing().empty())
        complain("messages are missing:" + missing());
}

} // namespace emx::sim

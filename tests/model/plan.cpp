// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See plan.hpp.
#include "plan.hpp"

#include <algorithm>

namespace emx::model {

namespace {

constexpr struct {
    char letter;
    uint32_t size;
} dialects[] = {{'W', 0}, {'N', 9000}, {'N', 1500}};

} // namespace

Plan::Plan(uint64_t s) : seed(s)
{
    test::Rng rng(seed);
    auto &d = dialects[seed % 3];
    letter = d.letter;
    size = d.size;
    // Sizes that somebody may configure: the smallest, the largest, and those where fragments change (5.2).
    static constexpr uint32_t others[] = {256, 2000, 4144, 4145, 8239, 8240, 65535};
    if (seed % 9 == 2)
        size = others[seed / 9 % std::size(others)];
    dialect = letter == 'W' ? dialect_w() : dialect_n(size);
    host.dialect = letter;
    host.dialect_mtu = size;
    host.polled = rng.coin();
    // Less than a burst would starve: Open-MX repeats in the same order, from the first fragment on.
    host.ring_entries = rng.pick({128u, 256u, 1024u});
    host.rx_slots = rng.pick({128u, 512u, 512u});
    ours = rng.chance(250) ? 2 : 1;
    theirs = rng.chance(250) ? 2 : 1;
    messages = static_cast<uint32_t>(rng.pick({5u, 20u, 40u}));
    budget = seed % 25 == 0 ? 40u << 20 : 2u << 20;
    length_max = static_cast<uint32_t>(std::min<uint64_t>(budget, 1u << 24));
    outstanding = static_cast<uint32_t>(rng.range(1, 20));
    receives = static_cast<uint32_t>(rng.range(1, 12));
    synchronous_permille = rng.coin() ? 100 : 0;
    if (rng.chance(300))
        cut_permille = 100;
    style = rng.pick({Style::both, Style::both, Style::ours, Style::theirs});
    environment["EMX_SPIN_US"] = rng.coin() ? "0" : "5";
    if (rng.chance(300))
        environment["OMX_RNDV_THRESHOLD"] = rng.pick({"128", "1000", "4096", "8192"});
    draw_quirks(rng);
    draw_faults(rng);
    draw_failures(rng);
    draw_pin(rng);
    draw_partings(rng);
}

void Plan::draw_pin(test::Rng &rng)
{
    pinned = rng.chance(300);
    if (!pinned)
        return;
    auto &ours_speaks = dialects[(seed + 1 + rng.below(2)) % 3];
    host.dialect = ours_speaks.letter;
    host.dialect_mtu = ours_speaks.size;
}

void Plan::draw_partings(test::Rng &rng)
{
    if (ours + theirs > 2 || restarts() || rng.coin())
        return;
    partings = static_cast<uint32_t>(rng.range(1, 4));
    // One side sees the end of a cut that the other does not.
    const bool we_tire = rng.coin();
    environment["MX_MAX_RETRIES"] = we_tire ? "20" : "200";
    environment["MX_ZOMBIE_SEND"] = "0"; // a send that succeeds has arrived
    quirks.transmissions = we_tire ? 201 : 21;
    faults.reorder_delay = std::min<uint64_t>(faults.reorder_delay, 500 * us);
}

void Plan::draw_quirks(test::Rng &rng)
{
    quirks.garbage = rng.chance(800);
    if (rng.chance(200))
        quirks.unpadded = 100;
    if (rng.chance(300))
        quirks.trailing = 200;
    quirks.windows_unchecked = rng.coin();
    quirks.window_offsets = rng.coin();
    // Every offset from 0 to 4095 has its turn within a full run.
    quirks.window_offset = static_cast<uint32_t>(seed * 7 % 4096);
    quirks.odd_classes = rng.chance(300);
    quirks.notify_acks = rng.coin();
    if (rng.chance(150))
        quirks.failing_pulls = 200;
    if (rng.chance(300))
        quirks.threshold = static_cast<uint32_t>(rng.pick({129u, 1000u, 8192u}));
    if (rng.chance(200))
        quirks.queue = 32;
    index = static_cast<uint16_t>(rng.pick({0u, 1u, 3u, 1023u, 0xfffeu, 0xffffu}));
    named = rng.coin();
    if (rng.coin()) {
        away_permille = static_cast<uint32_t>(rng.pick({2u, 20u}));
        away_max = rng.pick({20 * ms, 400 * ms, 3 * sec});
    }
}

void Plan::draw_faults(test::Rng &rng)
{
    faults.latency = rng.range(1, 50) * us;
    if (rng.chance(700))
        faults.loss = static_cast<uint32_t>(rng.pick({5u, 20u, 50u, 50u}));
    if (rng.coin())
        faults.duplicate = static_cast<uint32_t>(rng.pick({5u, 50u}));
    if (rng.coin())
        faults.reorder = static_cast<uint32_t>(rng.pick({10u, 100u, 500u}));
    if (rng.coin())
        faults.jitter = rng.range(1, 100) * us;
    faults.reorder_delay = rng.pick({50 * us, 500 * us, 5 * ms, 600 * ms});
}

void Plan::draw_failures(test::Rng &rng)
{
    if (rng.chance(150))
        reloads = static_cast<uint32_t>(rng.range(1, 2));
    if (rng.chance(200))
        (rng.coin() ? restarts_ours : restarts_theirs) = static_cast<uint32_t>(rng.range(1, 2));
    // Nothing in the protocol tells a late connect or advert from a new one: the old ones must be gone.
    if (reloads || restarts())
        faults.reorder_delay = std::min<uint64_t>(faults.reorder_delay, 500 * us);
    if (restarts() && style == Style::ours)
        style = Style::both;
}

uint32_t Plan::draw_length(test::Rng &rng)
{
    std::vector<uint32_t> all = boundaries(dialect, quirks.threshold);
    uint32_t length;
    if (rng.chance(600))
        length = all[(seed / 3 * 11 + drawn_++) % all.size()];
    else if (rng.coin())
        length = static_cast<uint32_t>(rng.below(300));
    else
        length = static_cast<uint32_t>(rng.below(uint64_t{1} << rng.range(8, 24)));
    if (length > budget)
        length = static_cast<uint32_t>(rng.below(200));
    budget -= std::min<uint64_t>(budget, length);
    return length;
}

std::string Plan::describe() const
{
    auto n = [](uint64_t v) { return std::to_string(v); };
    std::string s = std::string("dialect ") + letter + (size ? "/" + n(size) : "") +
                    (pinned ? std::string(" pinned on ") + host.dialect + n(host.dialect_mtu) : "") + ", " +
                    n(ours) + " + " + n(theirs) + " endpoints, " + n(messages) + " messages; loss " +
                    n(faults.loss) + " dup " + n(faults.duplicate) + " reorder " + n(faults.reorder) + " (" +
                    n(faults.reorder_delay / us) + " us); connects " + n(static_cast<uint64_t>(style)) +
                    " away " + n(away_permille) + " (" + n(away_max / ms) + " ms) restarts " +
                    n(restarts_ours) + " + " + n(restarts_theirs) + " reloads " + n(reloads) + " partings " +
                    n(partings) + " index " + n(index) + ";";
    const Quirks &q = quirks;
    s += std::string(q.garbage ? " garbage" : "") + (q.unpadded ? " unpadded" : "") +
         (q.trailing ? " trailing" : "") + (q.windows_unchecked ? " windows-unchecked" : "") +
         (q.window_offsets ? " window-offsets" : "") + (q.odd_classes ? " odd-classes" : "") +
         (q.failing_pulls ? " failing-pulls" : "") + " threshold " + n(q.threshold) + " queue " + n(q.queue) +
         (host.polled ? " polled" : " host-driven") + "/ring " + n(host.ring_entries) + "/rx " +
         n(host.rx_slots);
    for (auto &[k, v] : environment)
        s += " " + k + "=" + v;
    return s;
}

bool Cast::part()
{
    constexpr size_t ids_max = 256; // of a name in the book
    if (!may_part || entries.size() + 2 > ids_max)
        return false;
    may_part = !std::exchange(quiet, false);
    for (size_t id = 0, last = entries.size(); id < last; id++) {
        const Entry e = entries[id];
        if (e.gone)
            continue;
        leave(static_cast<uint32_t>(id));
        entries[enter(e.ours, e.number)].open = true;
    }
    return true;
}

uint32_t Cast::present(uint32_t id) const
{
    const Entry &e = entries[id];
    while (entries[id].gone || entries[id].ours != e.ours || entries[id].number != e.number)
        id++;
    return id;
}

uint32_t Cast::addressee(uint32_t id, uint32_t to) const
{
    return plan.partings && to < entries.size() && present(to) == present(id) ? to : id;
}

std::vector<uint32_t> Cast::others(bool ours) const
{
    std::vector<uint32_t> ids;
    for (uint32_t id = 0; id < entries.size(); id++)
        if (!entries[id].gone && entries[id].ours != ours)
            ids.push_back(id);
    return ids;
}

bool Cast::calm() const
{
    for (uint32_t id = 0; id < entries.size(); id++)
        if (!entries[id].gone && (!entries[id].sent || !book.all_arrived(id)))
            return false;
    return true;
}

bool Cast::all_settled() const
{
    return std::all_of(entries.begin(), entries.end(), [](const Entry &e) { return e.gone || e.settled; });
}

} // namespace emx::model

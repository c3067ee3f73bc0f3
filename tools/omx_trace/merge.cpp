// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Merging of traces. See merge.hpp.
#include "tools/omx_trace/merge.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <tuple>

namespace emx::trace {
namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

/// Packets that are alike to the last of these are repeats of each other.
using Identity = std::tuple<uint64_t, uint32_t, uint64_t, uint32_t, uint8_t, uint16_t, uint32_t>;

/// A packet that came: when, and when the earliest of it and those that came later was sent.
struct Passage {
    int64_t received, sent;
};

struct Copies {
    std::vector<std::size_t> sent, received; ///< indexes of events, by time
};

class Merge {
public:
    explicit Merge(const std::vector<Trace> &traces) : traces_(traces) {}

    Merged run()
    {
        collect();
        set_clocks();
        for (Event &event : merged_.events)
            event.time_ns -= merged_.clocks[host_of_[event.trace]].ahead_ns;
        note_order();
        for (auto &[identity, copies] : packets_)
            pair_up(identity, copies);
        for (Event &event : merged_.events)
            judge(event);
        count_flows();
        std::stable_sort(merged_.events.begin(), merged_.events.end(),
                         [](const Event &a, const Event &b) { return a.time_ns < b.time_ns; });
        return std::move(merged_);
    }

private:
    static Kind kind(const Event &event) { return static_cast<Kind>(event.entry.kind); }

    int64_t local(uint32_t trace, uint64_t time_ns) const
    {
        return static_cast<int64_t>(time_ns) + base_[trace];
    }

    /// Traces of a host have one monotonic clock; each read the other clock for itself, at another time.
    /// Unless the host was started anew between them.
    int64_t base_of(uint32_t trace) const
    {
        constexpr int64_t same = 1000000000;
        const int64_t own = traces_[trace].header.realtime_ns;
        for (uint32_t t = 0; t < trace; t++)
            if (host_of_[t] == host_of_[trace] && std::abs(base_[t] - own) < same)
                return base_[t];
        return own;
    }

    Identity identity(const Event &event) const
    {
        const Header &h = traces_[event.trace].header;
        const Entry &e = event.entry;
        // The reason of a refusal and the like tell nothing apart.
        const uint32_t value = e.type == EMX_MEDIUM || e.type == EMX_X_MEDIUM || e.type == EMX_CONNECT ||
                                       e.type == EMX_TRUC || e.type == EMX_X_REPORT
                                   ? e.value
                                   : 0;
        if (kind(event) == Kind::sent)
            return {h.mac, h.endpoint, e.peer, e.remote_ep, e.type, e.seq, value};
        return {e.peer, e.remote_ep, h.mac, h.endpoint, e.type, e.seq, value};
    }

    void collect()
    {
        for (uint32_t t = 0; t < traces_.size(); t++) {
            const std::string host = traces_[t].header.host;
            auto at = std::find_if(merged_.clocks.begin(), merged_.clocks.end(),
                                   [&](const HostClock &c) { return c.host == host; });
            if (at == merged_.clocks.end())
                at = merged_.clocks.insert(at, HostClock{host, 0, 0, false});
            host_of_.push_back(static_cast<std::size_t>(at - merged_.clocks.begin()));
            base_.push_back(base_of(t));
            for (const Entry &entry : traces_[t].entries) {
                merged_.events.push_back({t, local(t, entry.time_ns), entry, Fate::unknown, 0});
                const Event &event = merged_.events.back();
                if (kind(event) == Kind::sent && !(entry.flags & flag_refused))
                    packets_[identity(event)].sent.push_back(merged_.events.size() - 1);
                if (kind(event) == Kind::received)
                    packets_[identity(event)].received.push_back(merged_.events.size() - 1);
            }
        }
    }

    /// Shortest apparent time from one host to another, of packets that cannot be taken for others.
    std::vector<std::vector<int64_t>> shortest_ways() const
    {
        const std::size_t hosts = merged_.clocks.size();
        std::vector<std::vector<int64_t>> way(hosts, std::vector<int64_t>(hosts, never));
        for (const auto &[identity, copies] : packets_) {
            if (copies.sent.size() != 1 || copies.received.size() != 1)
                continue;
            const Event &out = merged_.events[copies.sent[0]], &in = merged_.events[copies.received[0]];
            int64_t &shortest = way[host_of_[out.trace]][host_of_[in.trace]];
            shortest = std::min(shortest, in.time_ns - out.time_ns);
        }
        return way;
    }

    /// The way there takes as long as the way back, at its shortest: what they differ by is the clocks'.
    void set_clocks()
    {
        const auto way = shortest_ways();
        std::vector<std::size_t> known = {0};
        if (!merged_.clocks.empty())
            merged_.clocks[0].measured = true;
        for (std::size_t next = 0; next < known.size() && !merged_.clocks.empty(); next++) {
            const std::size_t a = known[next];
            for (std::size_t b = 0; b < merged_.clocks.size(); b++) {
                HostClock &clock = merged_.clocks[b];
                if (clock.measured || way[a][b] == never || way[b][a] == never)
                    continue;
                clock.measured = true;
                clock.ahead_ns = merged_.clocks[a].ahead_ns + (way[a][b] - way[b][a]) / 2;
                clock.doubt_ns =
                    merged_.clocks[a].doubt_ns + std::max<int64_t>((way[a][b] + way[b][a]) / 2, 0);
                known.push_back(b);
            }
        }
    }

    /// Sender and receiver of a packet.
    using Ends = std::tuple<uint64_t, uint32_t, uint64_t, uint32_t>;
    static Ends ends_of(const Identity &identity)
    {
        return {std::get<0>(identity), std::get<1>(identity), std::get<2>(identity), std::get<3>(identity)};
    }

    /// Collects the packets between two ends that cannot be taken for others.
    void note_order()
    {
        for (const auto &[identity, copies] : packets_)
            if (copies.sent.size() == 1 && copies.received.size() == 1)
                order_[ends_of(identity)].push_back(
                    {merged_.events[copies.received[0]].time_ns, merged_.events[copies.sent[0]].time_ns});
        for (auto &[ends, passages] : order_) {
            std::sort(passages.begin(), passages.end(),
                      [](const Passage &a, const Passage &b) { return a.received < b.received; });
            int64_t least = never;
            for (auto at = passages.rbegin(); at != passages.rend(); ++at)
                at->sent = least = std::min(least, at->sent);
        }
    }

    /// True if a packet that came later was sent earlier: networks seldom change the order.
    bool overtook(const Identity &identity, int64_t sent, int64_t received) const
    {
        const auto found = order_.find(ends_of(identity));
        if (found == order_.end())
            return false;
        const auto later =
            std::upper_bound(found->second.begin(), found->second.end(), received,
                             [](int64_t time, const Passage &passage) { return time < passage.received; });
        return later != found->second.end() && later->sent < sent;
    }

    /// Each that came is the last one sent before it that no later one is, and that would not have overtaken
    /// another packet if there is an earlier one.
    void pair_up(const Identity &identity, Copies &copies)
    {
        const auto by_time = [this](std::size_t a, std::size_t b) {
            return merged_.events[a].time_ns < merged_.events[b].time_ns;
        };
        std::stable_sort(copies.sent.begin(), copies.sent.end(), by_time);
        std::stable_sort(copies.received.begin(), copies.received.end(), by_time);
        std::size_t left = copies.sent.size();
        for (std::size_t r = copies.received.size(); r-- > 0 && left > 0;) {
            Event &in = merged_.events[copies.received[r]];
            std::size_t s = left;
            while (s > 0 && merged_.events[copies.sent[s - 1]].time_ns > in.time_ns)
                s--;
            if (s == 0) { // by clocks that do not agree it came before it went
                if (copies.sent.size() != copies.received.size())
                    continue;
                s = std::min(left, r + 1);
            }
            while (s > r + 1 && overtook(identity, merged_.events[copies.sent[s - 1]].time_ns, in.time_ns))
                s--;
            Event &out = merged_.events[copies.sent[s - 1]];
            out.fate = Fate::arrived;
            out.under_way_ns = in.under_way_ns = in.time_ns - out.time_ns;
            in.fate = Fate::arrived;
            left = s - 1;
        }
    }

    /// True if the endpoint was traced at that time, so that what came is seen.
    bool watched(uint64_t mac, uint32_t endpoint, int64_t time) const
    {
        for (uint32_t t = 0; t < traces_.size(); t++) {
            const Trace &trace = traces_[t];
            if (trace.header.mac != mac || trace.header.endpoint != endpoint || trace.entries.empty())
                continue;
            const int64_t ahead = merged_.clocks[host_of_[t]].ahead_ns;
            const int64_t first = local(t, trace.entries.front().time_ns) - ahead;
            const int64_t last = local(t, std::max(trace.closed_ns, trace.entries.back().time_ns)) - ahead;
            if ((trace.lost == 0 || first <= time) && time <= last)
                return true;
        }
        return false;
    }

    void judge(Event &event) const
    {
        if (kind(event) != Kind::sent || event.fate == Fate::arrived || (event.entry.flags & flag_refused))
            return;
        if (watched(event.entry.peer, event.entry.remote_ep, event.time_ns))
            event.fate = Fate::missing;
    }

    void count_flows()
    {
        std::map<std::tuple<uint64_t, uint32_t, uint64_t, uint32_t>, Flow> flows;
        for (const Event &event : merged_.events) {
            if (kind(event) != Kind::sent)
                continue;
            const Header &h = traces_[event.trace].header;
            const Entry &e = event.entry;
            Flow &flow = flows[{h.mac, h.endpoint, e.peer, e.remote_ep}];
            flow.from = h.mac, flow.from_ep = h.endpoint, flow.to = e.peer, flow.to_ep = e.remote_ep;
            flow.sent++;
            flow.resent += (e.flags & flag_resent) != 0;
            flow.refused += (e.flags & flag_refused) != 0;
            flow.missing += event.fate == Fate::missing;
            flow.arrived += event.fate == Fate::arrived;
            if (event.fate == Fate::arrived)
                flow.under_way_ns.push_back(event.under_way_ns);
        }
        for (auto &[ends, flow] : flows) {
            std::sort(flow.under_way_ns.begin(), flow.under_way_ns.end());
            merged_.flows.push_back(std::move(flow));
        }
    }

    const std::vector<Trace> &traces_;
    std::vector<std::size_t> host_of_; ///< a trace's, index in clocks
    std::vector<int64_t> base_; ///< a trace's: to be added to its times
    std::map<Identity, Copies> packets_;
    std::map<Ends, std::vector<Passage>> order_; ///< by the time when they came
    Merged merged_;
};

} // namespace

Merged merge(const std::vector<Trace> &traces) { return Merge(traces).run(); }

} // namespace emx::trace

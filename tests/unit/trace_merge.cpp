// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Merging of traces: clocks that are apart, lost packets, repeats, traces that lack their beginning.
#include "tools/omx_trace/merge.hpp"

#include <emx/wire.h>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace emx::trace;

namespace {

constexpr uint64_t mac_a = 0x02000000000a, mac_b = 0x02000000000b;
constexpr int64_t ahead = 5000000000; // of the second host's clock

/// Two endpoints, one on each host; times are true ones, from a common start.
struct Scene {
    std::vector<Trace> traces{2};

    Scene()
    {
        for (int side = 0; side < 2; side++) {
            Header &h = traces[size_t(side)].header;
            h.mac = side ? mac_b : mac_a;
            h.endpoint = side ? 5 : 2;
            h.realtime_ns = 1000000 + (side ? ahead + 777 : 0);
            h.host[0] = side ? 'b' : 'a';
        }
    }
    void put(int side, Kind kind, uint64_t time, uint16_t seq, uint16_t flags = 0, uint8_t type = EMX_TINY,
             uint32_t value = 0)
    {
        Entry e{};
        e.kind = static_cast<uint8_t>(kind);
        e.type = type;
        e.time_ns = side ? time + 1000 - 777 : time + 1000; // the clock of each began elsewhere
        e.peer = side ? mac_a : mac_b;
        e.remote_ep = side ? 2 : 5;
        e.seq = seq;
        e.flags = flags;
        e.value = value;
        traces[size_t(side)].entries.push_back(e);
    }
    void pass(int from, uint64_t time, uint64_t way, uint16_t seq)
    {
        put(from, Kind::sent, time, seq);
        put(1 - from, Kind::received, time + way, seq);
    }
    void sort()
    {
        for (Trace &t : traces)
            std::stable_sort(t.entries.begin(), t.entries.end(),
                             [](const Entry &a, const Entry &b) { return a.time_ns < b.time_ns; });
    }
    Merged merged()
    {
        sort();
        return merge(traces);
    }
};

const Event &find(const Merged &m, uint32_t trace, Kind kind, uint16_t seq, int copy = 0)
{
    for (const Event &e : m.events)
        if (e.trace == trace && static_cast<Kind>(e.entry.kind) == kind && e.entry.seq == seq && copy-- == 0)
            return e;
    FAIL("no such event");
    return m.events.front();
}

} // namespace

TEST_CASE("trace_merge__clocks_that_are_apart")
{
    Scene s;
    for (uint16_t i = 1; i <= 50; i++) {
        s.pass(0, uint64_t{i} * 10000, 3000 + uint64_t{i} * 7 % 900, i);
        s.pass(1, uint64_t{i} * 10000 + 5000, 3000 + uint64_t{i} * 11 % 900, i);
    }
    const Merged m = s.merged();
    REQUIRE(m.clocks.size() == 2);
    CHECK(m.clocks[1].measured);
    // The shortest ways there and back differ by some nanoseconds.
    CHECK(std::abs(m.clocks[1].ahead_ns - ahead) < 450);
    CHECK(m.clocks[1].doubt_ns >= 3000);
    CHECK(m.clocks[1].doubt_ns < 4000);
    CHECK(std::is_sorted(m.events.begin(), m.events.end(),
                         [](const Event &a, const Event &b) { return a.time_ns < b.time_ns; }));
    for (uint16_t i = 1; i <= 50; i++) {
        const Event &sent = find(m, 0, Kind::sent, i), &received = find(m, 1, Kind::received, i);
        REQUIRE(sent.fate == Fate::arrived);
        CHECK(sent.time_ns < received.time_ns);
        CHECK(std::abs(sent.under_way_ns - (3000 + i * 7 % 900)) < 450);
    }
    REQUIRE(m.flows.size() == 2);
    CHECK(m.flows[0].arrived == 50);
    CHECK(m.flows[0].missing == 0);
}

TEST_CASE("trace_merge__one_way_tells_nothing_of_clocks")
{
    Scene s;
    s.pass(0, 1000, 3000, 1);
    const Merged m = s.merged();
    CHECK_FALSE(m.clocks[1].measured);
    CHECK(m.clocks[1].ahead_ns == 0);
    CHECK(find(m, 0, Kind::sent, 1).fate == Fate::arrived);
}

TEST_CASE("trace_merge__a_lost_frame_and_its_repeat")
{
    Scene s;
    s.pass(0, 10000, 3000, 1);
    s.pass(1, 20000, 3000, 1);
    s.put(0, Kind::sent, 30000, 2); // lost
    s.pass(0, 40000, 3000, 3);
    s.put(0, Kind::sent, 50030000, 2, flag_resent);
    s.put(1, Kind::received, 50033000, 2);
    s.put(1, Kind::matched, 50033100, 2);
    const Merged m = s.merged();
    const Event &first = find(m, 0, Kind::sent, 2, 0), &second = find(m, 0, Kind::sent, 2, 1);
    CHECK(first.fate == Fate::missing);
    CHECK(second.fate == Fate::arrived);
    CHECK(second.under_way_ns == 3000);
    REQUIRE(m.flows.size() == 2);
    CHECK(m.flows[0].sent == 4);
    CHECK(m.flows[0].resent == 1);
    CHECK(m.flows[0].missing == 1);
    CHECK(m.flows[0].arrived == 3);
}

TEST_CASE("trace_merge__fragments_and_numbers_used_again_are_told_apart")
{
    Scene s;
    s.pass(1, 1000, 3000, 1);
    s.pass(0, 2000, 3000, 1);
    for (uint64_t round = 0; round < 3; round++)
        for (uint32_t frag = 0; frag < 3; frag++) {
            const uint64_t time = 1000000 * (round + 1) + uint64_t{1000} * frag;
            s.put(0, Kind::sent, time, 9, 0, EMX_MEDIUM, frag);
            if (round != 1 || frag != 2)
                s.put(1, Kind::received, time + 3000, 9, 0, EMX_MEDIUM, frag);
        }
    const Merged m = s.merged();
    int missing = 0;
    for (const Event &e : m.events)
        if (e.fate == Fate::missing) {
            missing++;
            CHECK(e.entry.value == 2);
            CHECK(e.entry.time_ns == 1000000 * 2 + 2000 + 1000);
        }
    CHECK(missing == 1);
}

TEST_CASE("trace_merge__a_copy_that_nobody_read_is_not_the_one_that_came")
{
    // The receiver is late: it reads a message after its repeat has left, then what was sent between them,
    // and closes.
    for (const bool in_between : {true, false}) {
        CAPTURE(in_between);
        Scene s;
        for (uint16_t i = 1; i <= 5; i++) {
            s.pass(0, uint64_t{i} * 1000, 400, i);
            s.pass(1, uint64_t{i} * 1000 + 500, 400, i);
        }
        s.put(0, Kind::sent, 10000, 6);
        s.put(0, Kind::sent, in_between ? 20000 : 70000, 7);
        s.put(0, Kind::sent, 60000, 6, flag_resent);
        s.put(1, Kind::received, 90000, 6);
        s.put(1, Kind::received, 90010, 7);
        const Merged m = s.merged();
        const Event &first = find(m, 0, Kind::sent, 6), &again = find(m, 0, Kind::sent, 6, 1);
        CHECK(first.fate == (in_between ? Fate::arrived : Fate::missing));
        CHECK(again.fate == (in_between ? Fate::missing : Fate::arrived));
    }
}

TEST_CASE("trace_merge__endpoints_without_a_trace_miss_nothing")
{
    Scene s;
    s.put(0, Kind::sent, 1000, 1); // before the beginning of the other's ring
    s.pass(0, 500000, 3000, 2);
    s.pass(1, 600000, 3000, 2);
    s.put(0, Kind::sent, 900000, 3); // after its end
    s.put(0, Kind::sent, 520000, 4, flag_refused);
    s.traces[1].lost = 7;
    const Merged m = s.merged();
    CHECK(find(m, 0, Kind::sent, 1).fate == Fate::unknown);
    CHECK(find(m, 0, Kind::sent, 3).fate == Fate::unknown);
    CHECK(find(m, 0, Kind::sent, 4).fate == Fate::unknown);
    CHECK(m.flows[0].refused == 1);
    s.traces[1].closed_ns = 950000;
    CHECK(find(s.merged(), 0, Kind::sent, 3).fate == Fate::missing);
    s.traces[1].lost = 0;
    CHECK(find(s.merged(), 0, Kind::sent, 1).fate == Fate::missing);
}

TEST_CASE("trace_merge__traces_of_a_host_share_its_clock")
{
    Scene s;
    s.traces[1].header.host[0] = 'a';
    s.traces[1].header.realtime_ns = s.traces[0].header.realtime_ns - 50000000; // the clock was set meanwhile
    s.put(0, Kind::sent, 1000, 1);
    s.put(1, Kind::received, 1000 + 777 + 3000, 1);
    const Merged m = s.merged();
    CHECK(m.clocks.size() == 1);
    CHECK(find(m, 0, Kind::sent, 1).under_way_ns == 3000);
}

TEST_CASE("trace_merge__nothing")
{
    CHECK(merge({}).events.empty());
    Scene s;
    CHECK(s.merged().events.empty());
}

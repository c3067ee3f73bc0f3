// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Socket filters as classic BPF, put together with labels so that no jump is counted by hand.
#include "driver/board/filter.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <cassert>
#include <cstddef>
#include <map>
#include <span>

namespace emx {
namespace {

constexpr uint32_t take_all = 0x40000; // bytes of a passed frame, at most

/// Places in a program. Those from `fresh` on are made as they are needed.
enum Label : unsigned {
    next,
    accept,
    drop,
    reply,
    mine,
    host,
    host_accept,
    host_drop,
    refusable,
    ring,
    other_host,
    fresh
};

/// Collects instructions; jumps name labels, which are all defined later.
class Assembler {
public:
    void load_word(uint32_t at) { put(BPF_LD | BPF_W | BPF_ABS, at); }
    void load_half(uint32_t at) { put(BPF_LD | BPF_H | BPF_ABS, at); }
    void load_byte(uint32_t at) { put(BPF_LD | BPF_B | BPF_ABS, at); }
    /// Jumps for frames that their length shows to be pull replies. The length is at hand, while beyond the
    /// Ethernet header each load from a frame longer than a page takes some 10 ns. skipped: bytes that the
    /// length does not count.
    void jump_full(FullFrames full, uint32_t skipped, Label yes)
    {
        if (full.reply || full.x_data)
            put(BPF_LD | BPF_W | BPF_LEN, 0);
        if (full.reply)
            jump_equal(full.reply - skipped, yes);
        if (full.x_data && full.x_data != full.reply)
            jump_equal(full.x_data - skipped, yes);
    }
    /// Type and endpoint number by one load, which is what a filter's time goes to; the type is at hand.
    void load_type_and_endpoint()
    {
        load_half(packet_type_at);
        put(BPF_MISC | BPF_TAX, 0);
        put(BPF_ALU | BPF_RSH | BPF_K, 8);
    }
    /// Takes the endpoint that load_type_and_endpoint left in the index register.
    void take_endpoint()
    {
        put(BPF_MISC | BPF_TXA, 0);
        put(BPF_ALU | BPF_AND | BPF_K, 0xff);
    }
    void put(uint16_t code, uint32_t k) { program_.push_back({code, 0, 0, k}); }
    /// Jumps for frames that are for another host, as the kernel marks those of a VLAN without an interface
    /// here.
    void jump_other_host(Label yes)
    {
        put(BPF_LD | BPF_B | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE));
        jump_equal(PACKET_OTHERHOST, yes);
    }
    void jump_equal(uint32_t k, Label yes, Label no = next) { jump(BPF_JEQ, k, yes, no); }
    void jump_at_least(uint32_t k, Label yes, Label no = next) { jump(BPF_JGE, k, yes, no); }
    void jump_greater(uint32_t k, Label yes, Label no = next) { jump(BPF_JGT, k, yes, no); }
    void skip_if_greater(uint32_t k) { program_.push_back({BPF_JMP | BPF_K | BPF_JGT, 1, 0, k}); }
    void here(Label label) { places_[label] = program_.size(); }
    Label make_label() { return static_cast<Label>(labels_++); }

    FilterProgram finish()
    {
        here(accept);
        put(BPF_RET | BPF_K, take_all);
        here(drop);
        put(BPF_RET | BPF_K, 0);
        for (const Jump &j : jumps_) {
            program_[j.at].jt = distance(j.at, j.yes);
            program_[j.at].jf = distance(j.at, j.no);
        }
        return std::move(program_);
    }

private:
    struct Jump {
        std::size_t at;
        Label yes, no;
    };

    void jump(uint16_t test, uint32_t k, Label yes, Label no)
    {
        jumps_.push_back({program_.size(), yes, no});
        put(static_cast<uint16_t>(BPF_JMP | BPF_K | test), k);
    }

    uint8_t distance(std::size_t from, Label label) const
    {
        if (label == next)
            return 0;
        const std::size_t to = places_.at(label);
        assert(to > from && to - from - 1 <= 255);
        return static_cast<uint8_t>(to - from - 1);
    }

    unsigned labels_ = fresh;
    FilterProgram program_;
    std::vector<Jump> jumps_;
    std::map<Label, std::size_t> places_;
};

void require_destination(Assembler &a, uint64_t mac, Label otherwise)
{
    a.load_word(2);
    a.jump_equal(static_cast<uint32_t>(mac), next, otherwise);
    a.load_half(0);
    a.jump_equal(static_cast<uint32_t>(mac >> 32), next, otherwise);
}

/// Types from `first` on, up to the next run, are for that place.
struct Run {
    unsigned first;
    Label to;
};

/// Two runs or more: halves them until one is left. No type takes more comparisons than a tree is high.
void branch(Assembler &a, std::span<const Run> runs)
{
    const auto below = runs.first(runs.size() / 2), from = runs.subspan(runs.size() / 2);
    const Label upper = from.size() == 1 ? from[0].to : a.make_label();
    a.jump_at_least(from[0].first, upper, below.size() == 1 ? below[0].to : next);
    if (below.size() > 1)
        branch(a, below);
    if (from.size() > 1) {
        a.here(upper);
        branch(a, from);
    }
}

/// Jumps by the type at hand to the place that `to` says for its row of the table.
template <typename To>
void branch_by_type(Assembler &a, To to)
{
    std::vector<Run> runs;
    for (unsigned type = 0; type < packet_ways.size(); type++)
        if (const Label label = to(static_cast<uint8_t>(type)); runs.empty() || runs.back().to != label)
            runs.push_back({type, label});
    branch(a, runs);
}

/// Passes what is for that endpoint of the board, by the types whose role in the table `wanted` takes.
template <typename Wanted>
FilterProgram filter_of_endpoint(Assembler &a, uint64_t mac, uint8_t endpoint, Wanted wanted)
{
    std::map<uint8_t, Label> places; // of the endpoint's number
    a.load_type_and_endpoint();
    branch_by_type(a, [&](uint8_t type) {
        const PacketWay &way = packet_ways[type];
        if (!wanted(way.role))
            return drop;
        if (const auto known = places.find(way.endpoint_at); known != places.end())
            return known->second;
        return places[way.endpoint_at] = a.make_label();
    });
    for (const auto &[at, label] : places) {
        a.here(label);
        if (at == usual_endpoint_at)
            a.take_endpoint();
        else
            a.load_byte(at);
        a.jump_equal(endpoint, mine, drop);
    }
    a.here(mine);
    require_destination(a, mac, drop);
    return a.finish();
}

/// The same judgement on a frame.
template <typename Wanted>
bool is_for_endpoint(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint, Wanted wanted)
{
    const PacketWay &way = packet_ways[bytes > packet_type_at ? frame[packet_type_at] : 0];
    return wanted(way.role) && way.endpoint_at < bytes && frame[way.endpoint_at] == endpoint &&
           emx_get_mac(frame) == mac;
}

constexpr bool is_ring(SocketRole role) { return role == SocketRole::ring; }
constexpr bool is_bulk(SocketRole role) { return role == SocketRole::bulk; }
constexpr bool is_endpoint(SocketRole role) { return is_ring(role) || is_bulk(role); }

} // namespace

FilterProgram endpoint_filter(uint64_t mac, uint8_t endpoint, bool with_replies)
{
    Assembler a;
    if (with_replies)
        return filter_of_endpoint(a, mac, endpoint, is_endpoint);
    a.jump_other_host(drop);
    return filter_of_endpoint(a, mac, endpoint, is_ring);
}

bool passes_endpoint_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint)
{
    return is_for_endpoint(frame, bytes, mac, endpoint, is_ring);
}

FilterProgram reply_filter(uint64_t mac, uint8_t endpoint)
{
    Assembler a;
    a.jump_other_host(drop);
    return filter_of_endpoint(a, mac, endpoint, is_bulk);
}

FilterProgram group_filter()
{
    Assembler a;
    a.load_half(0);
    a.jump_equal(EMX_X_GROUP_PREFIX, next, drop);
    a.load_byte(packet_type_at);
    a.jump_equal(EMX_X_GROUP, next, drop);
    a.jump_other_host(drop);
    return a.finish();
}

bool passes_reply_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint)
{
    return is_for_endpoint(frame, bytes, mac, endpoint, is_bulk);
}

namespace {

/// Drops frames for claimed endpoints, whose number is in the accumulator. Each run of claimed numbers
/// has a return of its own, as far jumps reach only 255 instructions.
void drop_claimed(Assembler &a, const std::bitset<EMX_ENDPOINTS_MAX> &claimed)
{
    for (unsigned start = 0; start < EMX_ENDPOINTS_MAX; start++) {
        if (!claimed[start])
            continue;
        unsigned last = start;
        while (last + 1 < EMX_ENDPOINTS_MAX && claimed[last + 1])
            last++;
        a.put(BPF_ALU | BPF_SUB | BPF_K, start);
        a.skip_if_greater(last - start);
        a.put(BPF_RET | BPF_K, 0);
        a.put(BPF_ALU | BPF_ADD | BPF_K, start); // NOLINT(misc-redundant-expression): ADD and K both are 0
        start = last;
    }
}

} // namespace

FilterProgram agent_filter(uint64_t mac, const std::bitset<EMX_ENDPOINTS_MAX> &claimed, FullFrames full,
                           bool loopback)
{
    Assembler a;
    a.jump_full(full, 0, host_drop);
    if (!loopback)
        a.jump_other_host(other_host);
    a.load_type_and_endpoint();
    branch_by_type(a, [](uint8_t type) {
        if (type == EMX_RAW)
            return host_accept; // sent to all
        return packet_ways[type].role == SocketRole::agent ? host
               : packet_ways[type].refusable               ? refusable
                                                           : host_drop;
    });
    a.here(other_host); // but for this board: it is counted
    a.load_byte(0);
    a.jump_equal(0xff, host_accept);
    a.here(host);
    require_destination(a, mac, host_drop);
    a.here(host_accept);
    a.put(BPF_RET | BPF_K, take_all);
    a.here(host_drop);
    a.put(BPF_RET | BPF_K, 0);
    a.here(refusable);
    // Traffic is for claimed endpoints: sort it out first.
    a.take_endpoint();
    drop_claimed(a, claimed);
    require_destination(a, mac, drop);
    return a.finish();
}

FilterProgram reply_chooser(FullFrames full)
{
    // Runs where the frame's Ethernet header is passed already.
    Assembler a;
    a.jump_full(full, ETH_HLEN, reply);
    a.load_byte(packet_type_at - ETH_HLEN);
    branch_by_type(a, [](uint8_t type) { return is_bulk(packet_ways[type].role) ? reply : ring; });
    a.here(reply);
    a.jump_other_host(ring); // which tells them apart without a filter, too
    a.put(BPF_RET | BPF_K, 1);
    a.here(ring);
    a.put(BPF_RET | BPF_K, 0);
    return a.finish();
}

} // namespace emx

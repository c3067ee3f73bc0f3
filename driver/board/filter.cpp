// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Socket filters as classic BPF, put together with labels so that no jump is counted by hand.
#include "driver/board/filter.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <cassert>
#include <cstddef>
#include <map>

namespace emx {
namespace {

constexpr uint32_t take_all = 0x40000; // bytes of a passed frame, at most
constexpr uint32_t type_at = 16;
constexpr uint32_t nack_lib_endpoint_at = 25;
constexpr uint32_t reply_endpoint_at = 31;

enum Label {
    next = 0,
    accept,
    drop,
    nack_lib,
    reply,
    extension,
    mine,
    host,
    host_accept,
    host_drop,
    refusable,
    ring,
    other_host
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
        load_half(type_at);
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

} // namespace

FilterProgram endpoint_filter(uint64_t mac, uint8_t endpoint, bool with_replies)
{
    Assembler a;
    if (!with_replies)
        a.jump_other_host(drop);
    a.load_type_and_endpoint();
    a.jump_equal(EMX_PULL_REPLY, with_replies ? reply : drop);
    a.jump_equal(EMX_NACK_LIB, nack_lib);
    a.jump_at_least(EMX_TRUC, next, drop);
    a.jump_greater(EMX_NACK_MCP, extension);
    a.take_endpoint();
    a.jump_equal(endpoint, mine, drop);
    a.here(extension);
    a.jump_at_least(EMX_X_MEDIUM, next, drop);
    a.jump_at_least(with_replies ? EMX_X_DATA + 1 : EMX_X_DATA, drop);
    a.take_endpoint();
    a.jump_equal(endpoint, mine, drop);
    if (with_replies) {
        a.here(reply);
        a.load_byte(reply_endpoint_at);
        a.jump_equal(endpoint, mine, drop);
    }
    a.here(nack_lib);
    a.load_byte(nack_lib_endpoint_at);
    a.jump_equal(endpoint, next, drop);
    a.here(mine);
    require_destination(a, mac, drop);
    return a.finish();
}

bool passes_endpoint_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint)
{
    const uint8_t type = bytes > type_at ? frame[type_at] : uint8_t{0};
    if (!passes_endpoint_filter(type))
        return false;
    const uint32_t at = type == EMX_NACK_LIB ? nack_lib_endpoint_at : type_at + 1;
    return at < bytes && frame[at] == endpoint && emx_get_mac(frame) == mac;
}

FilterProgram reply_filter(uint64_t mac, uint8_t endpoint)
{
    Assembler a;
    a.jump_other_host(drop);
    a.load_type_and_endpoint();
    a.jump_equal(EMX_PULL_REPLY, reply);
    a.jump_equal(EMX_X_DATA, next, drop);
    a.take_endpoint();
    a.jump_equal(endpoint, mine, drop);
    a.here(reply);
    a.load_byte(reply_endpoint_at);
    a.jump_equal(endpoint, next, drop);
    a.here(mine);
    require_destination(a, mac, drop);
    return a.finish();
}

bool passes_reply_filter(const uint8_t *frame, uint32_t bytes, uint64_t mac, uint8_t endpoint)
{
    const uint8_t type = bytes > type_at ? frame[type_at] : uint8_t{0};
    if (type != EMX_PULL_REPLY && type != EMX_X_DATA)
        return false;
    const uint32_t at = type == EMX_PULL_REPLY ? reply_endpoint_at : type_at + 1;
    return at < bytes && frame[at] == endpoint && emx_get_mac(frame) == mac;
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
    a.jump_equal(EMX_RAW, host_accept);
    a.jump_equal(EMX_HOST_QUERY, host);
    a.jump_equal(EMX_HOST_REPLY, host);
    a.jump_at_least(EMX_CONNECT, next, host_drop);
    a.jump_greater(EMX_NOTIFY, extension);
    a.jump_equal(EMX_PULL_REPLY, host_drop, refusable);
    a.here(extension);
    a.jump_equal(EMX_X_MEDIUM, refusable);
    a.jump_equal(EMX_X_PULL, refusable, host_drop);
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
    a.load_byte(type_at - ETH_HLEN);
    a.jump_equal(EMX_PULL_REPLY, reply);
    a.jump_equal(EMX_X_DATA, reply, ring);
    a.here(reply);
    a.jump_other_host(ring); // which tells them apart without a filter, too
    a.put(BPF_RET | BPF_K, 1);
    a.here(ring);
    a.put(BPF_RET | BPF_K, 0);
    return a.finish();
}

} // namespace emx

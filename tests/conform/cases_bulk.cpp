// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: large messages one after the other between the same two endpoints, so that whatever carries
// them is set up when most of them go (API 3.3, 3.4; checklist 7 to 9).
#include "kit.hpp"

#include <algorithm>

namespace emx::conform {
namespace {

constexpr uint32_t rounds = 16, at_once = 3;
constexpr std::size_t hole = 64; ///< bytes that stay as they are in front of and behind the room of a message

/// A message of a round, the same at both ends but for its content.
struct Shape {
    uint32_t length, room; ///< sent; received at most
    uint32_t pieces, shift; ///< of either buffer; its first byte's distance from a border of 64 bytes
    uint64_t number(int from) const { return match << 1 | static_cast<unsigned>(from); }
    uint64_t match;
};

/// Lengths around the longest eager message, and around packets of 1, 2 and 4 times the longest.
Shape shape(uint32_t round, uint32_t i)
{
    constexpr uint32_t lengths[] = {32769,  65495, 100001, 130990, 65496,
                                    262145, 65494, 130991, 261980, 40000};
    const uint32_t n = round * at_once + i;
    const uint32_t length = lengths[n % std::size(lengths)];
    const uint32_t rooms[] = {length, 0, length + 1, length - 1, length, 1, length / 2, length};
    return {length, rooms[n % std::size(rooms)], 1 + n % 5, n * 7 % 64, n};
}

/// A buffer whose pieces are of different lengths, odd ones among them, and lie behind each other.
struct Buffer {
    Buffer(const Shape &s, uint32_t length)
        : bytes(hole + s.shift + length + hole, 0xee), data(bytes.data() + hole + s.shift), size(length)
    {
        uint32_t at = 0;
        for (uint32_t i = 0; i < s.pieces; i++) {
            const uint32_t part =
                i + 1 == s.pieces ? length - at : std::min(length - at, length / s.pieces + i * 3);
            segments.push_back({part ? data + at : nullptr, part});
            at += part;
        }
    }
    bool holes_are_whole() const
    {
        const auto as_it_was = [](uint8_t byte) { return byte == 0xee; };
        return std::all_of(bytes.data(), static_cast<const uint8_t *>(data), as_it_was) &&
               std::all_of<const uint8_t *>(data + size, bytes.data() + bytes.size(), as_it_was);
    }
    std::vector<uint8_t> bytes;
    uint8_t *data;
    uint32_t size;
    std::vector<mx_segment_t> segments;
};

struct Message {
    Message(const Shape &s, int self) : shape(s), out(s, s.length), in(s, s.room)
    {
        const std::vector<uint8_t> content = pattern(s.number(self), s.length);
        std::copy(content.begin(), content.end(), out.data);
    }
    Shape shape;
    Buffer out, in;
    mx_request_t sent = nullptr, received = nullptr;
};

void post(Rank &r, Net &net, Message &m)
{
    const auto other = static_cast<std::size_t>(1 - r.id);
    REQUIRE_OK(mx_irecv(net.ep, m.in.segments.data(), m.shape.pieces, m.shape.match, all_bits, nullptr,
                        &m.received));
    REQUIRE_OK(mx_isend(net.ep, m.out.segments.data(), m.shape.pieces, net.to[other], m.shape.match, nullptr,
                        &m.sent));
}

void finish_message(Rank &r, Net &net, Message &m)
{
    const uint32_t took = std::min(m.shape.length, m.shape.room);
    const mx_status_code_t code = took < m.shape.length ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS;
    const mx_status_t received = finish(r, net.ep, m.received), sent = finish(r, net.ep, m.sent);
    for (const mx_status_t &s : {received, sent}) {
        CHECK_EQ(s.code, code);
        CHECK_EQ(s.msg_length, m.shape.length);
        CHECK_EQ(s.xfer_length, took);
    }
    CHECK_EQ(verify(m.in.data, m.shape.number(1 - r.id), took), std::size_t{took});
    CHECK(std::all_of(m.in.data + took, m.in.data + m.in.size, [](uint8_t byte) { return byte == 0xee; }));
    CHECK(m.in.holes_are_whole());
}

CONFORM(large_messages_one_after_the_other, 2, foreign | bulk)
{
    Net net = open_net(r);
    for (uint32_t round = 0; round < rounds; round++) {
        std::vector<Message> messages;
        for (uint32_t i = 0; i < at_once; i++)
            messages.emplace_back(shape(round, i), r.id);
        for (Message &m : messages)
            post(r, net, m);
        for (Message &m : messages)
            finish_message(r, net, m);
    }
    r.barrier();
}

} // namespace
} // namespace emx::conform

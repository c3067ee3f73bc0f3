// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A job of Fast Messages in the simulator.
#pragma once

#include "../sim/job.hpp"

#include <compat/fm/api.hpp>

namespace emx::fmtest {

using sim::fill;
using sim::text_of;

struct Plan : sim::Plan {
    uint32_t memory = 4 << 20;

    static Plan rough(uint64_t seed)
    {
        Plan plan;
        plan.make_rough(seed);
        return plan;
    }
    fm::Options options() const
    {
        fm::Options options;
        options.memory = memory;
        return options;
    }
};

struct Me : sim::Member<fm::Node> {
    using Member::Member;
    /// Extracts until it holds.
    void until(const std::function<bool()> &done)
    {
        while (!done())
            if (!FM_extract(FM_ALL))
                sleep(sim::us);
    }
};

struct Layer {
    using Options = fm::Options;
    using Node = fm::Node;
    using Me = fmtest::Me;
    static void choose(Node *(*which)()) { fm::current_node = which; }
    static void leave() { FM_finalize(); }
};

struct Job : sim::Job<Layer> {
    Job(const Plan &plan, Body body, Body registers = nullptr)
        : sim::Job<Layer>(plan, plan.options(), std::move(body), std::move(registers))
    {
    }
};

inline Me &me() { return Job::current->me(); }

/// begin, and extraction as long as there is no room.
inline FM_stream *begin(uint32_t dest, uint32_t length, uint32_t handler)
{
    for (;;) {
        if (FM_stream *stream = FM_begin_message(dest, length, handler))
            return stream;
        if (FM_errno != FM_E_FULL)
            return nullptr;
        if (!FM_extract(FM_ALL))
            me().sleep(sim::us);
    }
}

/// The head that a stream test sends first: number of the message of that sender, bytes that follow.
struct Head {
    uint32_t message, length;
};

/// A message with its head, in pieces of any size up to `piece_max`.
inline void send_pieces(uint32_t dest, uint32_t handler, uint32_t message, uint32_t length,
                        uint32_t piece_max)
{
    Head head{message, length};
    const std::vector<char> text = text_of(me().id, message, length);
    FM_stream *stream = begin(dest, static_cast<uint32_t>(sizeof head) + length, handler);
    REQUIRE(stream);
    FM_send_piece(stream, &head, sizeof head);
    for (uint32_t at = 0; at < length;) {
        const auto part =
            std::min<uint32_t>(length - at, static_cast<uint32_t>(me().rng.below(piece_max) + 1));
        FM_send_piece(stream, &text[at], part);
        at += part;
    }
    FM_end_message(stream);
}

/// A handler for it: receives in pieces of its own, checks bytes and order.
inline int check_pieces(FM_stream *stream, unsigned sender)
{
    Me &m = me();
    Head head{};
    CHECK(FM_receive(&head, stream, sizeof head) == sizeof head);
    CHECK(head.message == m.next[sender]++);
    std::vector<char> text(head.length);
    const auto most = static_cast<uint32_t>(m.rng.below(4) ? m.rng.below(20000) + 1 : head.length + 1);
    for (uint32_t at = 0; at < head.length;) {
        const auto part = std::min<uint32_t>(head.length - at, static_cast<uint32_t>(m.rng.below(most) + 1));
        if (FM_receive(&text[at], stream, part) != part) {
            CHECK(!"all bytes");
            break;
        }
        at += part;
    }
    CHECK(text == text_of(sender, head.message, head.length));
    m.count++;
    return FM_CONTINUE;
}

} // namespace emx::fmtest

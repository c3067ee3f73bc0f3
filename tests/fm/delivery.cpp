// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fast Messages deliver: any length, any pieces, any network; among many nodes; with all memory full.
#include "job.hpp"

#include <algorithm>

namespace emx::fmtest {
namespace {

constexpr uint32_t pieces_id = 1, words_id = 2, whole_id = 3;

int words(void *buffer, unsigned size, unsigned sender)
{
    ULONG w[4] = {};
    CHECK(size == sizeof w);
    std::copy_n(static_cast<const char *>(buffer), sizeof w, reinterpret_cast<char *>(w));
    CHECK(w[0] == me().next[sender]++);
    CHECK((w[1] == sender && w[2] == 2 && w[3] == 3));
    me().count++;
    return FM_CONTINUE;
}

int whole(void *buffer, unsigned size, unsigned sender)
{
    const char *text = static_cast<const char *>(buffer);
    CHECK(std::vector<char>(text, text + size) == text_of(sender, me().next[sender]++, size));
    me().count++;
    return FM_CONTINUE;
}

void registers(Me &)
{
    CHECK(FM_register_handler(pieces_id, check_pieces) == pieces_id);
    CHECK(FM_register_handler_1(words_id, words) == words_id);
    CHECK(FM_register_handler_1(whole_id, whole) == whole_id);
}

const uint32_t lengths[] = {0,      1,      8,      100,    4079,          4080,          4081,
                            4087,   4088,   4089,   4097,   8177,          20000,         32752,
                            32760,  32768,  32769,  36860,  65536,         100000,        131000,
                            135152, 135153, 140000, 300000, (1 << 20) - 8, (1 << 20) + 1, 3000000};

/// Node 0 sends each length to the last, which answers nothing.
void one_way(const Plan &plan, uint32_t piece_max)
{
    Job job(
        plan,
        [&](Me &m) {
            uint32_t message = 0;
            if (m.id == 0)
                for (uint32_t length : lengths)
                    send_pieces(m.nodes - 1, pieces_id, message++, length, piece_max);
            if (m.id == m.nodes - 1)
                m.until([&] { return m.count == std::size(lengths); });
        },
        registers);
    job.run();
    CHECK(job.members.back()->count == std::size(lengths));
}

/// Everybody sends to everybody, itself included, and extracts when it must.
void all_to_all(const Plan &plan, uint32_t messages, uint32_t length_max)
{
    Job job(
        plan,
        [&](Me &m) {
            for (uint32_t i = 0; i < messages; i++)
                for (uint32_t to = 0; to < m.nodes; to++)
                    send_pieces((m.id + to) % m.nodes, pieces_id, i,
                                static_cast<uint32_t>(m.rng.below(length_max + 1)), length_max);
            m.until([&] { return m.count == uint64_t{messages} * m.nodes; });
        },
        registers);
    job.run();
    for (auto &m : job.members) {
        CAPTURE(m->id);
        CHECK(m->count == uint64_t{messages} * m->nodes);
        CHECK(m->node->held() == 0);
    }
}

} // namespace

TEST_CASE("messages of any length and pieces arrive, in every dialect, between hosts and within one")
{
    const struct {
        char dialect;
        uint32_t mtu, hosts;
        bool polled;
    } configs[] = {{'W', 0, 2, false}, {'W', 0, 1, true}, {'N', 9000, 2, true}, {'N', 1500, 2, false}};
    for (const auto &c : configs)
        for (const uint32_t piece_max : {300u, 50000u, 4000000u}) {
            CAPTURE(c.dialect, c.mtu, c.hosts, piece_max);
            Plan plan;
            plan.dialect = c.dialect;
            plan.mtu = c.mtu;
            plan.hosts = c.hosts;
            plan.polled = c.polled;
            one_way(plan, piece_max);
        }
}

TEST_CASE("messages arrive, in order, through a network that loses, repeats and reorders")
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        CAPTURE(seed);
        Plan plan = Plan::rough(seed);
        if (seed % 2 == 0) {
            plan.dialect = 'N';
            plan.mtu = 1500;
        }
        one_way(plan, 100000);
        plan.nodes = 3;
        plan.hosts = 3;
        all_to_all(plan, 12, 30000);
    }
}

TEST_CASE("whole messages of FM 1.x arrive, in order")
{
    for (const bool rough : {false, true}) {
        CAPTURE(rough);
        constexpr uint32_t four_words = 500;
        Job job(
            rough ? Plan::rough(7) : Plan{},
            [&](Me &m) {
                if (m.id == 0) {
                    for (uint32_t i = 0; i < four_words; i++)
                        CHECK(FM_send_4(1, words_id, i, 0, 2, 3) == 0);
                    for (uint32_t i = 0; i < std::size(lengths); i++)
                        CHECK(FM_send(1, whole_id, text_of(0, four_words + i, lengths[i]).data(),
                                      lengths[i]) == 0);
                } else {
                    m.until([&] { return m.count == four_words + std::size(lengths); });
                }
            },
            registers);
        job.run();
        CHECK(job.members[1]->count == four_words + std::size(lengths));
    }
}

TEST_CASE("all to all ends, though the smallest memory is full all the time")
{
    Plan plan;
    plan.nodes = 8;
    plan.hosts = 4;
    plan.memory = 1; // windows of four packets
    all_to_all(plan, 40, 4000);
    all_to_all(plan, 10, 8000);
    plan.loss = plan.duplicate = plan.reorder = 50;
    all_to_all(plan, 20, 4000);
}

TEST_CASE("all to all ends with long messages in windows that wide packets fill at once")
{
    Plan plan;
    plan.nodes = 4;
    plan.hosts = 2;
    plan.memory = 2 * 4096 * plan.nodes * (32 + 6);
    for (const uint64_t seed : {0, 1, 2}) {
        CAPTURE(seed);
        plan.seed = seed;
        all_to_all(plan, 6, 60000); // longer ones wait for their receiver
        plan.loss = plan.duplicate = plan.reorder = 20;
    }
}

TEST_CASE("a ring of nodes that only send until they are told to extract ends")
{
    Plan plan;
    plan.nodes = 5;
    plan.hosts = 5;
    Job job(
        plan,
        [](Me &m) {
            for (uint32_t i = 0; i < 1000; i++)
                send_pieces((m.id + 1) % m.nodes, pieces_id, i, 4000, 4000);
            m.until([&] { return m.count == 1000; });
        },
        registers);
    job.run();
}

TEST_CASE("a crowd of nodes")
{
    Plan plan;
    plan.nodes = sim::crowd;
    plan.hosts = 8;
    all_to_all(plan, 2, 6000);
    plan.loss = 50;
    all_to_all(plan, 1, 3000);
}

} // namespace emx::fmtest

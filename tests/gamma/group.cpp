// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Operations of all nodes: barrier, broadcast, agreement, the end. And handlers: one at a time, and none
// waits.
#include "job.hpp"

#include <algorithm>

namespace emx::gammatest {
namespace {

/// Inside a handler, or gamma_atomic.
void nothing_waits()
{
    char byte = 0;
    CHECK(gamma_wait(9, 1) == -GAMMA_E_IN_HANDLER);
    CHECK(gamma_sync() == -GAMMA_E_IN_HANDLER);
    CHECK(gamma_broadcast(0, &byte, 1) == -GAMMA_E_IN_HANDLER);
    CHECK(gamma_wsend(1) == -GAMMA_E_IN_HANDLER);
    CHECK(gamma_exit() == -GAMMA_E_IN_HANDLER);
    CHECK(gamma_test(9) == 0);
}

void count_one() { me().count++; }

const unsigned long broadcast_lengths[] = {0, 1, 100, 4096, 32752, 32753, 100000, 1000000};

/// Each node broadcasts each length in turn.
void broadcasts(const Plan &plan)
{
    Job job(plan, [](Me &m) {
        uint64_t number = 0;
        for (const unsigned long length : broadcast_lengths)
            for (unsigned short root = 0; root < std::min(m.nodes, 6u); root++) {
                std::vector<char> memory = text_of(root, ++number, m.id == root ? length : 0);
                memory.resize(length);
                CHECK(gamma_broadcast(root, memory.data(), length) == 0);
                CHECK(memory == text_of(root, number, length));
                if (m.rng.below(4) == 0)
                    m.sleep(m.rng.below(100) * sim::us);
            }
        m.count = number;
        CHECK(gamma_sync() == 0);
    });
    job.run();
    for (auto &m : job.members)
        CHECK(m->count == std::size(broadcast_lengths) * std::min(plan.nodes, 6u));
}

void barriers(const Plan &plan, uint64_t rounds)
{
    Job job(plan, [=](Me &m) {
        for (; m.count < rounds; m.count++) {
            m.sleep(m.rng.below(50) * sim::us);
            for (auto &other : Job::current->members)
                CHECK(
                    (other->count == m.count || other->count == m.count + 1 || other->count + 1 == m.count));
            CHECK(gamma_sync() == 0);
            for (auto &other : Job::current->members) // nobody was left behind
                CHECK(other->count + 1 >= m.count + 1);
        }
    });
    job.run();
}

} // namespace

TEST_CASE("a barrier holds all until the last has come")
{
    for (const uint32_t nodes : {1u, 2u, 3u, 8u}) {
        CAPTURE(nodes);
        barriers(Plan::of(nodes, nodes), 50);
        Plan rough = Plan::rough(nodes);
        rough.nodes = nodes;
        rough.hosts = 2;
        barriers(rough, 20);
    }
}

TEST_CASE("a broadcast brings all bytes to all, from any node")
{
    for (const uint32_t nodes : {1u, 2u, 5u}) {
        CAPTURE(nodes);
        broadcasts(Plan::of(nodes, nodes));
        Plan rough = Plan::rough(nodes);
        rough.nodes = nodes;
        rough.hosts = 2;
        broadcasts(rough);
    }
}

TEST_CASE("the slowest receiver sets the pace of a broadcast, and its memory is bounded")
{
    uint32_t sent = 0, sent_meanwhile = 0;
    Job job(Plan::of(4, 4), [&](Me &m) {
        std::vector<char> memory(20000);
        if (m.id == 2) {
            m.sleep(sim::sec);
            sent_meanwhile = sent;
        }
        for (uint32_t i = 0; i < 30; i++) {
            memory[0] = static_cast<char>(m.id ? 0 : i);
            CHECK(gamma_broadcast(0, memory.data(), memory.size()) == 0);
            CHECK(memory[0] == static_cast<char>(i));
            sent += m.id == 0;
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
    CHECK(sent == 30);
    CHECK(sent_meanwhile == emx_gamma::window_units / 5);
}

TEST_CASE("nodes that do not agree are told, all of them")
{
    const std::function<int(Me &)> ways[] = {
        [](Me &m) { // length, longer or shorter than the root's
            char bytes[100];
            return gamma_broadcast(0, bytes, m.id == 2 ? 10 : 50);
        },
        [](Me &m) {
            char bytes[100];
            return gamma_broadcast(0, bytes, m.id == 2 ? 100 : 50);
        },
        [](Me &m) { // root
            char byte;
            return gamma_broadcast(m.id == 0 ? 0 : 1, &byte, 1);
        },
        [](Me &m) { // barrier or broadcast
            char byte;
            return m.id == 1 ? gamma_sync() : gamma_broadcast(0, &byte, 1);
        },
    };
    for (const auto &way : ways)
        for (const bool rough : {false, true}) {
            CAPTURE(&way - ways, rough);
            Plan plan = rough ? Plan::rough(3) : Plan{};
            plan.nodes = plan.hosts = 3;
            Job job(plan, [&](Me &m) {
                const int result = way(m);
                CHECK((result == 0 || result == -GAMMA_E_GROUP));
                CHECK((gamma_sync() == -GAMMA_E_GROUP));
                char byte;
                CHECK(gamma_broadcast(0, &byte, 1) == -GAMMA_E_GROUP);
                // Ports are not disturbed.
                CHECK(passive(1, (m.id + 1) % 3, 1, &byte, 1) == 0);
                while (gamma_send_flowctl(1, &byte, 1) == 0 && gamma_wait(1, 1) == -GAMMA_E_NO_PORT) {
                }
                m.count++;
            });
            job.run();
            CHECK(job.members[0]->count + job.members[1]->count + job.members[2]->count == 3);
        }
}

TEST_CASE("a barrier that waits for a node that is killed, or has left, ends with an error, at all")
{
    for (const bool killed : {false, true})
        for (const uint32_t gone : {0u, 2u}) {
            CAPTURE(killed, gone);
            Job job(Plan::of(4, 2), [=](Me &m) {
                CHECK(gamma_sync() == 0);
                if (m.id == gone) {
                    m.sleep(100 * sim::ms); // all others are in the barrier
                    if (killed)
                        m.process->kill();
                    return;
                }
                CHECK(gamma_sync() == -GAMMA_E_PEER);
                CHECK(error() == GAMMA_E_PEER);
                m.count++;
            });
            job.run();
            for (auto &m : job.members)
                CHECK(m->count == (m->id != gone));
        }
}

TEST_CASE("a broadcast whose root is killed, or has left, ends with an error")
{
    for (const bool killed : {false, true}) {
        CAPTURE(killed);
        Job job(Plan::of(3, 3), [=](Me &m) {
            char byte = 0;
            CHECK(gamma_sync() == 0);
            if (m.id == 1 && killed)
                m.process->kill();
            if (m.id == 1)
                return;
            CHECK(gamma_broadcast(1, &byte, 1) == -GAMMA_E_PEER);
            CHECK(gamma_sync() == -GAMMA_E_PEER);
            if (m.id == 2)
                CHECK(gamma_broadcast(0, &byte, 1) == 0); // the root lives
            else
                CHECK(gamma_broadcast(0, &byte, 1) == -GAMMA_E_PEER); // not all got it
        });
        job.run();
    }
}

TEST_CASE("a handler may send and post, and nothing waits in it")
{
    Job job(Plan{}, [](Me &m) {
        static const auto handler = [] {
            Me &me = gammatest::me();
            nothing_waits();
            CHECK(gamma_active_port == 1);
            const unsigned long length = gamma_msglen;
            if (me.id == 1) {
                CHECK(gamma_send_flowctl(1, me.memory.data(), length) == 0); // has room
                CHECK(gamma_send(2, me.memory.data(), 100000) == -GAMMA_E_IN_HANDLER);
                int sent = 0;
                while (gamma_send_flowctl(2, me.memory.data(), 1) == 0)
                    sent++;
                CHECK(gamma_errno == GAMMA_E_FULL);
                CHECK(sent == (me.count ? 0 : 16));
                CHECK(gamma_isend_flowctl(2, me.memory.data(), 1) == 0); // waits without us
            }
            me.count++;
            CHECK(gamma_post_recv(1, me.memory.data(), me.memory.size()) == 0);
            CHECK((gamma_msglen == length && gamma_active_port == 1));
        };
        m.memory.resize(5000);
        CHECK(active(
                  1, 1 - m.id, 1, [] { handler(); }, m.memory.data(), m.memory.size()) == 0);
        CHECK(passive(2, 1 - m.id, 2, nullptr, 0) == 0);
        CHECK(gamma_sync() == 0);
        for (unsigned long i = 0; i < 10; i++) {
            if (m.id == 0)
                CHECK(gamma_send_flowctl(1, text_of(0, i, i * 500).data(), i * 500) == 0);
            CHECK(gamma_wait(1, 1) == 0);
            CHECK(m.count == i + 1);
        }
        CHECK(gamma_sync() == 0);
        char byte;
        for (int i = 0; m.id == 0 && i < 26; i++) {
            CHECK(gamma_post_recv(2, &byte, 1) == 0);
            CHECK(gamma_wait(2, 1) == 0);
        }
    });
    job.run();
}

TEST_CASE("gamma_atomic: no handler runs, and nothing waits")
{
    Job job(Plan{}, [](Me &m) {
        char byte = 0;
        CHECK(active(1, 1 - m.id, 1, count_one, &byte, 1) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 0) {
            CHECK(gamma_send_flowctl(1, &byte, 1) == 0);
        } else {
            m.sleep(10 * sim::ms);
            CHECK(gamma_atomic([] {
                      nothing_waits();
                      for (int i = 0; i < 100; i++)
                          gamma_test(9); // takes in, and runs no handler
                      CHECK(gammatest::me().count == 0);
                      CHECK(gamma_atomic([] { gammatest::me().seen.push_back("inner"); }) == 0);
                      nothing_waits(); // still
                  }) == 0);
            CHECK(m.count == 1); // it waited for the end
            CHECK(m.seen.size() == 1);
            CHECK(gamma_wait(1, 1) == 0);
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

TEST_CASE("gamma_abort ends all")
{
    Job job(Plan::of(4, 2), [](Me &m) {
        CHECK(gamma_sync() == 0);
        if (m.id == 2) {
            m.sleep(sim::ms);
            CHECK(gamma_abort() == 0);
            m.process->kill();
        }
        gamma_wait(1, 1);
        CHECK(!"goes on");
    });
    job.run();
    for (auto &process : job.processes)
        CHECK(process->killed());
}

TEST_CASE("gamma_exit ends pending operations")
{
    Job job(Plan::rough(5), [](Me &m) {
        static std::vector<char> bytes(1000);
        char byte[100];
        CHECK(passive(1, 1 - m.id, 1, nullptr, 0) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 0)
            for (uint32_t i = 0; i < 100; i++)
                CHECK(gamma_isend_flowctl(1, &(bytes[i] = static_cast<char>(i)), 1) == 0);
        else
            for (uint32_t i = 0; i < 100; i++) {
                CHECK(gamma_post_recv(1, &byte[i], 1) == 0);
                CHECK(gamma_wait(1, 1) == 0);
                CHECK(byte[i] == static_cast<char>(i));
            }
    });
    job.run();
}

} // namespace emx::gammatest

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Broadcasts by one frame for all hosts: who gets them, what is repaired, and what ends them.
#include "job.hpp"

#include <algorithm>
#include <compat/cast/group.hpp>

namespace emx::gammatest {
namespace {

constexpr uint8_t type_at = 16; ///< of a frame

/// Counts frames to the group.
uint64_t count_frames(Job &job, uint64_t &count)
{
    job.network.tap = [&count](const sim::Frame &frame) { count += frame[type_at] == EMX_X_GROUP; };
    return count = 0;
}

/// A broadcast of that number, of `length` bytes, checked.
int broadcast(const Me &m, unsigned short root, uint64_t number, unsigned long length)
{
    std::vector<char> memory = text_of(root, number, m.id == root ? length : 0);
    memory.resize(length);
    const int result = gamma_broadcast(root, memory.data(), length);
    if (result == 0)
        CHECK(memory == text_of(root, number, length));
    return result;
}

/// From here on all roots send by frames.
void warm_up(const Me &m)
{
    for (int round = 0; round < 3; round++) {
        for (uint32_t root = 0; root < m.nodes; root++)
            CHECK(broadcast(m, static_cast<unsigned short>(root), 1, 10) == 0);
        CHECK(gamma_sync() == 0);
    }
}

} // namespace

TEST_CASE("a broadcast is one frame for all hosts once all nodes have made one")
{
    uint64_t frames = 0, messages = 0;
    Job job(Plan::of(8, 8), [&](Me &m) {
        warm_up(m);
        if (m.id == 0)
            frames = messages = 0;
        CHECK(gamma_sync() == 0);
        for (uint64_t i = 0; i < 20; i++)
            CHECK(broadcast(m, 3, i, 1000) == 0);
        CHECK(gamma_sync() == 0);
    });
    count_frames(job, frames);
    job.network.tap = [&](const sim::Frame &frame) {
        frames += frame[type_at] == EMX_X_GROUP;
        messages += frame[type_at] != EMX_X_GROUP && frame.size() > 1000;
    };
    job.run();
    CHECK(frames == 20);
    CHECK(messages == 0);
}

TEST_CASE("nodes on one board, or two of them, make no group")
{
    for (const auto &[nodes, hosts] : {std::pair(4u, 1u), {2u, 2u}}) {
        CAPTURE(nodes, hosts);
        uint64_t frames = 0;
        Job job(Plan::of(nodes, hosts), warm_up);
        count_frames(job, frames);
        job.run();
        CHECK(frames == 0);
    }
}

TEST_CASE("a node that cannot join keeps all broadcasts in messages")
{
    Plan plan = Plan::rough(4);
    plan.nodes = plan.hosts = 4;
    plan.deaf = 2;
    uint64_t frames = 0;
    Job job(plan, [](Me &m) {
        warm_up(m);
        for (uint64_t i = 0; i < 20; i++)
            CHECK(broadcast(m, i % 4, i, i * 3000) == 0);
    });
    count_frames(job, frames);
    job.run();
    CHECK(frames == 0);
}

TEST_CASE("broadcasts by frames survive loss, repeats and disorder, and roots that leave after them")
{
    for (uint64_t seed = 1; seed <= (sim::sanitized ? 2 : 8); seed++) {
        CAPTURE(seed);
        Plan plan = Plan::rough(seed);
        plan.nodes = 6;
        plan.hosts = seed % 2 ? 6 : 3;
        uint64_t frames = 0;
        Job job(plan, [](Me &m) {
            warm_up(m);
            for (uint64_t i = 0; i < 60; i++) {
                CHECK(broadcast(m, i % 5, i, i * i * 30) == 0);
                if (m.rng.below(8) == 0)
                    m.sleep(m.rng.below(2000) * sim::us);
            }
            for (uint64_t i = 0; i < 10; i++)
                CHECK(broadcast(m, 1, i, 100) == 0);
            // Node 1 is in gamma_exit here while others still lack its frames.
        });
        count_frames(job, frames);
        job.run();
        CHECK(frames > 60);
    }
}

TEST_CASE("a crowd of nodes on eight hosts gets every byte of every root with one frame of twenty lost")
{
    Plan plan = Plan::rough(64);
    plan.nodes = crowd;
    plan.hosts = 8;
    Job job(plan, [](Me &m) {
        for (uint64_t i = 0; i < 30; i++)
            CHECK(broadcast(m, i % 2 ? 5 : crowd - 4, i, i * 500) == 0);
        m.count = 1;
    });
    job.run();
    for (auto &m : job.members)
        CHECK(m->count == 1);
}

TEST_CASE("a root that sends by frames is never further ahead of the slowest than their window")
{
    uint64_t sent = 0, sent_meanwhile = 0;
    Job job(Plan::of(4, 4), [&](Me &m) {
        warm_up(m);
        if (m.id == 2) {
            m.sleep(sim::sec);
            sent_meanwhile = sent;
        }
        for (uint64_t i = 0; i < 200; i++) {
            CHECK(broadcast(m, 0, i, 100) == 0);
            sent += m.id == 0;
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
    CHECK(sent == 200);
    CHECK(sent_meanwhile > cast::window / 2);
    CHECK(sent_meanwhile <= cast::window);
}

TEST_CASE("a killed receiver ends broadcasts by frames at their root alone")
{
    for (const bool rough : {false, true}) {
        Plan plan = rough ? Plan::rough(11) : Plan{};
        plan.nodes = plan.hosts = 4;
        Job job(plan, [](Me &m) {
            warm_up(m);
            int told = 0;
            for (uint64_t i = 0; i < 300; i++) {
                if (m.id == 3 && i == 40)
                    m.process->kill();
                const int result = broadcast(m, 0, i, 2000);
                CHECK((result == 0 || (m.id == 0 && result == -GAMMA_E_PEER)));
                told += result != 0;
            }
            CHECK((told > 0) == (m.id == 0));
            m.count = 1;
        });
        job.run();
        for (uint32_t i = 0; i < 3; i++)
            CHECK(job.members[i]->count == 1);
    }
}

TEST_CASE("a root that is killed, or leaves, among its broadcasts by frames ends them everywhere")
{
    for (const bool killed : {false, true}) {
        CAPTURE(killed);
        Job job(Plan::of(4, 4), [=](Me &m) {
            warm_up(m);
            for (uint64_t i = 0; i < 40; i++)
                CHECK(broadcast(m, 1, i, 2000) == 0);
            CHECK(gamma_sync() == 0);
            if (m.id == 1 && killed)
                m.process->kill();
            if (m.id == 1)
                return;
            CHECK(broadcast(m, 1, 40, 2000) == -GAMMA_E_PEER);
            m.count = 1;
        });
        job.run();
        for (uint32_t i = 0; i < 4; i++)
            CHECK(job.members[i]->count == (i != 1));
    }
}

TEST_CASE("nodes that do not agree on a broadcast by frames are told, all of them")
{
    const std::function<int(Me &)> ways[] = {
        [](Me &m) { return broadcast(m, 0, 1, m.id == 2 ? 10 : 50); },
        [](Me &m) { return broadcast(m, 0, 1, m.id == 2 ? 30000 : 50); },
        [](Me &m) { return broadcast(m, m.id == 0 ? 0 : 1, 1, 1); },
        [](Me &m) { return m.id == 1 ? gamma_sync() : broadcast(m, 0, 1, 1); },
    };
    for (const auto &way : ways) {
        CAPTURE(&way - ways);
        Job job(Plan::of(3, 3), [&](Me &m) {
            warm_up(m);
            way(m);
            CHECK(gamma_sync() == -GAMMA_E_GROUP);
            CHECK(broadcast(m, 0, 2, 1) == -GAMMA_E_GROUP);
            m.count++;
        });
        job.run();
        for (auto &m : job.members)
            CHECK(m->count == 1);
    }
}

} // namespace emx::gammatest

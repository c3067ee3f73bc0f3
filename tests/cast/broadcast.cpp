// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Broadcast and barrier of a group: every byte to every member, whatever the network does.
#include "job.hpp"

#include <algorithm>
#include <span>

namespace emx::casttest {
namespace {

using cast::Outcome;

const uint32_t lengths[] = {0, 1, 100, 4000, 5000, 100000, 600000};

/// Each of some members broadcasts each length in turn.
void broadcasts(const Plan &plan, uint32_t roots, bool pauses, std::span<const uint32_t> sizes = lengths)
{
    Job job(plan, [=](Me &m) {
        uint64_t number = 0;
        for (const uint32_t length : sizes)
            for (uint32_t i = 0; i < std::min(m.nodes, roots); i++) {
                const uint32_t root = (i * 5) % m.nodes;
                std::vector<char> memory = sim::text_of(root, ++number, m.id == root ? length : 0);
                memory.resize(length);
                CHECK(m.broadcast(root, memory) == Outcome::done);
                CHECK((memory == sim::text_of(root, number, length)));
                if (pauses && m.rng.below(4) == 0)
                    m.sleep(m.rng.below(300) * sim::us);
            }
        m.count = number;
        m.group->begin_close();
        CHECK(m.finish() == Outcome::done);
    });
    job.run();
    for (auto &m : job.members)
        CHECK(m->count == sizes.size() * std::min(plan.nodes, roots));
}

} // namespace

TEST_CASE("a broadcast brings all bytes to all, from any member")
{
    for (const auto &[nodes, hosts] : {std::pair(2u, 2u), {5u, 5u}, {8u, 4u}, {6u, 2u}}) {
        CAPTURE(nodes, hosts);
        broadcasts(Plan::of(nodes, hosts), 4, true);
    }
}

TEST_CASE("a broadcast survives loss, repeats and disorder")
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        CAPTURE(seed);
        broadcasts(Plan::of(6, 3).rough(seed), 4, true);
    }
}

TEST_CASE("a crowd of members on eight hosts gets every byte with one frame of twenty lost")
{
    const uint32_t sizes[] = {0, 100, 10000};
    broadcasts(Plan::of(sim::crowd, 8).rough(64), 2, false, sizes);
}

TEST_CASE("members that are in no group are served by messages")
{
    Plan plan = Plan::of(6, 3);
    plan.deaf = 1;
    broadcasts(plan, 6, true);
    broadcasts(plan.rough(2), 6, true);
    plan.deaf = 0; // member 0 sends to no group
    broadcasts(plan.rough(3), 6, true);
}

TEST_CASE("a group of one host, and of one member, does without the network")
{
    broadcasts(Plan::of(4, 1), 4, true);
    broadcasts(Plan::of(1, 1), 1, true);
}

TEST_CASE("a sender is never further ahead of the slowest than its window")
{
    uint32_t sent = 0;
    Job job(Plan::of(3, 3), [&](Me &m) {
        for (uint32_t i = 0; i < 400; i++) {
            std::vector<char> memory = sim::text_of(0, i, m.id == 0 ? 64 : 0);
            memory.resize(64);
            if (m.id == 2 && i % 50 == 10)
                m.sleep(3 * sim::ms); // slow, and deaf meanwhile
            CHECK(m.broadcast(0, memory) == Outcome::done);
            CHECK((memory == sim::text_of(0, i, 64)));
            if (m.id == 0)
                sent = i + 1;
            else
                CHECK(sent <= i + 1 + cast::window);
            m.count++;
        }
        m.group->begin_close();
        CHECK(m.finish() == Outcome::done);
    });
    job.run();
    CHECK(job.members[2]->count == 400);
}

TEST_CASE("losses are repaired without waiting for long timers")
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        Plan plan = Plan::of(4, 4);
        plan.seed = seed;
        plan.loss = 50;
        uint64_t longest = 0;
        Job job(plan, [&](Me &m) {
            CHECK(m.barrier() == Outcome::done);
            for (uint32_t i = 0; i < 100; i++) {
                std::vector<char> memory = sim::text_of(0, i, m.id == 0 ? 20000 : 0);
                memory.resize(20000);
                const uint64_t begin = m.process->world().now();
                CHECK(m.broadcast(0, memory) == Outcome::done);
                longest = std::max(longest, m.process->world().now() - begin);
            }
            m.group->begin_close();
            CHECK(m.finish() == Outcome::done);
        });
        job.run();
        CAPTURE(seed, longest);
        CHECK(longest < 30 * sim::ms);
        CHECK(job.members[0]->counts.repeated > 0);
    }
}

TEST_CASE("with checksums no altered bit reaches a broadcast, and every member gets it")
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        Plan plan = Plan::of(4, 4);
        plan.seed = seed;
        Job *running = nullptr;
        Job job(plan, [&](Me &m) {
            CHECK(m.barrier() == Outcome::done);
            running->network.faults.flip = 30;
            for (uint32_t i = 0; i < 50; i++) {
                std::vector<char> memory = sim::text_of(0, i, m.id == 0 ? 20000 : 0);
                memory.resize(20000);
                CHECK(m.broadcast(0, memory) == Outcome::done);
                CHECK((memory == sim::text_of(0, i, 20000)));
            }
            m.group->begin_close();
            CHECK(m.finish() == Outcome::done);
        });
        for (auto &process : job.processes)
            process->environment["EMX_CHECKSUM"] = "1";
        running = &job;
        job.network.faults.flip_only = EMX_X_GROUP; // others are for tests/sim/fragments.cpp
        job.run();
        CAPTURE(seed);
        CHECK(job.network.flipped > 10);
        uint64_t dropped = 0;
        for (auto &host : job.hosts)
            dropped += host->boards[0]->counters.v[EMX_CNT_DROP_CHECKSUM];
        CHECK(dropped > 0);
        CHECK(dropped <= job.network.flipped);
    }
}

TEST_CASE("one frame serves all hosts")
{
    Job job(Plan::of(8, 8), [](Me &m) {
        std::vector<char> memory(1000, 'x');
        for (int i = 0; i < 10; i++)
            CHECK(m.broadcast(0, memory) == Outcome::done);
        m.group->begin_close();
        CHECK(m.finish() == Outcome::done);
    });
    uint64_t frames = 0;
    job.network.tap = [&](const sim::Frame &frame) { frames += frame[16] == EMX_X_GROUP; };
    job.run();
    CHECK(frames >= 10);
    CHECK(frames <= 20); // repeats of some that came before their group was made
}

TEST_CASE("a barrier holds all until the last has come")
{
    for (const bool rough : {false, true}) {
        Plan plan = Plan::of(6, 3);
        if (rough)
            plan = plan.rough(9);
        std::vector<uint64_t> counts(6);
        Job job(plan, [&](Me &m) {
            for (; m.count < 30; m.count++) {
                m.sleep(m.rng.below(200) * sim::us);
                counts[m.id] = m.count + 1;
                CHECK(m.barrier() == Outcome::done);
                CHECK(*std::min_element(counts.begin(), counts.end()) >= m.count + 1);
            }
            m.group->begin_close();
            CHECK(m.finish() == Outcome::done);
        });
        job.run();
        CHECK(job.members[5]->count == 30);
    }
}

TEST_CASE("a member that dies ends the broadcasts that need it, with an error, and no others' bytes are lost")
{
    for (const uint32_t victim : {0u, 2u}) {
        CAPTURE(victim);
        Job *running = nullptr;
        Job job(Plan::of(4, 4), [&](Me &m) {
            Outcome outcome = Outcome::done;
            for (uint32_t i = 0; i < 1000 && outcome == Outcome::done; i++) {
                if (m.id == victim && i == 40)
                    running->processes[victim]->kill();
                std::vector<char> memory = sim::text_of(0, i, m.id == 0 ? 3000 : 0);
                memory.resize(3000);
                outcome = m.broadcast(0, memory);
                if (outcome == Outcome::done)
                    CHECK((memory == sim::text_of(0, i, 3000)));
                m.count = i;
            }
            if (victim == 0 || m.id == 0)
                CHECK(outcome == Outcome::dead);
            m.outcomes.push_back(outcome);
            if (m.id == 0) // the others wait for the sender in vain, until it is gone as well
                m.sleep(sim::ms);
        });
        running = &job;
        job.run(50 * sim::sec);
        for (uint32_t i = 0; i < 4; i++)
            if (i != victim)
                CHECK(job.members[i]->outcomes.size() == 1);
    }
}

TEST_CASE("members that do not agree get an error")
{
    Job job(Plan::of(2, 2), [](Me &m) {
        std::vector<char> memory(m.id == 0 ? 100 : 50);
        const Outcome outcome = m.broadcast(0, memory);
        CHECK(outcome == (m.id == 0 ? Outcome::done : Outcome::disagreed));
        m.idle(sim::ms);
    });
    job.run();
}

} // namespace emx::casttest

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A job of a layer over MX (compat/job) in the simulator: its nodes are processes of simulated hosts, and the
// layer's C functions that one of them calls act on it.
//
// A Layer tells how: types Options, Node and Me (derived from Member<Node>), choose(which) that sets the hook
// by which its C functions find their node, and leave(), its last call.
#pragma once

#include "process.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emx::sim {

/// True in a build with the address sanitizer, which takes ten times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
/// Nodes of a large job: all to all takes the square of it.
constexpr uint32_t crowd = sanitized ? 32 : 64;

struct Plan {
    uint32_t nodes = 2;
    uint32_t hosts = 2;
    char dialect = 'W';
    uint32_t mtu = 0;
    uint64_t seed = 1;
    uint32_t loss = 0, duplicate = 0, reorder = 0; ///< per mille
    bool polled = false;
    uint32_t deaf = ~0u; ///< host whose frames are too short for groups

    void make_rough(uint64_t with_seed)
    {
        seed = with_seed;
        loss = duplicate = reorder = 50;
    }
};

/// The node that runs, and what it has seen.
template <class Node>
struct Member {
    Member(uint32_t number, uint32_t all, uint64_t seed)
        : id(number), nodes(all), next(all), rng(seed * 1000 + number)
    {
    }
    uint32_t id;
    uint32_t nodes;
    Process *process = nullptr;
    std::unique_ptr<Node> node;
    std::string wrong; ///< of its start
    std::vector<std::string> seen; ///< for the test's own use
    uint64_t count = 0;
    std::vector<uint64_t> next; ///< message expected, by sender
    test::Rng rng;

    void sleep(uint64_t ns) { process->sleep(ns); }
};

template <class Layer>
class Job {
public:
    using Me = typename Layer::Me;
    using Body = std::function<void(Me &)>;

    /// `before` runs on each node before it joins.
    Job(const Plan &plan, const typename Layer::Options &options, Body body, Body before = nullptr)
        : world(plan.seed), network(world), options_(options), before_(std::move(before)),
          body_(std::move(body))
    {
        network.faults.loss = plan.loss;
        network.faults.duplicate = plan.duplicate;
        network.faults.reorder = plan.reorder;
        HostOptions o;
        o.dialect = plan.dialect;
        o.dialect_mtu = plan.mtu;
        o.polled = plan.polled;
        for (uint32_t i = 0; i < plan.hosts; i++) {
            HostOptions own = o;
            if (i == plan.deaf)
                own.x_frame = 0;
            hosts.push_back(std::make_unique<Host>(world, network, i, own));
        }
        introduce(hosts, world.rng);
        options_.quiet = true;
        for (uint32_t i = 0; i < plan.nodes; i++)
            options_.places.push_back({hosts[i % plan.hosts]->boards[0]->fw().mac, i / plan.hosts});
        current = this;
        Layer::choose([] { return Job::current->me().node.get(); });
        for (uint32_t i = 0; i < plan.nodes; i++) {
            members.push_back(std::make_unique<Me>(i, plan.nodes, plan.seed));
            processes.push_back(
                std::make_unique<Process>(*hosts[i % plan.hosts], "node " + std::to_string(i),
                                          [this, i](Process &p) { run_node(*members[i], p); }));
        }
    }
    ~Job() { Layer::choose(nullptr); }
    Job(const Job &) = delete;

    /// Runs until all have ended, or were killed.
    void run(uint64_t limit = 1000 * sec)
    {
        const bool ended = world.run(
            [this] {
                for (auto &p : processes)
                    if (!p->done())
                        return false;
                return true;
            },
            world.now() + limit);
        for (auto &m : members) {
            CAPTURE(m->id, m->wrong);
            CHECK((processes[m->id]->done() || !"hangs"));
            CHECK(m->wrong.empty());
        }
        CHECK(ended);
        CHECK(network.violation() == "");
    }

    Me &me() { return *by_task_.at(world.current()); }

    World world;
    Network network;
    std::vector<std::unique_ptr<Host>> hosts;
    std::vector<std::unique_ptr<Me>> members;
    std::vector<std::unique_ptr<Process>> processes;
    static inline Job *current = nullptr;

private:
    void run_node(Me &m, Process &p)
    {
        m.process = &p;
        by_task_[world.current()] = &m;
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE(mx_init() == MX_SUCCESS);
        typename Layer::Options options = options_;
        options.node = m.id;
        options.board = 0;
        m.node = std::make_unique<typename Layer::Node>(options);
        if (before_)
            before_(m);
        m.wrong = m.node->open();
        if (m.wrong.empty()) {
            body_(m);
            Layer::leave();
        }
        mx_finalize();
    }

    typename Layer::Options options_;
    Body before_, body_;
    std::map<Task *, Me *> by_task_;
};

/// Byte of a message, by sender and number.
inline char fill(uint64_t sender, uint64_t message, uint64_t at)
{
    return static_cast<char>(sender * 101 + message * 31 + at * 7 + (at >> 8) * 3 + 1);
}

inline std::vector<char> text_of(uint64_t sender, uint64_t message, uint64_t length)
{
    std::vector<char> text(length);
    for (uint64_t i = 0; i < length; i++)
        text[i] = fill(sender, message, i);
    return text;
}

} // namespace emx::sim

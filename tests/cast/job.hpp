// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Members of a broadcast group (compat/cast) in the simulator: each a process of a simulated host.
#pragma once

#include "../sim/job.hpp"

#include <compat/cast/endpoint.hpp>

#include <mx_extensions.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emx::casttest {

struct Plan : sim::Plan {
    static Plan of(uint32_t nodes, uint32_t hosts)
    {
        Plan plan;
        plan.nodes = nodes;
        plan.hosts = hosts;
        return plan;
    }
    Plan rough(uint64_t with_seed) const
    {
        Plan plan = *this;
        plan.make_rough(with_seed);
        return plan;
    }
};

struct Me {
    uint32_t id = 0;
    uint32_t nodes = 0;
    sim::Process *process = nullptr;
    std::unique_ptr<cast::Endpoint> endpoint;
    cast::Group *group = nullptr;
    cast::Outcome last = cast::Outcome::done;
    std::vector<cast::Outcome> outcomes;
    uint64_t count = 0;
    bool ended = false;
    cast::Group::Counts counts;
    test::Rng rng{1};

    void sleep(uint64_t ns) { process->sleep(ns); }
    /// Brings to its end an operation that was begun.
    cast::Outcome finish()
    {
        while ((last = group->advance()) == cast::Outcome::busy)
            if (!endpoint->poll())
                process->sleep(2 * sim::us);
        return last;
    }
    /// Calls the library for a while and nothing else.
    void idle(uint64_t ns)
    {
        for (const uint64_t end = process->world().now() + ns; process->world().now() < end;)
            if (!endpoint->poll())
                process->sleep(2 * sim::us);
    }
    cast::Outcome broadcast(uint32_t root, std::vector<char> &data)
    {
        const auto length = static_cast<uint32_t>(data.size());
        if (root == id)
            group->begin_send(data.data(), length);
        else
            group->begin_receive(root, data.data(), length);
        return finish();
    }
    cast::Outcome barrier()
    {
        group->begin_barrier();
        return finish();
    }
};

class Job {
public:
    using Body = std::function<void(Me &)>;

    Job(const Plan &plan, Body body) : world(plan.seed), network(world), plan_(plan), body_(std::move(body))
    {
        network.faults.loss = plan.loss;
        network.faults.duplicate = plan.duplicate;
        network.faults.reorder = plan.reorder;
        for (uint32_t i = 0; i < plan.hosts; i++) {
            sim::HostOptions o;
            o.polled = plan.polled;
            if (i == plan.deaf)
                o.x_frame = 0;
            hosts.push_back(std::make_unique<sim::Host>(world, network, i, o));
        }
        sim::introduce(hosts, world.rng);
        places_.resize(plan.nodes);
        for (uint32_t i = 0; i < plan.nodes; i++) {
            members.push_back(std::make_unique<Me>());
            members[i]->id = i;
            members[i]->nodes = plan.nodes;
            members[i]->rng = test::Rng(plan.seed * 1000 + i);
            processes.push_back(
                std::make_unique<sim::Process>(*hosts[i % plan.hosts], "member " + std::to_string(i),
                                               [this, i](sim::Process &p) { run_member(i, p); }));
        }
    }

    ~Job()
    {
        for (auto &m : members)
            if (m->endpoint)
                m->endpoint->abandon();
    }
    Job(const Job &) = delete;

    void run(uint64_t limit = 1000 * sim::sec)
    {
        const bool all = world.run(
            [this] {
                for (auto &p : processes)
                    if (!p->done())
                        return false;
                return true;
            },
            world.now() + limit);
        for (uint32_t i = 0; i < plan_.nodes; i++) {
            CAPTURE(i);
            CHECK((processes[i]->done() || !"hangs"));
        }
        CHECK(all);
        CHECK(network.violation() == "");
    }

    sim::World world;
    sim::Network network;
    std::vector<std::unique_ptr<sim::Host>> hosts;
    std::vector<std::unique_ptr<Me>> members;
    std::vector<std::unique_ptr<sim::Process>> processes;

private:
    static constexpr uint32_t key = 0xca5700;

    void run_member(uint32_t i, sim::Process &p)
    {
        Me &m = *members[i];
        m.process = &p;
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE(mx_init() == MX_SUCCESS);
        m.endpoint = cast::Endpoint::open(0, key);
        REQUIRE(m.endpoint);
        m.endpoint->clock = [](void *w) { return static_cast<sim::World *>(w)->now(); };
        m.endpoint->clock_context = &world;
        places_[i] = m.endpoint->place();
        for (opened_++; opened_ < plan_.nodes;)
            p.sleep(10 * sim::us);
        for (uint32_t other = 0; other < plan_.nodes; other++)
            if (other != i)
                REQUIRE(m.endpoint->connect(places_[other], 60000));
        m.group = m.endpoint->make(7, i, places_);
        REQUIRE(m.group);
        for (connected_++; connected_ < plan_.nodes;) // as after an agreement
            p.sleep(10 * sim::us);
        body_(m);
        m.counts = m.group->counts();
        m.endpoint->close(m.group);
        m.group = nullptr;
        m.endpoint.reset();
        m.ended = true;
        mx_finalize();
    }

    Plan plan_;
    Body body_;
    std::vector<cast::Place> places_;
    uint32_t opened_ = 0, connected_ = 0;
};

} // namespace emx::casttest

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A job of GAMMA in the simulator.
#pragma once

#include "../sim/job.hpp"

#include <compat/gamma/api.hpp>

namespace emx::gammatest {

using sim::crowd;
using sim::text_of;

struct Me : sim::Member<emx_gamma::Node> {
    using Member::Member;
    std::vector<char> memory; ///< of a handler's buffer
    unsigned long length = 0; ///< that it got
};

struct Layer {
    using Options = emx_gamma::Options;
    using Node = emx_gamma::Node;
    using Me = gammatest::Me;
    static void choose(Node *(*which)()) { emx_gamma::current_node = which; }
    static void leave() { CHECK(gamma_exit() == 0); }
};

struct Plan : sim::Plan {
    static Plan rough(uint64_t seed)
    {
        Plan plan;
        plan.make_rough(seed);
        return plan;
    }
    static Plan of(uint32_t nodes, uint32_t hosts)
    {
        Plan plan;
        plan.nodes = nodes;
        plan.hosts = hosts;
        return plan;
    }
};

struct Job : sim::Job<Layer> {
    Job(const Plan &plan, Body body) : sim::Job<Layer>(plan, options(), std::move(body)) {}

private:
    static emx_gamma::Options options()
    {
        emx_gamma::Options options;
        options.key = 0x47414d00;
        options.now_ns = [] { return Job::current->world.now(); };
        options.aborted = [](emx_gamma::Node &) { Job::current->me().process->kill(); };
        return options;
    }
};

inline Me &me() { return Job::current->me(); }

/// gamma_errno, which is 0 then.
inline int error() { return std::exchange(gamma_errno, 0); }

/// A passive port of this number whose semaphore has that, too.
inline int passive(unsigned short port, unsigned to, unsigned short to_port, void *buf, unsigned long size)
{
    return gamma_set_passive_port(port, static_cast<unsigned short>(to), 0, to_port, port, GO_BACK, buf,
                                  size);
}

inline int active(unsigned short port, unsigned to, unsigned short to_port, void (*handler)(), void *buf,
                  unsigned long size)
{
    return gamma_set_active_port(port, static_cast<unsigned short>(to), 0, to_port, handler, port, GO_BACK,
                                 buf, size);
}

} // namespace emx::gammatest

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A job of Fast Messages in the simulator: its nodes are processes of simulated hosts, and the C functions
// that one of them calls act on it.
#pragma once

#include "../sim/process.hpp"

#include <compat/fm/api.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emx::fmtest {

struct Plan {
    uint32_t nodes = 2;
    uint32_t hosts = 2;
    char dialect = 'W';
    uint32_t mtu = 0;
    uint64_t seed = 1;
    uint32_t loss = 0, duplicate = 0, reorder = 0; ///< per mille
    uint32_t memory = 4 << 20;
    bool polled = false;

    static Plan rough(uint64_t seed)
    {
        Plan plan;
        plan.seed = seed;
        plan.loss = plan.duplicate = plan.reorder = 50;
        return plan;
    }
};

class Job;

/// The node that runs, and what its handlers have seen.
struct Me {
    Me(Job &j, uint32_t number, uint32_t all, uint64_t seed)
        : job(j), id(number), nodes(all), next(all), rng(seed * 1000 + number)
    {
    }
    Job &job;
    uint32_t id;
    uint32_t nodes;
    sim::Process *process = nullptr;
    std::unique_ptr<fm::Node> node;
    std::string wrong; ///< of its start
    std::vector<std::string> seen; ///< for the test's own use
    uint64_t count = 0;
    std::vector<uint64_t> next; ///< message expected, by sender
    test::Rng rng;

    void sleep(uint64_t ns) { process->sleep(ns); }
    /// Extracts until it holds.
    void until(const std::function<bool()> &done)
    {
        while (!done())
            if (!FM_extract(FM_ALL))
                sleep(sim::us);
    }
};

class Job {
public:
    using Body = std::function<void(Me &)>;

    Job(const Plan &plan, Body body, std::function<void(Me &)> registers = nullptr)
        : world(plan.seed), network(world), registers_(std::move(registers)), body_(std::move(body))
    {
        network.faults.loss = plan.loss;
        network.faults.duplicate = plan.duplicate;
        network.faults.reorder = plan.reorder;
        sim::HostOptions o;
        o.dialect = plan.dialect;
        o.dialect_mtu = plan.mtu;
        o.polled = plan.polled;
        for (uint32_t i = 0; i < plan.hosts; i++)
            hosts.push_back(std::make_unique<sim::Host>(world, network, i, o));
        sim::introduce(hosts, world.rng);
        options_.quiet = true;
        options_.memory = plan.memory;
        for (uint32_t i = 0; i < plan.nodes; i++)
            options_.places.push_back({hosts[i % plan.hosts]->boards[0]->fw().mac, i / plan.hosts});
        current = this;
        fm::current_node = [] { return Job::current->me().node.get(); };
        for (uint32_t i = 0; i < plan.nodes; i++) {
            members.push_back(std::make_unique<Me>(*this, i, plan.nodes, plan.seed));
            processes.push_back(
                std::make_unique<sim::Process>(*hosts[i % plan.hosts], "node " + std::to_string(i),
                                               [this, i](sim::Process &p) { run_node(*members[i], p); }));
        }
    }
    ~Job() { fm::current_node = nullptr; }
    Job(const Job &) = delete;

    /// To the end of all, of whom the killed have theirs.
    void run(uint64_t limit = 1000 * sim::sec)
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

    sim::World world;
    sim::Network network;
    std::vector<std::unique_ptr<sim::Host>> hosts;
    std::vector<std::unique_ptr<Me>> members;
    std::vector<std::unique_ptr<sim::Process>> processes;
    static inline Job *current = nullptr;

private:
    void run_node(Me &m, sim::Process &p)
    {
        m.process = &p;
        by_task_[world.current()] = &m;
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE(mx_init() == MX_SUCCESS);
        fm::Options options = options_;
        options.node = m.id;
        options.board = 0;
        m.node = std::make_unique<fm::Node>(options);
        if (registers_)
            registers_(m);
        m.wrong = m.node->open();
        if (m.wrong.empty()) {
            body_(m);
            FM_finalize();
        }
        mx_finalize();
    }

    fm::Options options_;
    std::function<void(Me &)> registers_;
    Body body_;
    std::map<sim::Task *, Me *> by_task_;
};

inline Me &me() { return Job::current->me(); }

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

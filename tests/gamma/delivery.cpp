// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Flow-controlled messages arrive: any length, in one or two pieces, blocking or not, at active and passive
// ports, through any network, among many nodes; a receiver that posts late stops its senders.
#include "job.hpp"

#include <algorithm>

namespace emx::gammatest {
namespace {

const unsigned long lengths[] = {0,     1,     16,    100,   4095,  4096,   4097,    20000,
                                 32767, 32768, 32769, 65536, 65537, 300000, 1 << 20, 3000001};
constexpr auto longest = 3000001;

/// Sends a message in one of four ways.
int send_somehow(unsigned short port, const std::vector<char> &text, uint64_t way)
{
    const unsigned long half = text.size() / 3;
    const char *data = text.data();
    switch (way % 4) {
    case 0: return gamma_send_flowctl(port, data, text.size());
    case 1: return gamma_send_2p_flowctl(port, data, half, data + half, text.size() - half);
    case 2: gamma_isend_flowctl(port, data, text.size()); return gamma_wsend(port);
    default:
        gamma_isend_2p_flowctl(port, data, half, data + half, text.size() - half);
        for (;;) {
            const int result = gamma_tsend(port);
            if (result)
                return result == 1 ? 0 : result;
            me().sleep(10 * sim::us);
        }
    }
}

/// For an active port whose number is that of the sender.
void check_and_post()
{
    Me &m = me();
    const uint32_t from = gamma_active_port;
    CHECK(gamma_msglen == lengths[m.next[from]]);
    const std::vector<char> text = text_of(from, m.next[from], gamma_msglen);
    CHECK(std::equal(text.begin(), text.end(), m.memory.begin()));
    ++m.next[from];
    CHECK(gamma_post_recv(static_cast<unsigned short>(from), m.memory.data(), m.memory.size()) == 0);
}

void every_length(const Plan &plan)
{
    Job job(plan, [](Me &m) {
        m.memory.resize(longest);
        CHECK(active(0, 1, 0, check_and_post, m.id ? m.memory.data() : nullptr, m.memory.size()) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 0)
            for (uint32_t i = 0; i < std::size(lengths); i++)
                CHECK(send_somehow(0, text_of(0, i, lengths[i]), i / 2 + m.rng.below(4)) == 0);
        else
            CHECK(gamma_wait(0, std::size(lengths)) == 0);
    });
    job.run();
    CHECK(job.members[1]->next[0] == std::size(lengths));
}

/// Everybody sends to everybody, itself included, port i of a node being for node i.
void all_to_all(const Plan &plan, uint32_t messages, uint32_t length_max)
{
    Job job(plan, [=](Me &m) {
        std::vector<std::vector<char>> memory(m.nodes, std::vector<char>(length_max));
        for (uint32_t i = 0; i < m.nodes; i++)
            CHECK(gamma_set_passive_port(static_cast<unsigned short>(i), static_cast<unsigned short>(i), 0,
                                         static_cast<unsigned short>(m.id), 7, GO_BACK, memory[i].data(),
                                         length_max) == 0);
        CHECK(gamma_sync() == 0);
        std::vector<char> text(length_max, static_cast<char>(m.id));
        for (uint32_t round = 0; round < messages; round++) {
            for (uint32_t to = 0; to < m.nodes; to++) {
                text[0] = static_cast<char>(round);
                CHECK(gamma_send_flowctl(static_cast<unsigned short>((m.id + to) % m.nodes), text.data(),
                                         1 + m.rng.below(length_max)) == 0);
            }
            CHECK(gamma_wait(7, m.nodes) == 0);
            CHECK(gamma_sync() == 0); // all have taken this round
            for (uint32_t i = 0; i < m.nodes; i++) {
                CHECK(memory[i][0] == static_cast<char>(round));
                m.count++;
                CHECK(gamma_post_recv(static_cast<unsigned short>(i), memory[i].data(), length_max) == 0);
            }
        }
        for (uint32_t node = 0; node < m.nodes; node += 20) {
            const auto root = static_cast<unsigned short>(node);
            for (const unsigned long length : {1024ul, 50000ul}) {
                std::vector<char> bytes = text_of(root, length, m.id == root ? length : 0);
                bytes.resize(length);
                CHECK(gamma_broadcast(root, bytes.data(), length) == 0);
                CHECK(bytes == text_of(root, length, length));
            }
        }
    });
    job.run();
    for (auto &m : job.members)
        CHECK(m->count == uint64_t{messages} * m->nodes);
}

void count_and_post()
{
    me().count++;
    CHECK(gamma_post_recv(gamma_active_port, me().memory.data(), me().memory.size()) == 0);
}

} // namespace

TEST_CASE("messages of any length arrive, in one piece or two, waited for or not, in every dialect")
{
    const struct {
        char dialect;
        uint32_t mtu, hosts;
        bool polled;
    } configs[] = {{'W', 0, 2, false}, {'W', 0, 1, true}, {'N', 9000, 2, true}, {'N', 1500, 2, false}};
    for (const auto &c : configs)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            CAPTURE(c.dialect, c.mtu, c.hosts, seed);
            Plan plan;
            plan.seed = seed;
            plan.dialect = c.dialect;
            plan.mtu = c.mtu;
            plan.hosts = c.hosts;
            plan.polled = c.polled;
            every_length(plan);
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
        every_length(plan);
        plan.nodes = plan.hosts = 3;
        all_to_all(plan, 6, 60000);
    }
}

TEST_CASE("a crowd of nodes: all to all, barriers, broadcasts, through a bad network")
{
    Plan plan = Plan::rough(5);
    plan.nodes = crowd;
    plan.hosts = 8;
    all_to_all(plan, 1, 4000);
}

TEST_CASE("a lost packet of a non-blocking send is sent again")
{
    // The original never repeated those. Every packet of the first seconds is lost.
    for (const unsigned long length : {10ul, 20000ul, 100000ul}) {
        CAPTURE(length);
        uint64_t before = 0, posted = 0, taken = 0;
        bool open = false;
        Job job(Plan{}, [&](Me &m) {
            const std::vector<char> text = text_of(0, 1, length);
            std::vector<char> memory(length);
            CHECK(passive(1, 1 - m.id, 1, memory.data(), length) == 0);
            CHECK(gamma_sync() == 0);
            if (m.id == 0) {
                Job::current->network.faults.loss = 1000;
                before = Job::current->world.now();
                CHECK(gamma_isend_flowctl(1, text.data(), length) == 0);
                m.sleep(300 * sim::us);
                gamma_tsend(1);
                m.sleep(300 * sim::us);
                Job::current->network.faults.loss = 0;
                open = true;
                CHECK(gamma_wsend(1) == 0);
                posted = Job::current->world.now();
                CHECK(gamma_sync() == 0);
            } else {
                CHECK(gamma_wait(1, 1) == 0);
                CHECK(open);
                taken = Job::current->world.now();
                CHECK(memory == text);
                CHECK(gamma_sync() == 0);
            }
        });
        job.run();
        CHECK(posted > before);
        CHECK(taken > before + 600 * sim::us);
    }
}

TEST_CASE("a receiver without buffers stops flow-controlled senders; nothing is lost, memory is bounded")
{
    for (const bool rough : {false, true})
        for (const unsigned long length : {100ul, 9000ul, 32000ul, 100000ul}) {
            CAPTURE(rough, length);
            constexpr uint32_t messages = 100;
            uint32_t sent = 0, sent_while_stopped = 0, again = 0, other = 0;
            Job job(rough ? Plan::rough(3) : Plan{}, [&](Me &m) {
                std::vector<char> memory(length), small(1);
                CHECK(passive(1, 1 - m.id, 1, nullptr, 0) == 0);
                CHECK(passive(2, 1 - m.id, 2, small.data(), 1) == 0);
                CHECK(gamma_sync() == 0);
                if (m.id == 0) {
                    for (; sent < messages; sent++)
                        CHECK(gamma_send_flowctl(1, text_of(0, sent, length).data(), length) == 0);
                } else {
                    m.sleep(sim::sec);
                    gamma_test(2); // takes in what is here
                    sent_while_stopped = sent;
                    m.sleep(sim::sec);
                    again = sent;
                    // The port that stands still disturbs no other.
                    CHECK(gamma_send_flowctl(2, small.data(), 1) == 0);
                    other++;
                    for (uint32_t i = 0; i < messages; i++) {
                        CHECK(gamma_post_recv(1, memory.data(), length) == 0);
                        CHECK(gamma_wait(1, 1) == 0);
                        CHECK(memory == text_of(0, i, length));
                    }
                }
                CHECK(gamma_sync() == 0);
                if (m.id == 0)
                    CHECK(gamma_wait(2, 1) == 0);
            });
            job.run();
            const unsigned long units = length > 32768 ? 16 : std::clamp((length + 4095) / 4096, 1ul, 8ul);
            CHECK(again == sent_while_stopped);
            CHECK(sent_while_stopped == (length > 32768 ? 0 : emx_gamma::window_units / units));
            CHECK(sent == messages);
            CHECK(other == 1);
        }
}

TEST_CASE("credits come by a message that waits for a buffer itself")
{
    constexpr unsigned long window = emx_gamma::window_units, few = window / 4 - 1; // not told alone
    Job job(Plan::of(2, 2), [](Me &m) {
        char bytes[8] = {};
        CHECK(passive(1, 1 - m.id, 1, nullptr, 0) == 0);
        CHECK(gamma_sync() == 0);
        const auto receive = [&](unsigned long messages) {
            for (unsigned long i = 0; i < messages; i++)
                CHECK(gamma_post_recv(1, bytes, sizeof bytes) == 0);
            CHECK(gamma_wait(1, messages) == 0);
        };
        if (m.id == 0) {
            for (unsigned long i = 0; i < window + few; i++)
                CHECK(gamma_send_flowctl(1, bytes, sizeof bytes) == 0);
            receive(1);
        } else {
            receive(few);
            CHECK(gamma_send_flowctl(1, bytes, sizeof bytes) == 0);
        }
        CHECK(gamma_sync() == 0);
        if (m.id == 1)
            receive(window);
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

TEST_CASE("non-blocking sends wait in their order for room, and are bounded")
{
    Job job(Plan::rough(11), [](Me &m) {
        constexpr uint32_t messages = 300;
        char byte = 0;
        CHECK(passive(1, 1 - m.id, 1, nullptr, 0) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 0) {
            std::vector<char> bytes(messages);
            uint32_t sent = 0;
            while (gamma_isend_flowctl(1, &(bytes[sent] = static_cast<char>(sent)), 1) == 0)
                sent++;
            CHECK(error() == GAMMA_E_BUSY);
            CHECK(sent == 256 + emx_gamma::window_units);
            CHECK(gamma_tsend(1) == 0);
            CHECK(gamma_signal(9) == 0);
            CHECK(gamma_sync() == 0);
            for (; sent < messages; sent++) // behind all those
                CHECK(gamma_send_flowctl(1, &(bytes[sent] = static_cast<char>(sent)), 1) == 0);
            CHECK(gamma_wsend(1) == 0);
            CHECK(gamma_tsend(1) == 1);
        } else {
            CHECK(gamma_sync() == 0);
            for (uint32_t i = 0; i < messages; i++) {
                CHECK(gamma_post_recv(1, &byte, 1) == 0);
                CHECK(gamma_wait(1, 1) == 0);
                CHECK(byte == static_cast<char>(i));
            }
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

TEST_CASE("a slow receiver with a handler gets all of it, from many")
{
    Plan plan = Plan::rough(6);
    plan.nodes = plan.hosts = 5;
    constexpr uint64_t each = 60;
    Job job(plan, [](Me &m) {
        m.memory.resize(6000);
        CHECK(active(3, 0, 3, count_and_post, m.memory.data(), m.memory.size()) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id)
            for (uint64_t i = 0; i < each; i++)
                CHECK(gamma_send_flowctl(3, m.memory.data(), i * 100) == 0);
        while (m.id == 0 && m.count < each * (m.nodes - 1)) {
            gamma_test(5);
            m.sleep(200 * sim::us);
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
    CHECK(job.members[0]->count == each * 4);
}

TEST_CASE("a port to all others: flow controlled, the slowest sets the pace")
{
    for (const unsigned long length : {8ul, 5000ul, 50000ul}) {
        CAPTURE(length);
        Plan plan = Plan::rough(8);
        plan.nodes = plan.hosts = 6;
        Job job(plan, [=](Me &m) {
            std::vector<char> memory(length);
            CHECK(passive(4, GAMMA_ALL, 4, m.id ? memory.data() : nullptr, length) == 0);
            CHECK(gamma_sync() == 0);
            for (uint32_t i = 0; i < 40; i++) {
                if (m.id == 0) {
                    CHECK(send_somehow(4, text_of(0, i, length), i) == 0);
                    continue;
                }
                if (m.id == 3)
                    m.sleep(300 * sim::us);
                CHECK(gamma_wait(4, 1) == 0);
                CHECK(memory == text_of(0, i, length));
                CHECK(gamma_post_recv(4, memory.data(), length) == 0);
            }
            CHECK(gamma_sync() == 0);
        });
        job.run();
    }
}

} // namespace emx::gammatest

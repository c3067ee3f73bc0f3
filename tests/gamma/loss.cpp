// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Best effort and its losses, semaphores and their errors, bad calls, nodes that die.
#include "job.hpp"

namespace emx::gammatest {
namespace {

std::vector<char> some(200000, 'x');

/// With the byte behind it that a message must not touch.
std::vector<char> with_end(std::vector<char> text)
{
    text.push_back(0);
    return text;
}

void post_again() { CHECK(gamma_post_recv(gamma_active_port, some.data(), some.size()) == 0); }

} // namespace

TEST_CASE("best effort: a message without a buffer is lost, told at the receiver, and counted")
{
    for (const bool rough : {false, true})
        for (const unsigned long length : {0ul, 1000ul, 30000ul, 100000ul}) {
            CAPTURE(rough, length);
            constexpr int messages = 60;
            Job job(rough ? Plan::rough(2) : Plan{}, [=](Me &m) {
                std::vector<char> memory(length + 1);
                CHECK(passive(1, 1 - m.id, 1, memory.data(), length) == 0);
                CHECK(gamma_sync() == 0);
                if (m.id == 0)
                    for (int i = 0; i < messages; i++) {
                        const std::vector<char> text = text_of(0, static_cast<uint64_t>(i), length);
                        const unsigned long half = length / 2;
                        CHECK((i % 5 ? gamma_send(1, text.data(), length)
                                     : gamma_isend_2p(1, text.data(), half, text.data() + half,
                                                      length - half)) == 0);
                        CHECK(gamma_wsend(1) == 0);
                    }
                CHECK(gamma_sync() == 0); // all has come, or is lost
                if (m.id == 1) {
                    CHECK(gamma_wait(1, 1) == -GAMMA_E_LOST);
                    CHECK(error() == GAMMA_E_LOST);
                    int got = 0;
                    while (gamma_test(1) == 1) {
                        CHECK(memory == with_end(text_of(0, static_cast<uint64_t>(got), length)));
                        got++;
                        CHECK(gamma_post_recv(1, memory.data(), length) == 0);
                    }
                    CHECK(got == (length > 32768 ? 1 : 1 + static_cast<int>(emx_gamma::kept_most)));
                    CHECK(got + gamma_lost(1) == messages);
                }
                CHECK(gamma_lost(1) == (m.id ? gamma_lost(1) : 0));
                CHECK(gamma_sync() == 0);
            });
            job.run();
        }
}

TEST_CASE("best effort with buffers in time loses nothing, on a bad network too")
{
    Job job(Plan::rough(4), [](Me &m) {
        constexpr int messages = 200;
        CHECK(active(1, 1 - m.id, 1, post_again, some.data(), some.size()) == 0);
        for (int i = 0; i < messages; i++)
            CHECK(gamma_post_recv(1, some.data(), some.size()) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 0)
            for (unsigned long i = 0; i < messages; i++)
                CHECK(gamma_send(1, some.data(), i * 100) == 0);
        else
            CHECK(gamma_wait(1, messages) == 0);
        CHECK(gamma_sync() == 0);
        CHECK(gamma_lost(1) == 0);
    });
    job.run();
}

TEST_CASE("best effort to a node that is away does not pile up: the sender is told")
{
    for (const unsigned long length : {10ul, 4000ul}) {
        CAPTURE(length);
        int lost = 0;
        Job job(Plan{}, [&](Me &m) {
            CHECK(passive(1, 1 - m.id, 1, some.data(), some.size()) == 0);
            CHECK(gamma_sync() == 0);
            if (m.id == 0) {
                Job::current->processes[1]->freeze();
                for (int i = 0; i < 5000; i++)
                    CHECK(gamma_send(1, some.data(), length) == 0);
                lost = gamma_lost(1);
                CHECK(lost > 3000);
                CHECK(gamma_wait(1, 1) == -GAMMA_E_LOST);
                Job::current->processes[1]->thaw();
            }
            CHECK(gamma_sync() == 0);
        });
        job.run();
        CHECK(lost);
    }
}

TEST_CASE("a message that is longer than its buffer is cut, and told")
{
    Job job(Plan{}, [](Me &m) {
        std::vector<char> memory(1000, '-');
        CHECK(active(
                  1, 1 - m.id, 1, [] { me().length = gamma_msglen; }, memory.data(), 600) == 0);
        CHECK(gamma_sync() == 0);
        for (const unsigned long length : {700ul, 100000ul}) {
            if (m.id == 0) {
                CHECK(gamma_send_flowctl(1, some.data(), length) == 0);
            } else {
                CHECK(gamma_wait(1, 1) == -GAMMA_E_LENGTH);
                CHECK(gamma_wait(1, 1) == 0);
                CHECK(m.length == 600);
                CHECK((memory[599] == 'x' && memory[600] == '-'));
                CHECK(gamma_post_recv(1, memory.data(), 600) == 0);
            }
        }
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

TEST_CASE("a port that its destination has not bound: told; bound later, it works")
{
    for (const bool flow : {false, true}) {
        CAPTURE(flow);
        Job job(Plan::rough(7), [=](Me &m) {
            char byte = 'x';
            if (m.id == 0)
                CHECK(passive(1, 1, 5, nullptr, 0) == 0);
            CHECK(gamma_sync() == 0);
            if (m.id == 0)
                for (int i = 0; i < 50; i++) { // more than a window
                    CHECK((flow ? gamma_send_flowctl : gamma_send)(1, &byte, 1) == 0);
                    CHECK(gamma_wait(1, 1) == -GAMMA_E_NO_PORT);
                }
            CHECK(gamma_sync() == 0);
            if (m.id == 1)
                CHECK(passive(5, 0, 9, &byte, 1) == 0);
            CHECK(gamma_sync() == 0);
            for (char i = 0; i < 50; i++) {
                if (m.id == 0) {
                    CHECK(gamma_send_flowctl(1, &i, 1) == 0);
                } else {
                    CHECK(gamma_wait(5, 1) == 0);
                    CHECK(byte == i);
                    CHECK(gamma_post_recv(5, &byte, 1) == 0);
                }
            }
            CHECK(gamma_sync() == 0);
        });
        job.run();
    }
}

TEST_CASE("semaphores count; errors come first, wake sleeping threads, and are kept until asked for")
{
    Job job(Plan{}, [](Me &m) {
        CHECK(gamma_test(3) == 0);
        CHECK(gamma_wait(3, 0) == 0);
        for (int i = 0; i < 5; i++)
            CHECK(gamma_signal(3) == 0);
        CHECK(gamma_wait(3, 3) == 0);
        CHECK(gamma_sigerr(3, 77) == 0);
        CHECK(gamma_sigerr(3, 78) == 0);
        CHECK(gamma_sigerr(3, 77) == 0);
        CHECK(gamma_test(3) == -77);
        CHECK(gamma_wait(3, 1) == -78);
        CHECK(gamma_test(3) == 1);
        CHECK(gamma_wait(3, 1) == 0);
        CHECK(gamma_test(3) == 0);
        CHECK(gamma_sigerr(3, 0) == -GAMMA_E_ARGUMENT);
        for (int (*call)(unsigned short) : {gamma_signal, gamma_test})
            CHECK(call(GAMMA_NO_SEMAPHORE) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_wait(GAMMA_NO_SEMAPHORE, 1) == -GAMMA_E_ARGUMENT);
        // A waiting thread is woken, by a handler here.
        CHECK(active(
                  1, m.id, 1, [] { CHECK(gamma_sigerr(3, 5) == 0); }, some.data(), 1) == 0);
        CHECK(gamma_send_flowctl(1, some.data(), 1) == 0);
        CHECK(gamma_wait(3, 1) == -5);
        CHECK(gamma_test(3) == 0);
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

TEST_CASE("bad calls: a clear error each, and nothing is lost")
{
    Job job(Plan{}, [](Me &m) {
        const auto other = static_cast<unsigned short>(1 - m.id);
        char byte = 0;
        CHECK(passive(1, other, 1, &byte, 1) == 0);
        error();
        CHECK(passive(1, other, 2, &byte, 1) == -GAMMA_E_BOUND);
        CHECK(error() == GAMMA_E_BOUND);
        CHECK(active(1, other, 2, post_again, &byte, 1) == -GAMMA_E_BOUND);
        CHECK(passive(2, 2, 2, &byte, 1) == -GAMMA_E_NODE);
        CHECK(active(2, other, 2, nullptr, &byte, 1) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_set_passive_port(2, other, 1, 2, 2, GO_BACK, &byte, 1) == -GAMMA_E_PAR_PID);
        CHECK(gamma_set_passive_port(2, other, 0, 2, 2, GO_BACK + 1, &byte, 1) == -GAMMA_E_ARGUMENT);
        for (int (*call)(unsigned short, const void *, unsigned long) :
             {gamma_send, gamma_send_flowctl, gamma_isend, gamma_isend_flowctl}) {
            CHECK(call(2, &byte, 1) == -GAMMA_E_PORT);
            CHECK(call(1, nullptr, 1) == -GAMMA_E_ARGUMENT);
            CHECK(call(1, &byte, GAMMA_LENGTH_MAX + 1) == -GAMMA_E_LENGTH);
        }
        CHECK(gamma_send_2p(1, &byte, 1, &byte, GAMMA_LENGTH_MAX) == -GAMMA_E_LENGTH);
        CHECK(gamma_send_2p_flowctl(1, &byte, 1, nullptr, 1) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_post_recv(2, &byte, 1) == -GAMMA_E_PORT);
        CHECK(gamma_post_recv(1, nullptr, 1) == -GAMMA_E_ARGUMENT);
        for (int (*call)(unsigned short) : {gamma_wsend, gamma_tsend, gamma_lost})
            CHECK(call(2) == -GAMMA_E_PORT);
        CHECK(gamma_atomic(nullptr) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_broadcast(2, &byte, 1) == -GAMMA_E_NODE);
        CHECK(gamma_broadcast(0, &byte, GAMMA_LENGTH_MAX) == -GAMMA_E_LENGTH);
        CHECK(gamma_broadcast(0, nullptr, 1) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_mlock(nullptr, 1) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_munlock(nullptr, 1) == -GAMMA_E_ARGUMENT);
        CHECK(gamma_mlock(&byte, 1) == 0);
        CHECK(gamma_munlock(&byte, 1) == 0);
        CHECK(gamma_munlockall() == 0);
        int posted = 1;
        while (gamma_post_recv(1, &byte, 1) == 0)
            posted++;
        CHECK(error() == GAMMA_E_BUSY);
        CHECK(posted == 1024);
        // All of that has done nothing.
        CHECK(gamma_sync() == 0);
        byte = static_cast<char>(m.id + 1);
        const char mine = byte;
        CHECK(gamma_send_flowctl(1, &mine, 1) == 0);
        CHECK(gamma_wait(1, 1) == 0);
        CHECK(byte == static_cast<char>(other + 1));
        CHECK(gamma_sync() == 0);
        for (int code = 0; code <= GAMMA_E_MX; code++) {
            CHECK(std::string(gamma_strerror(code)) != gamma_strerror(1000));
            CHECK(std::string(gamma_strerror(-code)) == gamma_strerror(code));
        }
    });
    job.run();
}

TEST_CASE("a node that is killed: operations with it end with an error, and others are not disturbed")
{
    for (const unsigned long length : {100ul, 20000ul, 150000ul})
        for (const uint64_t seed : {1, 2, 3}) {
            CAPTURE(length, seed);
            Plan plan = Plan::rough(seed);
            plan.nodes = 4;
            plan.hosts = 2;
            Job job(plan, [=](Me &m) {
                std::vector<char> memory(length);
                for (unsigned i = 0; i < m.nodes; i++)
                    CHECK(passive(static_cast<unsigned short>(i), i, static_cast<unsigned short>(m.id),
                                  i == 3 ? nullptr : memory.data(), length) == 0);
                CHECK(gamma_sync() == 0);
                if (m.id == 3)
                    m.process->kill();
                if (m.id == 0) {
                    // It waits for room there, or for the end of a long one.
                    int code = 0;
                    for (int i = 0; i < 40 && !code; i++)
                        code = gamma_isend_flowctl(3, some.data(), length);
                    if (!code)
                        code = gamma_wsend(3);
                    CHECK(code == -GAMMA_E_PEER);
                    CHECK(gamma_send_flowctl(3, some.data(), length) == -GAMMA_E_PEER);
                    CHECK(gamma_send(3, some.data(), length) == -GAMMA_E_PEER);
                    CHECK(gamma_wait(3, 1) == -GAMMA_E_PEER);
                } else {
                    const auto to = static_cast<unsigned short>(3 - m.id);
                    for (unsigned i = 0; i < 50; i++) {
                        CHECK(gamma_send_flowctl(to, text_of(m.id, i, length).data(), length) == 0);
                        CHECK(gamma_wait(to, 1) == 0);
                        CHECK(memory == text_of(to, i, length));
                        CHECK(gamma_post_recv(to, memory.data(), length) == 0);
                    }
                    CHECK(gamma_wait(3, 1) == -GAMMA_E_PEER); // was told, without having sent
                }
                CHECK(gamma_sync() == -GAMMA_E_PEER);
                CHECK(gamma_sync() == -GAMMA_E_PEER);
            });
            job.run();
        }
}

TEST_CASE("a node that leaves drops messages that wait for a buffer, and their senders leave, too")
{
    for (const bool isend : {false, true}) {
        CAPTURE(isend);
        Job job(Plan::of(2, 2), [&](Me &m) {
            CHECK(passive(1, 1 - m.id, 1, nullptr, 0) == 0);
            CHECK(gamma_sync() == 0);
            if (m.id == 0)
                CHECK((isend ? gamma_isend_flowctl : gamma_send_flowctl)(1, some.data(), 100000) == 0);
            else
                m.sleep(50 * sim::ms); // it has come by now
        });
        job.run();
    }
}

TEST_CASE("a node that dies in the midst of a message: its buffer takes the next one")
{
    Plan plan = Plan::of(3, 3);
    Job job(plan, [](Me &m) {
        std::vector<char> memory(3000000);
        CHECK(passive(1, 0, 1, m.id ? nullptr : memory.data(), memory.size()) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 2) {
            CHECK(gamma_isend_flowctl(1, memory.data(), memory.size()) == 0);
            for (int i = 0; i < 4; i++)
                CHECK(gamma_tsend(1) == 0);
            m.process->kill();
        }
        if (m.id == 1) {
            m.sleep(10 * sim::ms);
            CHECK(gamma_send_flowctl(1, text_of(1, 1, 1000).data(), 1000) == 0);
        }
        if (m.id == 0) {
            CHECK(gamma_wait(1, 1) == 0);
            CHECK(std::equal(memory.begin(), memory.begin() + 1000, text_of(1, 1, 1000).begin()));
        }
        CHECK(gamma_sync() == -GAMMA_E_PEER);
    });
    job.run();
}

TEST_CASE("a node that dies in the midst of a message holds up none behind it")
{
    Job job(Plan::of(3, 3), [](Me &m) {
        std::vector<char> memory(3000000, 'x'), next(1000);
        CHECK(passive(1, 0, 1, m.id ? nullptr : memory.data(), memory.size()) == 0);
        if (m.id == 0)
            CHECK(gamma_post_recv(1, next.data(), next.size()) == 0);
        CHECK(gamma_sync() == 0);
        if (m.id == 2) {
            CHECK(gamma_isend_flowctl(1, memory.data(), memory.size()) == 0);
            for (int i = 0; i < 4; i++)
                CHECK(gamma_tsend(1) == 0);
            m.sleep(3 * sim::us); // it is announced, and not fetched
            m.process->kill();
        }
        if (m.id == 1) {
            m.sleep(2 * sim::us);
            CHECK(gamma_send_flowctl(1, text_of(1, 1, 1000).data(), 1000) == 0);
        }
        if (m.id == 0) {
            CHECK(gamma_wait(1, 1) == 0);
            CHECK(next == text_of(1, 1, 1000));
        }
        CHECK(gamma_sync() == -GAMMA_E_PEER);
    });
    job.run();
}

TEST_CASE("best effort: a message that comes while a buffer is posted is held against no later one")
{
    Job job(Plan::of(3, 3), [](Me &m) {
        constexpr unsigned rounds = 200;
        std::vector<char> memory(100000);
        CHECK(passive(1, 0, 1, nullptr, 0) == 0);
        CHECK(passive(2, 0, 2, nullptr, 0) == 0);
        for (unsigned i = 0; i < rounds; i++) {
            CHECK(gamma_sync() == 0);
            if (m.id != 0) {
                // A long one first: MX ends its look at the device with what is complete.
                m.sleep(m.id * sim::ms / 10);
                CHECK(gamma_isend(1, memory.data(), m.id == 1 ? memory.size() : 1) == 0);
                CHECK(gamma_wsend(1) == 0);
                continue;
            }
            m.sleep(sim::ms); // both are here before the first buffer, and the sixteenth has MX look
            for (int message = 0; message < 2; message++) {
                CHECK(gamma_post_recv(1, memory.data(), memory.size()) == 0);
                CHECK(gamma_wait(1, 1) == 0);
            }
            CHECK(gamma_post_recv(2, memory.data(), memory.size()) == 0); // so that each is that once
        }
        CHECK(gamma_lost(1) == 0);
        CHECK(gamma_sync() == 0);
    });
    job.run();
}

} // namespace emx::gammatest

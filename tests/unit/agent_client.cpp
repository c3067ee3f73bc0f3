// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests to an agent that answers late, or never.
#include <driver/base/control_socket.hpp>
#include <driver/base/peer_user.hpp>
#include <driver/board/agent_client.hpp>

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

using namespace emx;

TEST_CASE("peer_user__a_process_is_at_work_while_it_neither_sleeps_nor_is_stopped")
{
    int order[2];
    REQUIRE(::pipe(order) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte;
        if (::read(order[0], &byte, 1) == 1)
            for (;;)
                std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    const PeerUser user{0, child};
    while (is_at_work(user)) // until it waits for the order; else it hangs
        std::this_thread::yield();
    REQUIRE(::write(order[1], "x", 1) == 1);
    while (!is_at_work(user))
        std::this_thread::yield();
    int status = 0;
    REQUIRE(::kill(child, SIGSTOP) == 0);
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    CHECK_FALSE(is_at_work(user));
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK_FALSE(is_at_work(user)); // nor is one that nobody knows
    CHECK_FALSE(is_at_work({0, 0}));
    ::close(order[0]);
    ::close(order[1]);
}

TEST_CASE("agent_client__the_late_answer_to_one_request_is_not_taken_for_that_to_the_next")
{
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    AgentConnection client{Fd(ends[0])};
    const Fd agent(ends[1]);
    const auto serve = [&](uint32_t value) {
        AgentRequest request;
        std::vector<Fd> none;
        AgentReply reply;
        reply.value = value;
        receive_datagram(agent.get(), &request, sizeof(request), none);
        send_datagram(agent.get(), &reply, sizeof(reply), {});
    };
    AgentReply reply;
    DeviceError error;
    std::vector<Fd> fds;
    CHECK_FALSE(client.request({}, reply, fds, error, {}, 1));
    CHECK(AgentConnection::was_slow(error));
    serve(1);
    std::thread late(serve, 2);
    CHECK(client.request({}, reply, fds, error));
    CHECK(reply.value == 2);
    late.join();
}

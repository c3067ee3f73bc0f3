// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Board agents that are killed and started again while endpoints are open.
#include "driver/base/control_socket.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/board/agent_protocol.hpp"
#include "driver/board/endpoint_page.hpp"
#include "driver/mx_codes.hpp"
#include "tests/netns/engine_fixture.hpp"
#include "tests/support/becomes.hpp"

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace emx;
using namespace emx::test;
using Catch::Contains;

namespace {

/// Small messages there and back; whatever else than a message arrives fails the test.
void talk(Pair &pair, int rounds)
{
    Payload payload({});
    for (int i = 0; i < rounds; i++) {
        for (int side : {0, 1}) {
            REQUIRE(pair.port(side).send(pair.message(side, EMX_TINY, 0), payload.data()));
            pair.expect(1 - side, EMX_TINY);
            pair.port(1 - side).consume();
        }
    }
}

/// Opens an endpoint in a process of its own: an mx_return_t.
int code_of_claim(Device &device, const TwoHosts &hosts, int host, uint32_t endpoint)
{
    const pid_t child = ::fork();
    if (child == 0) {
        hosts.enter(host);
        DeviceError error;
        const auto port = device.open(0, endpoint, 99, error);
        ::_exit(port ? 0 : error.code);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A process of host 1 with a device of its own that holds endpoint 5.
class Holder {
public:
    explicit Holder(const TwoHosts &hosts)
    {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        if (pid_ == 0)
            hold(hosts, ready[1]);
        ::close(ready[1]); // a child that dies ends the read
        char answer = 'n';
        CHECK(::read(ready[0], &answer, 1) == 1);
        ::close(ready[0]);
        REQUIRE(answer == 'y');
    }
    ~Holder()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;

    void stop() const
    {
        ::kill(pid_, SIGSTOP);
        ::waitpid(pid_, nullptr, WUNTRACED);
    }
    void go_on() const { ::kill(pid_, SIGCONT); }
    void kill() const { ::kill(pid_, SIGKILL); }

private:
    [[noreturn]] static void hold(const TwoHosts &hosts, int ready)
    {
        hosts.enter(1);
        EngineConfig config;
        config.boards = "eth0:W";
        config.agent_program = agent_program();
        DeviceError error;
        const auto device = make_engine(config, error);
        const auto port = device ? device->open(0, 5, 0xa1b2c3d4, error) : nullptr;
        const char answer = port ? 'y' : 'n';
        if (::write(ready, &answer, 1) == 1)
            ::pause();
        ::_exit(1);
    }

    pid_t pid_ = -1;
};

/// Asks endpoint 5 of a peer for a connection: true when that is refused before anything else could be.
bool refused(Port &port, uint32_t peer)
{
    emx_msg connect{};
    connect.type = EMX_CONNECT;
    connect.remote_ep = 5;
    connect.peer = peer;
    connect.u.connect.session = 0x11223344;
    connect.u.connect.start = 1;
    Payload nothing({});
    REQUIRE(port.send(connect, nothing.data()));
    return !stays_away([&] {
        const emx_msg *event = port.peek();
        const bool is_refusal = event && event->type == EMX_NACK_LIB;
        if (event)
            port.consume();
        return is_refusal;
    });
}

/// Stands in for the agent: is killed the first times that it is started, and is the agent then.
class Moribund {
public:
    explicit Moribund(int deaths)
    {
        REQUIRE(::mkdtemp(folder_) != nullptr);
        REQUIRE(!agent_program().empty());
        std::ofstream(program()) << "#!/bin/sh\necho >>" << folder_ << "/starts\n[ $(wc -l <" << folder_
                                 << "/starts) -gt " << deaths << " ] || kill -9 $$\nexec " << agent_program()
                                 << " \"$@\"\n";
        std::filesystem::permissions(program(), std::filesystem::perms::owner_all);
    }
    ~Moribund() { std::filesystem::remove_all(folder_); }
    std::string program() const { return std::string(folder_) + "/omxd"; }

private:
    char folder_[32] = "/tmp/ethermx-XXXXXX";
};

std::unique_ptr<Device> make_device(const TwoHosts &hosts, const std::string &program, DeviceError &error)
{
    hosts.enter(0);
    EngineConfig config;
    config.boards = "eth0:W";
    config.agent_program = program;
    return make_engine(config, error);
}

} // namespace

TEST_CASE("engine__endpoints_outlive_a_killed_agent", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    talk(pair, 10);
    std::vector<std::byte> target(300000);
    const auto source = pattern(300000, 1);
    pair.transfer(source, target, 1);
    hosts.kill_agent(1);
    talk(pair, 10); // the agent is not on the way of data
    hosts.start_agent(1, "--boards eth0:W --linger 60");
    // From its first moment on the new agent refuses nothing of an endpoint that is open, and gives no
    // other process its number.
    talk(pair, 100);
    CHECK(code_of_claim(pair.device(1), hosts, 1, 5) == mx_busy);
    talk(pair, 100);
    target.assign(target.size(), std::byte{0});
    pair.transfer(source, target, 2);
    CHECK(target == source);
    CHECK(code_of_claim(pair.device(1), hosts, 1, 6) == 0);

    // The board file is the old one: counters went on, for programs of before and of after.
    const auto late = open_device(hosts, 1, "eth0:W");
    const uint64_t sent = pair.port(1).counters().v[EMX_CNT_TX_TINY];
    CHECK(sent >= 220);
    CHECK(late->counters(0).v[EMX_CNT_TX_TINY] == sent);
    CHECK(pair.device(1).counters(0).v[EMX_CNT_TX_TINY] == sent);

    // The claim is a live one: it ends with the endpoint, and others are refused then.
    pair.close(1);
    DeviceError error;
    CHECK(becomes([&] { return late->open(0, 5, 7, error) != nullptr; }));
}

TEST_CASE("engine__an_agent_may_be_killed_again_and_again", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:N=9000");
    for (int round = 0; round < 4; round++) {
        for (int host : {0, 1}) {
            hosts.kill_agent(host);
            hosts.start_agent(host, "--boards eth0:N=9000 --linger 60");
        }
        talk(pair, 50);
    }
    hosts.enter(0);
    CHECK(code_of_claim(pair.device(0), hosts, 0, 3) == mx_busy);
    CHECK(code_of_claim(pair.device(1), hosts, 1, 5) == mx_busy);
    const auto source = pattern(100000, 2);
    std::vector<std::byte> target(100000);
    pair.transfer(source, target, 1);
    CHECK(target == source);
}

TEST_CASE("engine__an_open_reaches_the_next_agent_when_one_is_killed", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0:W");
    int turns[2], deaths[2];
    REQUIRE(::pipe(turns) == 0);
    REQUIRE(::pipe(deaths) == 0);
    const pid_t killer = ::fork();
    if (killer == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint8_t turn; ::read(turns[0], &turn, 1) == 1;) {
            // tidy-allow(sleep): from the first moment of an open to its last, which takes some 50 ms
            ::usleep(turn * 3000u);
            hosts.kill_agent(0);
            if (::write(deaths[1], &turn, 1) != 1)
                break;
        }
    }
    for (uint8_t turn = 0; turn < 20; turn++) {
        REQUIRE(::write(turns[1], &turn, 1) == 1);
        DeviceError error;
        const auto port = device->open(0, 0, turn + 1u, error);
        INFO(error.text);
        CHECK(port);
        // A killer that falls behind would kill several agents of one open.
        REQUIRE(::read(deaths[0], &turn, 1) == 1);
    }
    ::kill(killer, SIGKILL);
    ::waitpid(killer, nullptr, 0);
    for (const int fd : {turns[0], turns[1], deaths[0], deaths[1]})
        ::close(fd);
}

TEST_CASE("engine__an_agent_that_is_killed_while_it_starts_is_started_again", "[netns][engine]")
{
    const TwoHosts hosts;
    const Moribund agent(2);
    DeviceError error;
    const auto device = make_device(hosts, agent.program(), error);
    INFO(error.text);
    REQUIRE(device);
    CHECK(device->boards().size() == 1);
}

TEST_CASE("engine__an_agent_that_always_dies_is_told_of", "[netns][engine]")
{
    const TwoHosts hosts;
    const Moribund agent(1000);
    DeviceError error;
    CHECK_FALSE(make_device(hosts, agent.program(), error));
    CHECK(error.code == mx_no_driver);
    CHECK_THAT(error.text, Contains("ended while it started: run it with --foreground"));
}

TEST_CASE("engine__a_new_agent_waits_for_processes_that_are_held_up", "[netns][engine]")
{
    TwoHosts hosts;
    const Holder holder(hosts);
    const auto near = open_device(hosts, 0, "eth0:W");
    DeviceError error;
    const auto port = near->open(0, 3, 0x11223344, error);
    REQUIRE(port);
    const auto far = open_device(hosts, 1, "eth0:W");
    const auto peer = peer_of(*port, far->boards().at(0).nic_id);
    REQUIRE(peer);
    holder.stop();
    hosts.kill_agent(1);
    hosts.start_agent(1, "--boards eth0:W --linger 60");
    for (int times = 0; times < 10; times++)
        CHECK_FALSE(refused(*port, *peer));
    holder.go_on();
    CHECK(code_of_claim(*far, hosts, 1, 5) == mx_busy);
    CHECK_FALSE(refused(*port, *peer));
    holder.kill();
    CHECK(becomes([&] { return refused(*port, *peer); }));

    // A process that stays away for longer loses the number, and others get on.
    const Holder other(hosts);
    other.stop();
    hosts.kill_agent(1);
    hosts.start_agent(1, "--boards eth0:W --linger 60");
    hosts.enter(1);
    CHECK(far->open(0, 5, 2, error));
    CHECK(error.text == "");
}

TEST_CASE("engine__no_other_session_takes_an_endpoint_over", "[netns][engine]")
{
    TwoHosts hosts;
    const Holder holder(hosts);
    hosts.enter(1);
    DeviceError error;
    AgentReply reply;
    std::vector<Fd> file, none;
    auto before = AgentConnection::connect(error);
    REQUIRE((before && before->request({}, reply, file, error) && file.size() == 1));
    const auto page = EndpointPage::make();
    holder.stop();
    hosts.kill_agent(1);
    hosts.start_agent(1, "--boards eth0:W --linger 60");
    AgentRequest request;
    request.op = AgentOp::reclaim;
    for (const uint32_t endpoint : {5u, 6u}) {
        auto agent = AgentConnection::connect(error);
        REQUIRE(agent);
        request.endpoint = endpoint;
        request.session = 99;
        CHECK_FALSE(agent->request(request, reply, none, error, {file[0].get(), page->fd()}));
        CHECK(error.text == "the omxd before did not know this endpoint: close it and open it again");
    }
    holder.go_on();
    const auto far = open_device(hosts, 1, "eth0:W");
    CHECK(code_of_claim(*far, hosts, 1, 5) == mx_busy);
}

TEST_CASE("engine__a_program_without_endpoints_follows_to_the_new_agent", "[netns][engine]")
{
    TwoHosts hosts;
    const auto device = open_device(hosts, 0, "eth0:W");
    hosts.kill_agent(0);
    hosts.start_agent(0, "--boards eth0:W --linger 60");
    hosts.enter(0);
    DeviceError error;
    CHECK(device->set_host_name(0, "second:0", error));
    CHECK(error.text == "");
    CHECK(device->boards().at(0).host_name == "second:0");
    const auto port = device->open(0, 0, 1, error);
    CHECK(port);
    hosts.kill_agent(0);
    CHECK(device->open(0, 1, 1, error)); // starts one itself
}

TEST_CASE("engine__an_agent_with_other_boards_ends_the_endpoints_of_before", "[netns][engine]")
{
    TwoHosts hosts;
    Pair pair(hosts, "eth0:W");
    talk(pair, 1);
    hosts.kill_agent(0);
    hosts.start_agent(0, "--boards eth0:N=9000 --linger 60");
    CHECK(int(pair.expect(0, EMX_EV_LINK)->u.link.state) == EMX_LINK_GONE);
    pair.port(0).consume();
    hosts.enter(0);
    DeviceError error;
    CHECK(pair.device(0).open(0, 7, 1, error) == nullptr);
    CHECK(error.code == mx_no_driver);
    CHECK_THAT(error.text, Contains("restarted with other boards") && Contains("start the program again"));
}

TEST_CASE("engine__an_agent_lingers_from_when_the_last_client_left", "[netns][engine]")
{
    TwoHosts hosts;
    hosts.start_agent(0, "--boards eth0:W --peers /dev/null --linger 2"); // sends no beacon: nothing wakes it
    auto device = open_device(hosts, 0, "eth0:W");
    // tidy-allow(sleep): longer than it lingers
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    // tidy-allow(time): a time that is not to be fallen short of
    const auto left = std::chrono::steady_clock::now();
    device.reset();
    CHECK(becomes([&] { return hosts.agent_pid(0) == 0; }));
    // tidy-allow(time): the same
    CHECK(std::chrono::steady_clock::now() - left >= std::chrono::seconds(2));
}

TEST_CASE("engine__a_silent_client_keeps_no_agent", "[netns][engine]")
{
    TwoHosts hosts;
    hosts.start_agent(0, "--boards eth0:W --linger 1");
    hosts.enter(0);
    CHECK(becomes([&] { // other agents look so whether somebody listens
        sockaddr_un address;
        const socklen_t length = abstract_address(agent_socket_name, address);
        const Fd look(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        return ::connect(look.get(), reinterpret_cast<sockaddr *>(&address), length) != 0;
    }));
}

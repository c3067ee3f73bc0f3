// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: environment variables (API 9).
#include "kit.hpp"

#include <csignal>
#include <cstdio>
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {
namespace {

void exchange_all_sizes(Rank &r)
{
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    for (size_t to : {other, static_cast<size_t>(r.id)})
        for (uint32_t length : {0u, 32u, 128u, 5000u, 32768u, 32769u, 300000u}) {
            std::vector<uint8_t> data = pattern(length, length), room(length);
            mx_request_t q = irecv(r, net.ep, room.data(), length, 1);
            mx_request_t s = isend(r, net.ep, data.data(), length, net.to[to], 1);
            finish_ok(r, net.ep, q);
            finish_ok(r, net.ep, s);
            CHECK_PATTERN(room, length, length);
        }
    r.barrier();
}

/// 1000 bytes are copied and complete at once, 1001 wait for their receive.
void copies_up_to_1000(Rank &r)
{
    Session session(r);
    uint32_t max = 0;
    CHECK_EQ(mx_get_info(nullptr, MX_COPY_SEND_MAX, nullptr, 0, &max, sizeof max), MX_SUCCESS);
    CHECK_EQ(max, 1000u);
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 1001), room(1001);
    if (r.id == 0) {
        mx_request_t small = isend(r, net.ep, data.data(), 1000, net.to[1], 1);
        finish_ok(r, net.ep, small);
        mx_request_t large = isend(r, net.ep, data.data(), 1001, net.to[1], 2);
        CHECK(stays_pending(r, net.ep, large, 100));
        r.barrier();
        finish_ok(r, net.ep, large);
    } else {
        r.barrier();
        recv(r, net.ep, room.data(), 1001, 2);
        CHECK_PATTERN(room, 1, 1001);
        recv(r, net.ep, room.data(), 1001, 1);
    }
    r.barrier();
}

CONFORM(shortcuts_disabled_by_mx_names, 2, bare)
{
    r.env("MX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHMEM", "1");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(shortcuts_disabled_by_other_names, 2, bare)
{
    r.env("OMX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHARED", "1");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(synchronous_self_send_through_the_device, 1, bare)
{
    r.env("MX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHMEM", "1");
    Session s(r);
    Endpoint ep(r);
    char c = 0;
    mx_request_t q = issend(r, ep, "x", 1, ep.self(), 1);
    CHECK(stays_pending(r, ep, q, 50));
    recv(r, ep, &c, 1, 1);
    CHECK_EQ(c, 'x');
    finish_ok(r, ep, q);
}

CONFORM(nonsense_in_mx_variables_is_ignored, 2, bare)
{
    for (const char *name :
         {"MX_RCACHE", "MX_MONOTHREAD", "MX_CSUM", "MX_BONDING", "MX_PIPELINE_LOG", "MX_FW_ACK", "MX_ZOMBIE",
          "OMX_VERBDEBUG", "MX_IMM_ACK", "OMX_RNDV_THRESHOLD", "MX_MAX_RETRIES", "OMX_SHARED_RNDV_THRESHOLD",
          "OMX_CTXIDS", "OMX_PROCESS_BINDING", "MX_NONSENSE"})
        r.env(name, "rubbish");
    r.env("MX_ZOMBIE_SEND", "-3");
    r.env("OMX_WAITSPIN", "");
    Session s(r);
    exchange_all_sizes(r);
}

CONFORM(errors_return_by_environment, 1, bare)
{
    r.env("MX_ERRORS_ARE_FATAL", "0"); // LIGO sets no handler
    REQUIRE_OK(mx_init());
    mx_endpoint_t ep = nullptr;
    CHECK_EQ(mx_open_endpoint(55, 0, key, nullptr, 0, &ep), MX_BOARD_UNKNOWN);
    CHECK_EQ(mx_finalize(), MX_SUCCESS);
}

CONFORM(no_zombies, 2, bare | apart)
{
    r.env("MX_ZOMBIE_SEND", "0");
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0)
        r.cut(true);
    r.barrier();
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, "x", 1, net.to[1], 1);
        CHECK(stays_pending(r, net.ep, q, 100)); // completes when acknowledged
        r.cut(false);
        finish_ok(r, net.ep, q);
    } else {
        char c;
        recv(r, net.ep, &c, 1, 1);
    }
    r.barrier();
}

CONFORM(zombies_complete_before_the_ack, 2, bare | apart)
{
    r.env("MX_ZOMBIE_SEND", "1"); // a boolean, natively
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        for (int i = 0; i < 20; i++) {
            mx_request_t q = isend(r, net.ep, "x", 1, net.to[1], 1);
            CHECK(completes(r, net.ep, q, 0));
        }
        r.cut(false);
    } else {
        char c;
        for (int i = 0; i < 20; i++)
            recv(r, net.ep, &c, 1, 1);
    }
    r.barrier();
}

/// A program that only tests repeats what was lost, even if its last call gave it something.
void tester_repeats(Rank &r, const char *yield_after)
{
    r.env("EMX_YIELD_AFTER", yield_after);
    Session session(r);
    Net net = open_net(r);
    char c;
    mx_request_t q = irecv(r, net.ep, &c, 1, 1);
    if (r.id == 0) {
        mx_request_t mine = irecv(r, net.ep, &c, 1, 2);
        send(r, net.ep, "x", 1, net.ep.self(), 2);
        CHECK(completes(r, net.ep, mine, patience));
        r.cut(true);
        send(r, net.ep, "x", 1, net.to[1], 1);
        r.cut(false);
        CHECK(completes(r, net.ep, q, patience));
    } else {
        CHECK(completes(r, net.ep, q, patience));
        send(r, net.ep, "x", 1, net.to[0], 1);
    }
    r.barrier();
}

CONFORM(tester_repeats_however_often_it_yields, 2, bare | apart)
{
    r.env("EMX_HELPER_MS", "0"); // nobody else repeats
    for (const char *yield_after : {"0", "1", "1000"})
        tester_repeats(r, yield_after);
}

CONFORM(rendezvous_threshold, 2, bare)
{
    r.env("OMX_RNDV_THRESHOLD", "1000");
    copies_up_to_1000(r);
}

CONFORM(any_endpoint_by_environment, 1, bare)
{
    r.env("OMX_ANY_ENDPOINT", "1");
    Session session(r);
    Endpoint a(r, 9), b(r, 9);
    CHECK_EQ(a.eid(), 0u);
    CHECK_EQ(b.eid(), 1u);
}

CONFORM(context_ids_by_environment, 1, bare)
{
    r.env("OMX_CTXIDS", "4,8");
    Session session(r);
    Endpoint ep(r);
    mx_request_t q = nullptr;
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 0, 0xff, nullptr, &q), MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK);
    CHECK_EQ(mx_irecv(ep, nullptr, 0, 0, 0xf00, nullptr, &q), MX_SUCCESS);
}

CONFORM(retry_limit_by_environment, 2, bare | apart | simulated)
{
    r.env("MX_MAX_RETRIES", "4"); // periods of 0.5 s
    Session session(r);
    Net net = open_net(r);
    if (r.id == 0) {
        r.cut(true);
        double start = r.now_ms();
        mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
        mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE);
        CHECK_TOOK(start, 1000, 6000);
        r.cut(false);
    }
    r.barrier();
}

CONFORM(shared_rendezvous_threshold, 2, bare | real | together)
{
    r.env("OMX_SHARED_RNDV_THRESHOLD", "1000");
    copies_up_to_1000(r);
}

CONFORM(shared_threshold_leaves_other_hosts_alone, 2, bare | real | apart)
{
    r.env("OMX_SHARED_RNDV_THRESHOLD", "1000");
    Session session(r);
    Net net = open_net(r);
    std::vector<uint8_t> data = pattern(1, 5000), room(5000);
    if (r.id == 0) {
        mx_request_t q = isend(r, net.ep, data.data(), 5000, net.to[1], 1);
        finish_ok(r, net.ep, q); // eager: nobody receives yet
    }
    r.barrier();
    if (r.id == 1)
        recv(r, net.ep, room.data(), 5000, 1);
    r.barrier();
}

/// mx_connect between two endpoints of this process: success, or time-out.
bool connects_within_the_process(Rank &r, uint32_t timeout)
{
    Session session(r);
    Endpoint a(r), b(r);
    mx_endpoint_addr_t to;
    mx_return_t code = mx_connect(a, b.nic(), b.eid(), key, timeout, &to);
    CHECK(code == MX_SUCCESS || code == MX_TIMEOUT);
    return code == MX_SUCCESS;
}

CONFORM(connect_polls_all_endpoints, 1, bare | real)
{
    r.env("EMX_HELPER_MS", "0"); // nobody else serves the other endpoint
    CHECK(!connects_within_the_process(r, 300));
    r.env("OMX_CONNECT_POLLALL", "1");
    CHECK(connects_within_the_process(r, patience));
}

CONFORM(a_signal_ends_a_wait_when_wanted, 1, bare | real)
{
    r.env("OMX_WAITINTR", "1");
    Session session(r);
    Endpoint ep(r);
    struct sigaction act {};
    act.sa_handler = [](int) {};
    struct sigaction old {};
    sigaction(SIGALRM, &act, &old);
    itimerval often{{0, 50000}, {0, 50000}}, never{};
    mx_status_t s;
    mx_request_t q = irecv(r, ep, nullptr, 0, 1), peeked = nullptr;
    setitimer(ITIMER_REAL, &often, nullptr);
    uint32_t result = 7;
    CHECK_EQ(mx_wait_any(ep, MX_INFINITE, 0, 0, &s, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    CHECK_EQ(mx_wait(ep, &q, MX_INFINITE, &s, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    CHECK_EQ(mx_peek(ep, MX_INFINITE, &peeked, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    CHECK_EQ(mx_probe(ep, MX_INFINITE, 0, 0, &s, &result), MX_SUCCESS);
    CHECK_EQ(result, 0u);
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &old, nullptr);
    send(r, ep, "", 0, ep.self(), 1); // nothing was lost by it
    finish_ok(r, ep, q);
}

/// Collects what this process writes to stderr while it lives.
class Stderr {
public:
    Stderr() : file_(std::tmpfile()), before_(dup(2)) { dup2(fileno(file_), 2); }
    ~Stderr()
    {
        dup2(before_, 2);
        close(before_);
        std::fclose(file_);
    }
    Stderr(const Stderr &) = delete;
    Stderr &operator=(const Stderr &) = delete;
    std::string text()
    {
        std::string all(10000, '\0');
        ssize_t n = pread(fileno(file_), all.data(), all.size(), 0);
        all.resize(n > 0 ? static_cast<size_t>(n) : 0);
        return all;
    }

private:
    FILE *file_;
    int before_;
};

CONFORM(diagnostics_when_wanted, 1, bare | real)
{
    auto told = [&] {
        Stderr file;
        {
            Session session(r);
            Endpoint ep(r, 3);
        }
        return file.text();
    };
    CHECK_EQ(told(), std::string());
    r.env("MX_VERBOSE", ""); // set, even empty
    std::string text = told();
    CHECK(text.starts_with("OMX: "));
    CHECK(text.find("OMX: endpoint opened, board 0 endpoint 3\n") != std::string::npos);
    CHECK(text.find("OMX: endpoint closed, board 0 endpoint 3\n") != std::string::npos);
    r.env("OMX_VERBOSE_PREFIX", "<%p %e %b %H[0-3] 100%%> ");
    std::string prefix = "<" + std::to_string(getpid()) + " 3 0 conf 100%> endpoint opened";
    CHECK(told().find(prefix) != std::string::npos);
    r.env("OMX_VERBOSE_PREFIX", "1");
    CHECK(told().find(":" + std::to_string(getpid()) + ": endpoint opened") != std::string::npos);
    r.env("OMX_IGNORE_MX_ENV", "1"); // and so MX_VERBOSE
    CHECK_EQ(told(), std::string());
}

/// The processors this thread may use after an endpoint of that number was opened.
std::vector<int> bound_to(Rank &r, const std::string &binding, uint32_t eid)
{
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    r.env("OMX_PROCESS_BINDING", binding.c_str());
    std::vector<int> cpus;
    {
        Session session(r);
        Endpoint ep(r, eid);
        sched_getaffinity(0, sizeof after, &after);
    }
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &after))
            cpus.push_back(i);
    sched_setaffinity(0, sizeof before, &before);
    return cpus;
}

CONFORM(process_binding, 1, bare | real)
{
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    std::vector<int> all;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &mine))
            all.push_back(i);
    std::string first = std::to_string(all.front()), last = std::to_string(all.back());
    CHECK(bound_to(r, "all:" + last, 0) == std::vector<int>{all.back()});
    CHECK(bound_to(r, first + "," + last, 0) == std::vector<int>{all.front()});
    CHECK(bound_to(r, first + "," + last, 1) == std::vector<int>{all.back()});
    CHECK(bound_to(r, first + "," + last, 2) == all); // the list is too short
    CHECK(bound_to(r, "rubbish", 0) == all);
    CHECK(bound_to(r, "all:100000", 0) == all);
    uint64_t nic = 0;
    {
        Session session(r);
        REQUIRE_OK(mx_board_number_to_nic_id(0, &nic));
    }
    char path[] = "/tmp/emx-binding.XXXXXX", line[128];
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    int length = std::snprintf(
        line, sizeof line, "board %02x:%02x:%02x:%02x:%02x:%02x ep 1 irq 0 mask %llx\n",
        unsigned(nic >> 40 & 255), unsigned(nic >> 32 & 255), unsigned(nic >> 24 & 255),
        unsigned(nic >> 16 & 255), unsigned(nic >> 8 & 255), unsigned(nic & 255), 1ull << all.back());
    CHECK_EQ(write(fd, line, static_cast<size_t>(length)), length);
    close(fd);
    CHECK(bound_to(r, std::string("file:") + path, 1) == std::vector<int>{all.back()});
    CHECK(bound_to(r, std::string("file:") + path, 0) == all);
    unlink(path);
    CHECK(bound_to(r, std::string("file:") + path, 1) == all);
}

CONFORM(fatal_errors_wait_for_a_debugger, 1, bare | real)
{
    r.env("OMX_ABORT_SLEEPS", "1");
    double start = r.now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        close(2);
        alarm(20);
        mx_finalize(); // not initialised, and the default handler is fatal
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 255);
    CHECK_TOOK(start, 1000, patience);
}

} // namespace
} // namespace emx::conform

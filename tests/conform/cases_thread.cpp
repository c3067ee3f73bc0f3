// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: threads, processes, signals (API 2.2, 2.6; checklist 15, 21, 22). Real ones only.
#include "kit.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {
namespace {

/// Exit status of a child that runs fn; its stderr goes to `text` when given.
int in_child(const std::function<int()> &fn, std::string *text = nullptr)
{
    int fd[2];
    if (pipe(fd))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], 2);
        close(fd[0]);
        close(fd[1]);
        alarm(20);
        _exit(fn());
    }
    close(fd[1]);
    char buffer[1024];
    ssize_t n;
    while ((n = read(fd[0], buffer, sizeof buffer)) > 0)
        if (text)
            text->append(buffer, static_cast<size_t>(n));
    close(fd[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

using ThreadIds = std::vector<std::atomic<int>>;

/// Enters the calling thread.
void at(ThreadIds &ids)
{
    for (auto &id : ids)
        if (int nobody = 0; id.compare_exchange_strong(nobody, gettid()))
            return;
}

bool sleeps(int thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const auto state = line.rfind(") "); // behind the name, which may hold anything
    return state != std::string::npos && line[state + 2] == 'S';
}

/// Returns when all have entered, and sleep in the library: they have been seen asleep many times in a row.
void await_sleep(Rank &r, const ThreadIds &ids)
{
    constexpr int looks = 20;
    for (int seen = 0; seen < looks; r.sleep_ms(1))
        seen = std::all_of(ids.begin(), ids.end(), [](const auto &id) { return id && sleeps(id); }) ? seen + 1
                                                                                                    : 0;
}

CONFORM(errors_are_fatal_by_default, 1, real | bare)
{
    std::string text;
    int status = in_child(
        [] {
            mx_set_error_handler(nullptr);
            mx_finalize(); // not initialised
            return 7;
        },
        &text);
    CHECK_EQ(status, 255);
    CHECK(!text.empty());
}

CONFORM(wakeup_ends_every_kind_of_wait, 2, real | apart)
{
    // Twelve threads sleep on one endpoint, two of a kind; one wakeup releases them all.
    Net net = open_net(r, false);
    if (r.id == 1) {
        r.barrier();
        r.barrier();
        return;
    }
    mx_endpoint_addr_t self = net.ep.self();
    r.cut(true);
    r.barrier();
    std::vector<std::atomic<int>> threads_at(12);
    std::atomic<int> released{0}, wrong{0};
    auto done = [&](bool right) {
        released++;
        if (!right)
            wrong++;
    };
    std::vector<std::thread> threads;
    std::vector<mx_request_t> requests(6, nullptr);
    for (size_t i = 0; i < 2; i++) {
        requests[i] = issend(r, net.ep, nullptr, 0, self, 100 + i);
        requests[2 + i] = irecv(r, net.ep, nullptr, 0, 200 + i);
        REQUIRE_OK(mx_iconnect(net.ep, net.nic[1], net.eid[1], key, 300, nullptr, &requests[4 + i]));
    }
    for (mx_request_t &q : requests)
        threads.emplace_back([&, copy = q]() mutable {
            mx_status_t s;
            uint32_t result = 7;
            at(threads_at);
            mx_return_t code = mx_wait(net.ep, &copy, MX_INFINITE, &s, &result);
            done(code == MX_SUCCESS && result == 0);
        });
    for (int i = 0; i < 2; i++) {
        threads.emplace_back([&] {
            mx_status_t s;
            uint32_t result = 7;
            at(threads_at);
            done(mx_probe(net.ep, MX_INFINITE, 999, all_bits, &s, &result) == MX_SUCCESS && result == 0);
        });
        threads.emplace_back([&] {
            mx_request_t q = nullptr;
            uint32_t result = 7;
            at(threads_at);
            done(mx_peek(net.ep, MX_INFINITE, &q, &result) == MX_SUCCESS && result == 0);
        });
        threads.emplace_back([&] {
            mx_endpoint_addr_t a;
            at(threads_at);
            done(mx_connect(net.ep, net.nic[1], net.eid[1], key, MX_INFINITE, &a) == MX_TIMEOUT);
        });
    }
    await_sleep(r, threads_at);
    CHECK_EQ(released.load(), 0);
    CHECK_EQ(mx_wakeup(net.ep), MX_SUCCESS);
    for (double end = r.now_ms() + patience; released < 12 && r.now_ms() < end;)
        r.sleep_ms(1);
    CHECK_EQ(released.load(), 12);
    CHECK_EQ(wrong.load(), 0);
    r.cut(false);
    CHECK_EQ(net.ep.close(), MX_SUCCESS); // with everything pending; frees whoever is left
    for (std::thread &t : threads)
        t.join();
    r.barrier();
}

CONFORM(close_releases_waiting_threads, 1, real)
{
    Endpoint e(r);
    mx_endpoint_t ep = e;
    std::vector<std::atomic<int>> threads_at(4);
    std::atomic<int> released{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            mx_status_t s;
            mx_request_t q = nullptr;
            uint32_t result = 7;
            at(threads_at);
            if (i % 2)
                mx_wait_any(ep, MX_INFINITE, 0, 0, &s, &result);
            else
                mx_peek(ep, MX_INFINITE, &q, &result);
            if (result == 0)
                released++;
        });
    await_sleep(r, threads_at);
    CHECK_EQ(e.close(), MX_SUCCESS);
    for (std::thread &t : threads)
        t.join();
    CHECK_EQ(released.load(), 4);
}

CONFORM(one_thread_waits_and_another_posts, 2, real)
{
    Net net = open_net(r);
    const uint64_t count = 2000;
    auto other = static_cast<size_t>(1 - r.id);
    std::vector<uint64_t> in(count, ~0ull);
    std::atomic<uint64_t> bad{0};
    std::thread reaper([&] {
        for (uint64_t i = 0; i < 2 * count; i++) {
            mx_status_t s;
            uint32_t result = 0;
            if (mx_wait_any(net.ep, patience, 0, 0, &s, &result) != MX_SUCCESS || !result ||
                s.code != MX_STATUS_SUCCESS) {
                bad++;
                return;
            }
        }
    });
    for (uint64_t i = 0; i < count; i++) {
        irecv(r, net.ep, &in[i], sizeof in[i], i);
        isend(r, net.ep, &i, sizeof i, net.to[other], i);
    }
    reaper.join();
    CHECK_EQ(bad.load(), 0u);
    for (uint64_t i = 0; i < count; i++)
        REQUIRE_EQ(in[i], i);
    r.barrier();
}

CONFORM(one_thread_sleeps_and_another_asks, 2, real)
{
    Net net = open_net(r);
    if (r.id == 1) {
        for (uint64_t i = 0; i < 20; i++) {
            // The receiver falls asleep meanwhile; nothing tells when it has.
            r.sleep_ms(20);
            mx_request_t send = isend(r, net.ep, &i, sizeof i, net.to[0], i);
            finish_ok(r, net.ep, send);
        }
        r.barrier();
        return;
    }
    std::atomic<bool> over{false};
    // It takes what comes off the device, also what the sleeper waits for.
    std::thread asker([&] {
        uint32_t result = 0;
        while (!over)
            mx_iprobe(net.ep, 1000, all_bits, nullptr, &result);
    });
    uint64_t late = 0;
    const double start = r.now_ms(); // a message comes every 20 ms
    for (uint64_t i = 0; i < 20 && !late; i++) {
        uint64_t in = 0;
        mx_request_t request = irecv(r, net.ep, &in, sizeof in, i);
        mx_status_t status;
        uint32_t result = 0;
        if (mx_wait(net.ep, &request, patience, &status, &result) != MX_SUCCESS || !result)
            late = i + 1;
    }
    over = true;
    asker.join();
    CHECK_EQ(late, 0u);
    CHECK(r.now_ms() - start < patience); // not by the deadline, which would be a wakeup lost
    r.barrier();
}

CONFORM(one_thread_connects_and_another_asks, 2, real)
{
    // A blocking connect's request is its own: whoever takes what has finished must not take that.
    Net net = open_net(r, false);
    auto other = static_cast<size_t>(1 - r.id);
    std::atomic<bool> over{false};
    std::atomic<int> taken{0};
    std::thread asker([&] {
        while (!over) {
            mx_status_t s;
            mx_request_t q = nullptr;
            uint32_t result = 0;
            mx_test_any(net.ep, 0, 0, &s, &result);
            taken += result != 0;
            mx_ipeek(net.ep, &q, &result);
            taken += result != 0;
        }
    });
    int refused = 0;
    for (int i = 0; i < 200; i++) {
        mx_endpoint_addr_t a;
        refused += mx_connect(net.ep, net.nic[other], net.eid[other], key, patience, &a) != MX_SUCCESS;
    }
    over = true;
    asker.join();
    CHECK_EQ(refused, 0);
    CHECK_EQ(taken.load(), 0);
    r.barrier();
}

CONFORM(threads_on_one_endpoint, 2, real)
{
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    std::atomic<uint64_t> bad{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            const uint32_t sizes[] = {8, 2000, 40000};
            std::vector<uint8_t> out, in(40000);
            for (uint64_t i = 0; i < 60 && !bad; i++) {
                uint32_t length = sizes[i % 3];
                out = pattern(t * 1000 + i, length);
                mx_segment_t so{out.data(), length}, si{in.data(), length};
                mx_request_t a = nullptr, b = nullptr;
                mx_status_t st;
                uint32_t ra = 0, rb = 0;
                mx_irecv(net.ep, &si, 1, t, all_bits, nullptr, &a);
                mx_isend(net.ep, &so, 1, net.to[other], t, nullptr, &b);
                mx_wait(net.ep, &a, patience, &st, &ra);
                mx_wait(net.ep, &b, patience, &st, &rb);
                if (!ra || !rb || verify(in.data(), t * 1000 + i, length) != length)
                    bad++;
            }
        });
    for (std::thread &t : threads)
        t.join();
    CHECK_EQ(bad.load(), 0u);
    r.barrier();
}

CONFORM(an_endpoint_per_thread, 1, real)
{
    std::atomic<int> bad{0};
    std::vector<Endpoint> eps;
    for (int i = 0; i < 8; i++)
        eps.emplace_back(r);
    std::vector<uint64_t> nic;
    std::vector<uint32_t> eid;
    for (Endpoint &e : eps) {
        nic.push_back(e.nic());
        eid.push_back(e.eid());
    }
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 8; t++)
        threads.emplace_back([&, t] {
            size_t peer = (t + 1) % 8;
            mx_endpoint_addr_t to;
            if (mx_connect(eps[t], nic[peer], eid[peer], key, patience, &to) != MX_SUCCESS) {
                bad++;
                return;
            }
            for (uint64_t i = 0; i < 100; i++) {
                uint64_t in = 0;
                mx_segment_t so{&i, sizeof i}, si{&in, sizeof in};
                mx_request_t a = nullptr, b = nullptr;
                mx_status_t st;
                uint32_t ra = 0, rb = 0;
                mx_irecv(eps[t], &si, 1, 1, all_bits, nullptr, &a);
                mx_isend(eps[t], &so, 1, to, 1, nullptr, &b);
                mx_wait(eps[t], &b, patience, &st, &rb);
                mx_wait(eps[t], &a, patience, &st, &ra);
                bad += !ra || !rb || in != i;
            }
        });
    for (std::thread &t : threads)
        t.join();
    CHECK_EQ(bad.load(), 0);
}

/// The library with a helper thread that steps in all the time.
struct EagerHelper {
    explicit EagerHelper(Rank &r)
    {
        r.env("EMX_HELPER_MS", "1");
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE_OK(mx_init());
    }
    ~EagerHelper() { mx_finalize(); }
};

CONFORM(endpoints_come_and_go_while_others_work, 1, real | bare)
{
    EagerHelper session(r);
    Endpoint steady(r);
    const uint64_t nic = steady.nic();
    const uint32_t eid = steady.eid();
    constexpr int workers = 3, rounds = 8;
    std::atomic<int> bad{0}, left{workers};
    std::vector<std::thread> threads;
    for (int t = 0; t < workers; t++)
        threads.emplace_back([&] {
            for (int round = 0; round < rounds && !bad; round++) {
                mx_endpoint_t ep = nullptr;
                mx_endpoint_addr_t to;
                std::vector<uint8_t> data = pattern(1, 40000);
                mx_segment_t s{data.data(), round % 2 ? 40000u : 100u};
                mx_request_t q = nullptr;
                mx_status_t st;
                uint32_t result = 0;
                bool good =
                    mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, key, nullptr, 0, &ep) == MX_SUCCESS &&
                    mx_connect(ep, nic, eid, key, patience, &to) == MX_SUCCESS &&
                    mx_isend(ep, &s, 1, to, 1, nullptr, &q) == MX_SUCCESS &&
                    mx_wait(ep, &q, patience, &st, &result) == MX_SUCCESS && result == 1 &&
                    st.code == MX_STATUS_SUCCESS && mx_close_endpoint(ep) == MX_SUCCESS;
                bad += !good;
            }
            left--;
        });
    std::vector<uint8_t> room(40000);
    int received = 0;
    while (received < workers * rounds && !bad) {
        mx_request_t q = irecv(r, steady, room.data(), 40000, 1);
        uint32_t length = finish_ok(r, steady, q).xfer_length;
        CHECK_PATTERN(room, 1, length);
        received++;
    }
    for (std::thread &t : threads)
        t.join();
    CHECK_EQ(bad.load(), 0);
    CHECK_EQ(left.load(), 0);
}

CONFORM(questions_are_answered_while_traffic_runs, 2, real | bare)
{
    EagerHelper session(r);
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> asked{0}, bad{0};
    std::thread asker([&] {
        while (!stop) {
            uint32_t board = 0, values[128], number = 0;
            char name[MX_MAX_HOSTNAME_LEN];
            uint64_t nic = 0;
            void *context = nullptr;
            mx_return_t named = mx_nic_id_to_hostname(net.nic[other], name);
            bool good = mx_get_info(net.ep, MX_COUNTERS_VALUES, &board, sizeof board, values,
                                    sizeof values) == MX_SUCCESS &&
                        mx_get_info(net.ep, MX_NIC_COUNT, nullptr, 0, &number, sizeof number) == MX_SUCCESS &&
                        (named == MX_SUCCESS || named == MX_HOST_NOT_FOUND) && // asked for in the background
                        mx_board_number_to_nic_id(0, &nic) == MX_SUCCESS &&
                        mx_set_endpoint_addr_context(net.to[other], &board) == MX_SUCCESS &&
                        mx_get_endpoint_addr_context(net.to[other], &context) == MX_SUCCESS &&
                        mx_wakeup(net.ep) == MX_SUCCESS;
            mx_set_error_handler(MX_ERRORS_RETURN);
            bad += !good || nic != net.nic[static_cast<size_t>(r.id)];
            asked++;
        }
    });
    std::vector<uint8_t> out = pattern(1, 50000), in(50000);
    for (uint32_t i = 0;; i++) {
        uint32_t length = i % 3 ? 100 : 50000;
        mx_request_t q = irecv(r, net.ep, in.data(), length, i);
        mx_request_t s = isend(r, net.ep, out.data(), length, net.to[other], i);
        while (!completes(r, net.ep, q, 10) || !completes(r, net.ep, s, patience)) {
        }
        CHECK_PATTERN(in, 1, length);
        std::vector<uint64_t> enough = r.exchange(asked >= 20);
        if (enough[0] && enough[1] && i >= 200)
            break;
    }
    stop = true;
    asker.join();
    CHECK_EQ(bad.load(), 0u);
    r.barrier();
}

CONFORM(progression_is_switched_by_another_thread, 2, real | bare)
{
    EagerHelper session(r);
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    static std::atomic<uint64_t> handled;
    handled = 0;
    std::atomic<bool> gate_closed{false};
    std::atomic<uint64_t> bad{0};
    mx_register_unexp_handler(
        net.ep,
        [](void *closed, mx_endpoint_addr_t, uint64_t, uint32_t, void *) {
            if (*static_cast<std::atomic<bool> *>(closed))
                handled += 1000000; // not while progression is off
            handled++;
            return MX_RECV_FINISHED;
        },
        &gate_closed);
    r.barrier();
    const uint64_t count = 300;
    std::thread gate([&] {
        while (handled < count) {
            bad += mx_disable_progression(net.ep) != MX_SUCCESS;
            gate_closed = true;
            std::this_thread::yield();
            gate_closed = false;
            bad += mx_reenable_progression(net.ep) != MX_SUCCESS;
            std::this_thread::yield();
        }
    });
    for (uint64_t i = 0; i < count; i++)
        send(r, net.ep, &i, sizeof i, net.to[other], i);
    for (double end = r.now_ms() + patience; handled < count && r.now_ms() < end;)
        REQUIRE_OK(mx_progress(net.ep));
    gate.join();
    CHECK_EQ(handled.load(), count);
    CHECK_EQ(bad.load(), 0u);
    r.barrier();
}

CONFORM(threads_post_cancel_and_forget, 2, real | bare)
{
    EagerHelper session(r);
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    std::atomic<uint64_t> bad{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            std::vector<uint8_t> out = pattern(t, 9000), in(9000);
            for (uint64_t i = 0; i < 100; i++) {
                mx_segment_t so{out.data(), 9000}, si{in.data(), 9000};
                mx_request_t never = nullptr, a = nullptr, b = nullptr;
                mx_status_t st;
                uint32_t result = 0, cancelled = 0;
                bool good = mx_irecv(net.ep, &si, 1, 1000 + t, all_bits, nullptr, &never) == MX_SUCCESS &&
                            mx_irecv(net.ep, &si, 1, t, all_bits, nullptr, &a) == MX_SUCCESS &&
                            mx_isend(net.ep, &so, 1, net.to[other], t, nullptr, &b) == MX_SUCCESS &&
                            mx_forget(net.ep, &b) == MX_SUCCESS &&
                            mx_cancel(net.ep, &never, &cancelled) == MX_SUCCESS &&
                            mx_wait(net.ep, &a, patience, &st, &result) == MX_SUCCESS;
                bad += !good || cancelled != 1 || result != 1 || verify(in.data(), t, 9000) != 9000;
            }
        });
    for (std::thread &t : threads)
        t.join();
    CHECK_EQ(bad.load(), 0u);
    r.barrier();
}

CONFORM(fork_and_exec_while_traffic_runs, 2, real)
{
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    std::vector<uint8_t> out = pattern(1, 200000), in(200000);
    for (int i = 0; i < 10; i++) {
        mx_request_t q = irecv(r, net.ep, in.data(), 200000, 1);
        mx_request_t s = isend(r, net.ep, out.data(), 200000, net.to[other], 1);
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 2)
                execl("/bin/true", "true", nullptr);
            mx_status_t status;
            uint32_t result = 0;
            bool refused = mx_test_any(net.ep, 0, 0, &status, &result) == MX_BAD_ENDPOINT &&
                           mx_close_endpoint(net.ep) == MX_BAD_ENDPOINT;
            _exit(refused ? 0 : 3);
        }
        finish_ok(r, net.ep, q);
        finish_ok(r, net.ep, s);
        int status = 1;
        waitpid(pid, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
        CHECK_PATTERN(in, 1, 200000);
    }
    r.barrier();
}

CONFORM(a_child_may_start_from_scratch, 1, real)
{
    Endpoint parent(r, 0);
    int status = in_child([] {
        mx_set_error_handler(MX_ERRORS_RETURN);
        mx_return_t code = mx_init();
        if (code != MX_SUCCESS && code != MX_ALREADY_INITIALIZED)
            return 1;
        mx_endpoint_t ep = nullptr;
        if (mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, key, nullptr, 0, &ep) != MX_SUCCESS)
            return 2;
        return mx_close_endpoint(ep) == MX_SUCCESS ? 0 : 3;
    });
    CHECK_EQ(status, 0);
    char c = 0; // the parent is as it was
    mx_request_t q = irecv(r, parent, &c, 1, 1);
    send(r, parent, "x", 1, parent.self(), 1);
    finish_ok(r, parent, q);
}

CONFORM(a_signal_does_not_end_a_wait, 1, real)
{
    Endpoint ep(r);
    struct sigaction act {};
    act.sa_handler = [](int) {};
    struct sigaction old {};
    sigaction(SIGUSR1, &act, &old);
    pthread_t me = pthread_self();
    std::thread sender([&] {
        for (int i = 0; i < 5; i++) {
            r.sleep_ms(20);
            pthread_kill(me, SIGUSR1);
        }
    });
    double start = r.now_ms();
    mx_status_t s;
    uint32_t result = 7;
    REQUIRE_OK(mx_wait_any(ep, 300, 0, 0, &s, &result));
    CHECK_EQ(result, 0u);
    CHECK_TOOK(start, 299, patience);
    sender.join();
    sigaction(SIGUSR1, &old, nullptr);
}

CONFORM(no_descriptor_is_left_behind, 1, real | bare)
{
    auto open_fds = [] {
        int n = 0;
        for (int fd = 0; fd < 256; fd++)
            n += fcntl(fd, F_GETFD) != -1;
        return n;
    };
    mx_set_error_handler(MX_ERRORS_RETURN);
    int before = 0;
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(mx_init());
        {
            Endpoint ep(r);
            char c = 0;
            mx_request_t q = irecv(r, ep, &c, 1, 1);
            send(r, ep, "x", 1, ep.self(), 1);
            finish_ok(r, ep, q);
        }
        REQUIRE_OK(mx_finalize());
        if (i == 0)
            before = open_fds();
    }
    CHECK_EQ(open_fds(), before);
}

CONFORM(nothing_is_left_open_across_exec, 1, real)
{
    Endpoint ep(r);
    for (int fd = 3; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);
        char path[64], target[256];
        std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = flags == -1 ? -1 : readlink(path, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = 0;
        if (std::strncmp(target, "socket:", 7) == 0 || std::strstr(target, "memfd") ||
            std::strstr(target, "anon_inode"))
            CHECK(flags & FD_CLOEXEC);
    }
}

} // namespace
} // namespace emx::conform

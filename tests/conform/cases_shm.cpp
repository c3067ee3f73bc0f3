// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance: endpoints of one host (architecture, shared memory): which way messages take, who may
// not share memory, full rings, forked children, sudden death. Real processes only.
#include "kit.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {
namespace {

// The longest comes without its data in any case.
constexpr uint32_t sizes[] = {0, 1, 32, 33, 128, 129, 5000, 8192, 32768, 32769, 300000, 4 << 20, 9 << 20};

/// A counter of board 0 of this host by its label: all processes of the host together.
uint64_t counter(Rank &r, const char *label)
{
    uint32_t board = 0, count = 0;
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_COUNT, &board, sizeof board, &count, sizeof count));
    std::vector<char> labels(size_t{count} * MX_MAX_STR_LEN);
    std::vector<uint32_t> values(count);
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_LABELS, &board, sizeof board, labels.data(),
                           static_cast<uint32_t>(labels.size())));
    REQUIRE_OK(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, sizeof board, values.data(),
                           count * static_cast<uint32_t>(sizeof(uint32_t))));
    for (size_t i = 0; i < count; i++)
        if (std::strcmp(&labels[i * MX_MAX_STR_LEN], label) == 0)
            return values[i];
    r.fail(__FILE__, __LINE__, std::string("no counter \"") + label + "\"");
    throw Abandon();
}

uint64_t by_memory(Rank &r) { return counter(r, "messages through shared memory"); }
uint64_t pulled_by_frames(Rank &r)
{
    return counter(r, "pull replies received") + counter(r, "x data frames received");
}

/// Every size to the next rank and from the one before, `rounds` times.
void exchange_sizes(Rank &r, Net &net, int rounds = 1)
{
    auto next = static_cast<size_t>((r.id + 1) % r.n), from = static_cast<size_t>((r.id + r.n - 1) % r.n);
    for (int round = 0; round < rounds; round++)
        for (uint32_t length : sizes) {
            std::vector<uint8_t> data = pattern(length + static_cast<size_t>(r.id), length), room(length);
            mx_request_t q = irecv(r, net.ep, room.data(), length, length);
            mx_request_t s = isend(r, net.ep, data.data(), length, net.to[next], length);
            CHECK_EQ(finish_ok(r, net.ep, q).xfer_length, length);
            finish_ok(r, net.ep, s);
            CHECK_PATTERN(room, length + from, length);
        }
    r.barrier();
}

void drop_ptrace(Rank &r)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2];
    REQUIRE_EQ(syscall(SYS_capget, &header, data), 0);
    const uint32_t bit = 1u << CAP_SYS_PTRACE;
    data[0].effective &= ~bit;
    data[0].permitted &= ~bit;
    data[0].inheritable &= ~bit;
    REQUIRE_EQ(syscall(SYS_capset, &header, data), 0);
}

/// Both ranks of a case: the other one's memory may not be read from now on, in neither direction.
void forbid_reading(Rank &r)
{
    drop_ptrace(r);
    REQUIRE_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
    r.barrier();
}

CONFORM(messages_within_a_host_go_by_memory, 2, real | together)
{
    Net net = open_net(r);
    uint64_t before = by_memory(r), pulled = pulled_by_frames(r);
    r.barrier();
    exchange_sizes(r, net, 4);
    CHECK(by_memory(r) - before > std::size(sizes) * 6); // the first ones may be frames
    CHECK_EQ(pulled_by_frames(r), pulled);
    r.barrier();
}

CONFORM(shmem_disabled_means_frames, 2, real | bare | together)
{
    r.env("MX_DISABLE_SHMEM", "1");
    Session session(r);
    Net net = open_net(r);
    uint64_t before = by_memory(r), pulled = pulled_by_frames(r);
    r.barrier();
    exchange_sizes(r, net);
    CHECK_EQ(by_memory(r), before);
    CHECK(pulled_by_frames(r) > pulled);
    r.barrier();
}

CONFORM(one_side_disabled_means_frames_to_it, 2, real | bare | together)
{
    if (r.id == 1)
        r.env("MX_DISABLE_SHMEM", "1");
    Session session(r);
    Net net = open_net(r);
    uint64_t before = by_memory(r);
    r.barrier();
    exchange_sizes(r, net);
    CHECK_EQ(by_memory(r), before);
    r.barrier();
}

/// One rank's net in which it is connected to itself as to any other, or only has its own address.
Net open_mirror(Rank &r, bool connect = true)
{
    Net net = open_net(r);
    if (connect)
        net.to[0] = connect_to(r, net.ep, net.nic[0], net.eid[0]);
    return net;
}

CONFORM(self_disabled_goes_by_memory, 1, real | bare | together)
{
    r.env("MX_DISABLE_SELF", "1");
    Session session(r);
    for (bool connect : {false, true}) {
        Net net = open_mirror(r, connect);
        uint64_t before = by_memory(r), pulled = pulled_by_frames(r);
        exchange_sizes(r, net, 4);
        CHECK(by_memory(r) - before > std::size(sizes) * 3);
        CHECK_EQ(pulled_by_frames(r), pulled);
    }
}

CONFORM(self_enabled_takes_the_short_cut, 1, real | together)
{
    Net net = open_mirror(r);
    uint64_t before = by_memory(r), pulled = pulled_by_frames(r), acks = counter(r, "explicit acks received");
    exchange_sizes(r, net);
    CHECK_EQ(by_memory(r), before);
    CHECK_EQ(pulled_by_frames(r), pulled);
    CHECK_EQ(counter(r, "explicit acks received"), acks);
}

CONFORM(both_disabled_means_frames_to_oneself, 1, real | bare | together)
{
    r.env("MX_DISABLE_SELF", "1");
    r.env("MX_DISABLE_SHMEM", "1");
    Session session(r);
    for (bool connect : {false, true}) {
        Net net = open_mirror(r, connect);
        uint64_t before = by_memory(r), pulled = pulled_by_frames(r);
        exchange_sizes(r, net);
        CHECK_EQ(by_memory(r), before);
        CHECK(pulled_by_frames(r) > pulled);
    }
}

CONFORM(large_messages_without_ptrace_are_pulled, 2, real | together)
{
    forbid_reading(r);
    Net net = open_net(r);
    uint64_t pulled = pulled_by_frames(r), before = by_memory(r);
    r.barrier();
    exchange_sizes(r, net, 4);
    CHECK(pulled_by_frames(r) > pulled);
    CHECK(by_memory(r) > before); // the rings need no ptrace
    r.barrier();
}

CONFORM(ptrace_forbidden_in_the_middle_of_traffic, 2, real | together)
{
    Net net = open_net(r);
    exchange_sizes(r, net, 2);
    uint64_t pulled = pulled_by_frames(r);
    forbid_reading(r);
    exchange_sizes(r, net, 2);
    CHECK(pulled_by_frames(r) > pulled);
    r.barrier();
}

CONFORM(other_users_share_no_memory, 2, real | together)
{
    // The descriptors were had as root; from here on rank 1 is somebody else.
    Net net = open_net(r, false);
    if (r.id == 1) {
        REQUIRE_EQ(setgid(65534), 0);
        REQUIRE_EQ(setuid(65534), 0);
    }
    r.barrier();
    uint64_t before = by_memory(r);
    for (size_t i = 0; i < 2; i++)
        net.to[i] =
            static_cast<int>(i) == r.id ? net.ep.self() : connect_to(r, net.ep, net.nic[i], net.eid[i]);
    r.barrier();
    exchange_sizes(r, net, 2);
    CHECK_EQ(by_memory(r), before);
    r.barrier();
}

CONFORM(ten_thousand_messages_outstanding, 2, real | together)
{
    Net net = open_net(r);
    const uint64_t count = 10000;
    const uint32_t length = 600; // all of them are many rings full
    if (r.id == 0) {
        std::vector<mx_request_t> requests;
        for (uint64_t i = 0; i < count; i++) {
            std::vector<uint8_t> data = pattern(i, length);
            requests.push_back(isend(r, net.ep, data.data(), length, net.to[1], 1));
        }
        r.barrier(); // the receiver has not called the library until here
        for (mx_request_t &q : requests)
            finish_ok(r, net.ep, q);
    } else {
        r.barrier();
        std::vector<uint8_t> room(length);
        for (uint64_t i = 0; i < count; i++) {
            recv(r, net.ep, room.data(), length, 1);
            REQUIRE_EQ(verify(room.data(), i, length), size_t{length});
        }
        CHECK(by_memory(r) > 0);
    }
    r.barrier();
}

CONFORM(four_processes_to_each_other, 4, real | together)
{
    Net net = open_net(r);
    auto me = static_cast<uint64_t>(r.id), n = static_cast<uint64_t>(r.n);
    uint64_t before = by_memory(r);
    r.barrier();
    const uint64_t rounds = std::getenv("EMX_FULL") ? 8 : 3;
    for (uint64_t round = 0; round < rounds; round++) {
        std::vector<std::vector<uint8_t>> out, in;
        std::vector<mx_request_t> sends, receives;
        for (uint64_t i = 0; i < n * std::size(sizes); i++) {
            uint64_t peer = i % n;
            uint32_t length = sizes[i / n];
            out.push_back(pattern(me * 1000 + i + round, length));
            in.emplace_back(length);
            receives.push_back(irecv(r, net.ep, in.back().data(), length, peer << 32 | i / n));
        }
        for (uint64_t i = 0; i < n * std::size(sizes); i++)
            sends.push_back(isend(r, net.ep, out[i].data(), sizes[i / n], net.to[i % n], me << 32 | i / n));
        for (uint64_t i = 0; i < n * std::size(sizes); i++) {
            finish_ok(r, net.ep, receives[i]);
            finish_ok(r, net.ep, sends[i]);
            CHECK_PATTERN(in[i], (i % n) * 1000 + (i - i % n + me) + round, sizes[i / n]);
        }
    }
    r.barrier();
    CHECK(by_memory(r) > before);
    r.barrier();
}

/// Kills rank 1, and what rank 0 sends then fails by the news of that, long before it would give up.
void death_is_heard_of(Rank &r, Net &net)
{
    r.kill(1);
    mx_request_t more = issend(r, net.ep, "x", 1, net.to[1], 9);
    CHECK_EQ(finish(r, net.ep, more).code, MX_STATUS_ENDPOINT_CLOSED);
}

constexpr uint64_t eager_base = uint64_t{1} << 40; // of their match bits

/// `count` eager messages of several lengths to rank 1.
void send_eager(Rank &r, Net &net, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const std::vector<uint8_t> data = pattern(i, i * 7 % 2000);
        mx_request_t q =
            isend(r, net.ep, data.data(), static_cast<uint32_t>(data.size()), net.to[1], eager_base + i);
        finish_ok(r, net.ep, q);
    }
}

CONFORM(messages_by_memory_are_not_acknowledged, 2, real | together)
{
    Net net = open_net(r);
    const uint64_t count = 200;
    exchange_sizes(r, net, 2);
    progress_for(r, net.ep, 100); // acks for the frames of the beginning
    r.barrier();
    const uint64_t acks = counter(r, "explicit acks received"), before = by_memory(r);
    r.barrier();
    if (r.id == 0) {
        send_eager(r, net, count);
    } else {
        std::vector<uint8_t> room(2000);
        for (uint64_t i = 0; i < count; i++) {
            const uint32_t length = recv(r, net.ep, room.data(), 2000, eager_base + i).xfer_length;
            CHECK_EQ(length, i * 7 % 2000);
            REQUIRE_EQ(verify(room.data(), i, length), size_t{length});
        }
    }
    progress_for(r, net.ep, 100);
    r.barrier();
    // Those of the beginning may be late; of the messages there would be one for each fourth.
    CHECK(counter(r, "explicit acks received") < acks + count / 20);
    CHECK_EQ(by_memory(r) - before, count);
    r.barrier();
}

uint64_t copied_by_both(Rank &r) { return counter(r, "large messages copied by both sides"); }
uint64_t copied_in_vain(Rank &r) { return counter(r, "large messages copied in vain"); }

constexpr uint32_t with_data = 70001; // its data come with it

/// Rank 0 sends a large message to rank 1, where its receive waits, if `posted`, or is posted behind it.
void send_large(Rank &r, Net &net, uint32_t length, bool posted = true, uint32_t room = ~0u)
{
    static uint64_t number;
    const uint64_t match = 1000 + ++number;
    const uint32_t taken = std::min(length, room);
    if (r.id == 0) {
        const std::vector<uint8_t> data = pattern(number, length);
        if (posted)
            r.barrier();
        mx_request_t q = isend(r, net.ep, data.data(), length, net.to[1], match);
        if (!posted)
            r.barrier(); // whatever comes with it is there before anybody looks
        const mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, taken == length ? MX_STATUS_SUCCESS : MX_STATUS_TRUNCATED);
        CHECK_EQ(s.xfer_length, taken);
    } else {
        std::vector<uint8_t> into(length, 0xee);
        mx_request_t q = nullptr;
        if (posted)
            q = irecv(r, net.ep, into.data(), taken, match);
        r.barrier();
        if (!posted) {
            await_unexpected(r, net.ep, match);
            q = irecv(r, net.ep, into.data(), taken, match);
        }
        const mx_status_t s = finish(r, net.ep, q);
        CHECK_EQ(s.code, taken == length ? MX_STATUS_SUCCESS : MX_STATUS_TRUNCATED);
        CHECK_EQ(s.xfer_length, taken);
        CHECK_EQ(s.msg_length, length);
        CHECK_EQ(verify(into.data(), number, taken), size_t{taken});
        CHECK(std::all_of(into.begin() + taken, into.end(), [](uint8_t byte) { return byte == 0xee; }));
    }
    r.barrier();
}

/// Makes progress until some of a message, whose bytes are not all 0, is there.
void await_data(Rank &r, mx_endpoint_t ep, const std::vector<uint8_t> &into)
{
    progress_until(r, ep, [&] {
        return std::any_of(into.begin(), into.begin() + 4096, [](uint8_t byte) { return byte != 0; });
    });
}

/// Sends until a message comes with its data. Those of the beginning are frames, or have acks.
void send_until_copied_by_both(Rank &r, Net &net)
{
    const uint64_t before = copied_by_both(r);
    r.barrier();
    for (int i = 0; i < 1000 && copied_by_both(r) == before; i++)
        send_large(r, net, with_data);
    CHECK(copied_by_both(r) > before);
    r.barrier();
}

CONFORM(large_messages_come_with_their_data, 2, real | bare | together)
{
    r.env("EMX_HELPER_MS", "0"); // which takes announcements, and matches none
    Session session(r);
    Net net = open_net(r);
    send_until_copied_by_both(r, net);
    const uint64_t both = copied_by_both(r), vain = copied_in_vain(r), pulled = pulled_by_frames(r);
    r.barrier();
    for (uint32_t length : {32769u, 40000u, 65536u, 100001u, 131072u})
        send_large(r, net, length);
    send_large(r, net, with_data, true, 50000);
    send_large(r, net, with_data, true, 1);
    CHECK(copied_by_both(r) > both); // all, unless the sender loses its processor
    // The receiver decides how much comes with longer ones.
    for (uint32_t length : {131073u, 262144u, 300001u, 1000003u, 4u << 20})
        send_large(r, net, length);
    CHECK_EQ(copied_in_vain(r), vain);
    CHECK_EQ(pulled_by_frames(r), pulled);
    r.barrier();
}

CONFORM(data_that_nobody_waits_for_are_fetched_later, 2, real | bare | together)
{
    r.env("EMX_HELPER_MS", "0"); // which takes announcements, and matches none
    Session session(r);
    Net net = open_net(r);
    send_until_copied_by_both(r, net);
    const uint64_t both = copied_by_both(r), vain = copied_in_vain(r), pulled = pulled_by_frames(r);
    r.barrier();
    send_large(r, net, with_data, false);
    CHECK_EQ(copied_in_vain(r), vain + 1);
    CHECK_EQ(copied_by_both(r), both);
    r.barrier();
    send_large(r, net, with_data); // without its data: nobody knows yet that they are wanted again
    CHECK_EQ(copied_by_both(r), both);
    r.barrier();
    send_until_copied_by_both(r, net);
    for (int i = 0; i < 40; i++) {
        send_large(r, net, with_data, false, 40000);
        send_large(r, net, 1 << 20, false);
    }
    CHECK(copied_in_vain(r) < vain + 10); // of 80
    CHECK_EQ(pulled_by_frames(r), pulled);
    r.barrier();
}

CONFORM(a_sender_that_stops_between_its_data_is_not_waited_for, 2, real | together)
{
    Net net = open_net(r);
    send_until_copied_by_both(r, net);
    const uint32_t length = 8 << 20;
    for (uint64_t i = 0; i < 20; i++) {
        if (r.id == 0) {
            const std::vector<uint8_t> data = pattern(i, length);
            r.barrier();
            mx_request_t q = isend(r, net.ep, data.data(), length, net.to[1], i);
            finish_ok(r, net.ep, q);
        } else {
            std::vector<uint8_t> into(length);
            mx_request_t q = irecv(r, net.ep, into.data(), length, i);
            r.barrier();
            await_data(r, net.ep, into);
            r.freeze(0);
            finish_ok(r, net.ep, q);
            CHECK_PATTERN(into, i, length);
            r.thaw(0);
        }
        r.barrier();
    }
}

CONFORM(what_a_killed_receiver_has_not_taken_is_told_of, 2, real | together)
{
    Net net = open_net(r);
    exchange_sizes(r, net, 2);
    std::vector<uint8_t> large(1 << 20);
    if (r.id == 1) {
        isend(r, net.ep, large.data(), 1 << 20, net.to[0], 1 << 20);
        for (;;)
            progress_for(r, net.ep, 1000); // until killed
    }
    mx_status_t s;
    uint32_t result;
    REQUIRE_OK(mx_probe(net.ep, MX_INFINITE, 1 << 20, ~uint64_t{0}, &s, &result));
    r.freeze(1);
    recv(r, net.ep, large.data(), 1 << 20, 1 << 20); // its NOTIFY is in the ring, in front of the others
    static std::atomic<int> told;
    told = 0;
    mx_set_error_handler([](char *, mx_return_t code) {
        told++;
        return code;
    });
    send_eager(r, net, 100);
    death_is_heard_of(r, net);
    // The synchronous one, too, and those of the beginning that it took and did not yet say so.
    CHECK(told.load() >= 101);
    CHECK(told.load() <= 101 + 2 * static_cast<int>(std::size(sizes)));
}

CONFORM(a_partner_that_was_disconnected_is_met_again, 2, real | together)
{
    Net net = open_net(r);
    exchange_sizes(r, net, 2);
    for (int round = 0; round < 3; round++) {
        if (r.id == 0) {
            send_eager(r, net, 20);
            REQUIRE_OK(mx_disconnect(net.ep, net.to[1]));
        }
        r.barrier();
        progress_for(r, net.ep, 20);
        r.barrier();
        if (r.id == 0)
            net.to[1] = connect_to(r, net.ep, net.nic[1], net.eid[1]);
        progress_for(r, net.ep, 20);
        r.barrier();
        if (r.id == 1)
            net.to[0] = connect_to(r, net.ep, net.nic[0], net.eid[0]);
        r.barrier();
        exchange_sizes(r, net, 2);
    }
}

CONFORM(the_receiver_of_large_messages_is_killed, 2, real | together)
{
    Net net = open_net(r);
    const uint32_t size = 64 << 20;
    std::vector<uint8_t> data(size);
    if (r.id == 1) {
        for (;;) // until killed
            recv(r, net.ep, data.data(), size, 1);
    }
    for (;;) { // until the receiver stands still in the middle of a message
        mx_request_t first = isend(r, net.ep, data.data(), size, net.to[1], 1);
        mx_request_t q = isend(r, net.ep, data.data(), size, net.to[1], 1);
        finish_ok(r, net.ep, first);
        r.freeze(1);
        if (!completes(r, net.ep, q, 0)) {
            death_is_heard_of(r, net);
            CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_ENDPOINT_CLOSED);
            return;
        }
        r.thaw(1);
    }
}

CONFORM(the_sender_of_large_messages_is_killed, 2, real | together)
{
    Net net = open_net(r);
    const uint32_t size = 64 << 20;
    std::vector<uint8_t> data(size);
    if (r.id == 1) {
        mx_request_t q = nullptr;
        for (int i = 0; i < 3; i++)
            q = isend(r, net.ep, data.data(), size, net.to[0], 1);
        r.barrier();
        finish(r, net.ep, q); // killed before
        return;
    }
    std::vector<mx_request_t> receives;
    for (int i = 0; i < 3; i++)
        receives.push_back(irecv(r, net.ep, data.data(), size, 1));
    r.barrier();
    progress_for(r, net.ep, 5);
    death_is_heard_of(r, net);
    mx_status_t s = finish(r, net.ep, receives.back());
    if (s.code == MX_STATUS_SUCCESS) // it was there before the death
        CHECK_EQ(s.xfer_length, size);
    else
        CHECK_EQ(s.code, MX_STATUS_ENDPOINT_CLOSED);
}

/// Runs fn in a forked child and gives its exit status, 1000 + n after signal n.
int forked(const std::function<int()> &fn, bool handlers_too)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        int status = fn();
        if (handlers_too)
            exit(status);
        _exit(status);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

CONFORM(a_child_cannot_use_its_parent_s_endpoint, 2, real | together)
{
    Net net = open_net(r);
    auto other = static_cast<size_t>(1 - r.id);
    exchange_sizes(r, net);
    static std::string said;
    int status = forked(
        [&] {
            mx_set_error_handler([](char *text, mx_return_t code) {
                said = text;
                return code;
            });
            mx_segment_t s{nullptr, 0};
            mx_request_t q = nullptr;
            mx_status_t st;
            uint32_t result = 0;
            if (mx_isend(net.ep, &s, 1, net.to[other], 1, nullptr, &q) != MX_BAD_ENDPOINT)
                return 1;
            if (said.find("fork") == std::string::npos || said.find("mx_init") == std::string::npos)
                return 2; // the remedy
            if (mx_irecv(net.ep, &s, 1, 1, all_bits, nullptr, &q) != MX_BAD_ENDPOINT ||
                mx_wait_any(net.ep, 100, 0, 0, &st, &result) != MX_BAD_ENDPOINT ||
                mx_progress(net.ep) != MX_BAD_ENDPOINT || mx_wakeup(net.ep) != MX_BAD_ENDPOINT ||
                mx_disconnect(net.ep, net.to[other]) != MX_BAD_ENDPOINT)
                return 3;
            if (mx_set_endpoint_addr_context(net.to[other], nullptr) != MX_SUCCESS)
                return 4;
            if (mx_close_endpoint(net.ep) != MX_BAD_ENDPOINT)
                return 5;
            return mx_finalize() == MX_NOT_INITIALIZED ? 0 : 6;
        },
        true); // with exit handlers and destructors
    CHECK_EQ(status, 0);
    exchange_sizes(r, net, 2);
}

CONFORM(a_child_does_not_keep_its_parent_s_endpoint, 2, real | together)
{
    Net net = open_net(r);
    exchange_sizes(r, net);
    pid_t child = 0;
    if (r.id == 1) {
        child = fork();
        if (child == 0)
            for (;;)
                pause(); // holds a copy of every descriptor
        net.ep.close();
    }
    r.barrier();
    if (r.id == 0) {
        mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
        CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_ENDPOINT_CLOSED);
    }
    r.barrier();
    if (r.id == 1)
        net.ep = Endpoint(r, net.eid[1]); // the number is free
    r.barrier();
    auto other = static_cast<size_t>(1 - r.id);
    net.to[other] = connect_to(r, net.ep, net.nic[other], net.eid[other]);
    net.to[static_cast<size_t>(r.id)] = net.ep.self();
    exchange_sizes(r, net, 2);
    if (child) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    exchange_sizes(r, net, 2);
}

CONFORM(a_killed_parent_is_heard_of_although_its_child_lives, 2, real | together)
{
    Net net = open_net(r);
    exchange_sizes(r, net);
    pid_t child = 0;
    if (r.id == 1) {
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            for (;;)
                pause();
        }
    }
    child = static_cast<pid_t>(r.exchange(static_cast<uint64_t>(child))[1]);
    if (r.id == 1)
        for (;;)
            r.sleep_ms(1000); // until killed
    mx_request_t q = issend(r, net.ep, "x", 1, net.to[1], 1);
    r.kill(1);
    CHECK_EQ(finish(r, net.ep, q).code, MX_STATUS_ENDPOINT_CLOSED);
    kill(child, SIGKILL);
}

} // namespace
} // namespace emx::conform

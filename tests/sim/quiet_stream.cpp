// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A one-way stream without loss causes no repeat, of messages or of pulls, in each dialect: with a receiver
// that is always there, and with one that computes between its calls, helped or alone.
#include "bench.hpp"

#include <algorithm>
#include <string>

namespace emx::sim {
namespace {

constexpr uint32_t in_flight = 64;
constexpr uint64_t data_match = 1, end_match = 2, kind_mask = 0xff;
constexpr unsigned count_shift = 8; ///< the end tells how many messages there were

struct Plan {
    const char *what;
    std::vector<uint32_t> lengths;
    uint64_t compute = 0; ///< ns of the receiver between its looks for messages
    uint64_t pause = 0; ///< ns of the sender after each message
    uint64_t time = 150 * ms;
    uint32_t messages = 1500; ///< at most
    bool helper = true;
};

struct Stream {
    Stream(const HostOptions &host, const Plan &p)
        : plan(p), bench(1, std::vector<HostOptions>(2, host)), one(bench.start(0, 0, "1")),
          two(bench.start(1, 0, "1"))
    {
        bench.network.faults.in_order = true; // one cable
        bench.network.links.queue = 4096;
        if (!plan.helper)
            for (Player *player : {&one, &two})
                player->process->environment.insert({"EMX_HELPER_MS", "0"});
        bench.pass(ms);
        to = bench.connect(one, bench.mac(1), 0);
        bench.pass(ms);
    }

    /// Packets that either host has repeated, or got a second time, and what it had no room for.
    std::string repeats()
    {
        std::string found;
        for (Player *player : {&one, &two})
            for (unsigned c = 0; c < EMX_CNT_COUNT; c++)
                if (const uint64_t n = player->process->device()->counters(0).v[c];
                    n &&
                    (c == EMX_CNT_RESEND_MESSAGE || c == EMX_CNT_RESEND_CONNECT || c == EMX_CNT_RESEND_PULL ||
                     (c >= EMX_CNT_DROP_SHORT && !(c >= EMX_CNT_RX_X_MEDIUM && c <= EMX_CNT_TX_X_DATA))))
                    found += std::string(player == &one ? "sender: " : "receiver: ") + fw_counter_label(c) +
                             " " + std::to_string(n) + "; ";
        return found;
    }

    /// Messages of one length, which all arrive.
    void run(uint32_t length)
    {
        sent = received = 0;
        done = 0;
        two.task = [this, length] { receive_all(length); };
        one.task = [this, length] { send_all(length); };
        bench.until([&] { return done == 2; });
        bench.pass(200 * ms); // for an ack that is still due, and a repeat of what it did not acknowledge
        CHECK(sent > 0);
        CHECK(received == sent);
    }

    void finish(mx_request_t request) const
    {
        mx_status_t status;
        uint32_t result = 0;
        REQUIRE(mx_wait(one.ep, &request, MX_INFINITE, &status, &result) == MX_SUCCESS);
        CHECK(status.code == MX_STATUS_SUCCESS);
    }
    mx_request_t post(std::vector<char> &bytes, uint64_t match) const
    {
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_request_t request{};
        mx_isend(one.ep, &segment, 1, to, match, nullptr, &request);
        return request;
    }

    void send_all(uint32_t length)
    {
        std::vector<char> bytes(length), nothing;
        std::vector<mx_request_t> ring(in_flight);
        for (const uint64_t end = bench.world.now() + plan.time;
             bench.world.now() < end && sent < plan.messages; sent++) {
            mx_request_t &slot = ring[sent % in_flight];
            if (sent >= in_flight)
                finish(slot);
            slot = post(bytes, data_match);
            for (const uint64_t next = bench.world.now() + plan.pause; bench.world.now() < next;)
                mx_progress(one.ep);
        }
        for (uint64_t i = sent - std::min<uint64_t>(sent, in_flight); i < sent; i++)
            finish(ring[i % in_flight]);
        finish(post(nothing, end_match | sent << count_shift));
        done++;
    }

    void receive_all(uint32_t length)
    {
        std::vector<char> bytes(length); // of all of them
        std::vector<mx_request_t> receives(in_flight + 1);
        mx_segment_t sink{bytes.data(), length};
        for (mx_request_t &q : receives)
            mx_irecv(two.ep, &sink, 1, &q == &receives.back() ? end_match : data_match, kind_mask, &q, &q);
        for (uint64_t total = ~uint64_t{0}; received < total;) {
            mx_status_t status;
            uint32_t result = 0;
            mx_test_any(two.ep, 0, 0, &status, &result);
            if (!result) {
                if (plan.compute)
                    two.process->sleep(plan.compute);
                continue;
            }
            CHECK(status.code == MX_STATUS_SUCCESS);
            if ((status.match_info & kind_mask) == end_match) {
                total = status.match_info >> count_shift;
                continue;
            }
            received++;
            auto *place = static_cast<mx_request_t *>(status.context);
            mx_irecv(two.ep, &sink, 1, data_match, kind_mask, place, place);
        }
        for (mx_request_t &q : receives) {
            uint32_t cancelled = 0;
            if (&q != &receives.back())
                mx_cancel(two.ep, &q, &cancelled);
        }
        done++;
    }

    const Plan plan;
    Bench bench;
    Player &one, &two;
    mx_endpoint_addr_t to{};
    uint64_t sent = 0, received = 0;
    int done = 0;
};

const std::vector<HostOptions> &kinds()
{
    static const std::vector<HostOptions> all = [] {
        std::vector<HostOptions> list;
        for (const bool polled : {false, true})
            for (const auto &[dialect, size] : {std::pair{'W', 0u}, {'N', 1500u}, {'N', 9000u}}) {
                list.push_back(Bench::options(dialect, size));
                list.back().polled = polled;
            }
        return list;
    }();
    return all;
}

} // namespace

TEST_CASE("a stream without loss repeats nothing, whatever the receiver does")
{
    const std::vector<uint32_t> all = {0, 64, 1024, 4096, 8192, 16384, 32768, 102400};
    for (const Plan &plan :
         {Plan{"present", all, 0, 0, 20 * ms}, Plan{"computes", all, 30 * ms},
          Plan{"computes without help", {32768, 102400}, 5 * ms, 0, 150 * ms, 1500, false},
          Plan{"computes for long, now and then a message", {64, 4096, 102400}, 250 * ms, 90 * ms, 400 * ms}})
        for (const HostOptions &kind : kinds()) {
            for (const uint32_t length : plan.lengths) {
                Stream stream(kind, plan);
                CAPTURE(plan.what, kind.dialect, kind.dialect_mtu, kind.polled, length);
                stream.run(length);
                CHECK(stream.repeats() == "");
            }
        }
}

TEST_CASE("repeats are counted where frames are lost")
{
    for (const HostOptions &kind : kinds()) {
        CAPTURE(kind.dialect, kind.dialect_mtu, kind.polled);
        Stream stream(kind, {"present", {}});
        stream.bench.network.faults.loss = 50;
        stream.run(4096);
        CHECK(stream.repeats() != "");
    }
}

} // namespace emx::sim

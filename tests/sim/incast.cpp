// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Many senders of large messages to one receiver, behind a switch that holds few frames: the receiver
// paces them (docs/protocol.md, the EtherMX extension, Pulls).
#include "process.hpp"

#include <mx_extensions.h>

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace emx::sim {
namespace {

constexpr uint32_t incast_key = 0x5150;
constexpr uint64_t start_at = 1100 * ms;

struct Incast {
    uint32_t senders = 16;
    uint32_t messages = 6; ///< of each
    uint32_t length = 1 << 20;
    uint32_t queue = 64; ///< frames of the switch
    uint16_t window = 256; ///< frames that the receive queue holds
    bool polled = false;
    uint32_t loss = 0; ///< per mille, beside what the switch drops
    uint16_t datagram = 0; ///< bytes of the datagrams that data comes in; 0: in frames
    uint64_t firewall_from = 0, firewall_until = 0; ///< behind the start: no datagram passes
    const char *extension = "1";
};

struct Outcome {
    uint64_t bytes = 0;
    uint64_t time = 0; ///< until all was there
    uint64_t overflows = 0;
    uint64_t datagrams = 0, datagrams_before = 0,
             datagrams_after = 0; ///< all, up to the firewall, and behind
    uint64_t fallbacks = 0; ///< pulls that left them
    uint32_t failed = 0;
    bool equal = true;

    /// Part of the receiver's link that the messages themselves made use of.
    double use(const Links &links) const
    {
        return static_cast<double>(bytes) * static_cast<double>(links.ps_per_byte) /
               (1000.0 * static_cast<double>(time));
    }
};

class Stage {
public:
    Stage(const Incast &plan, uint64_t seed) : plan_(plan), world_(seed), network_(world_)
    {
        network_.links.queue = plan.queue;
        network_.faults.loss = plan.loss;
        HostOptions o;
        o.x_frame = 9014;
        o.x_window = plan.window;
        o.polled = plan.polled;
        o.datagram = plan.datagram;
        for (uint32_t i = 0; i <= plan.senders; i++)
            hosts_.push_back(std::make_unique<Host>(world_, network_, i, o));
        introduce(hosts_, world_.rng);
    }

    Outcome run()
    {
        start(0, "receiver", [this](Process &) { receive(); });
        for (uint32_t i = 1; i <= plan_.senders; i++)
            start(i, "sender", [this, i](Process &p) { send(p, i); });
        if (plan_.firewall_until != 0) {
            world_.at(start_at + plan_.firewall_from, [this] {
                network_.faults.no_datagrams = true;
                outcome_.datagrams_before = network_.datagrams;
            });
            world_.at(start_at + plan_.firewall_until, [this] {
                network_.faults.no_datagrams = false;
                outcome_.datagrams_after = network_.datagrams;
            });
        }
        const bool ended = world_.run(
            [this] {
                for (auto &p : processes_)
                    if (!p->done())
                        return false;
                return true;
            },
            world_.now() + 500 * sec);
        CHECK(ended);
        CHECK(network_.violation() == "");
        outcome_.overflows = network_.overflows;
        outcome_.datagrams = network_.datagrams;
        outcome_.datagrams_after = outcome_.datagrams - outcome_.datagrams_after;
        outcome_.fallbacks = hosts_[0]->boards[0]->counters.v[EMX_CNT_DATAGRAM_FALLBACK];
        return outcome_;
    }

    const Links &links() const { return network_.links; }

private:
    void start(uint32_t host, const char *name, std::function<void(Process &)> body)
    {
        processes_.push_back(std::make_unique<Process>(*hosts_[host], name, std::move(body)));
        processes_.back()->environment = {{"EMX_EXTENSION", plan_.extension}};
    }

    static char fill(uint32_t sender, uint32_t message)
    {
        return static_cast<char>(sender * 16 + message + 1);
    }

    void receive()
    {
        mx_endpoint_t ep{};
        mx_set_error_handler(MX_ERRORS_RETURN);
        REQUIRE(mx_init() == MX_SUCCESS);
        REQUIRE(mx_open_endpoint(0, 0, incast_key, nullptr, 0, &ep) == MX_SUCCESS);
        const uint32_t count = plan_.senders * plan_.messages;
        std::vector<std::vector<char>> in(count, std::vector<char>(plan_.length));
        std::vector<mx_request_t> requests(count);
        for (uint32_t i = 0; i < count; i++) {
            mx_segment_t sink{in[i].data(), plan_.length};
            mx_irecv(ep, &sink, 1, i, ~0ull, nullptr, &requests[i]);
        }
        ready_ = true;
        for (uint32_t i = 0; i < count; i++) {
            mx_status_t status{};
            uint32_t done = 0;
            mx_wait(ep, &requests[i], MX_INFINITE, &status, &done);
            outcome_.failed += !done || status.code != MX_STATUS_SUCCESS;
            outcome_.bytes += status.xfer_length;
        }
        outcome_.time = world_.now() - begin_;
        for (uint32_t i = 0; i < count; i++)
            outcome_.equal =
                outcome_.equal &&
                in[i] == std::vector<char>(plan_.length, fill(i / plan_.messages, i % plan_.messages));
        const uint64_t end = world_.now() + 2 * sec; // for the senders' last acks
        while (world_.now() < end)
            mx_progress(ep);
        mx_close_endpoint(ep);
        mx_finalize();
    }

    void send(Process &p, uint32_t host)
    {
        mx_endpoint_t ep{};
        mx_endpoint_addr_t to{};
        mx_set_error_handler(MX_ERRORS_RETURN);
        while (!ready_)
            p.sleep(20 * us);
        REQUIRE(mx_init() == MX_SUCCESS);
        REQUIRE(mx_open_endpoint(0, 0, incast_key, nullptr, 0, &ep) == MX_SUCCESS);
        REQUIRE(mx_connect(ep, hosts_[0]->boards[0]->fw().mac, 0, incast_key, MX_INFINITE, &to) ==
                MX_SUCCESS);
        while (world_.now() < start_at) // all at once
            p.sleep(20 * us);
        begin_ = world_.now();
        std::vector<std::vector<char>> out;
        std::vector<mx_request_t> requests(plan_.messages);
        for (uint32_t i = 0; i < plan_.messages; i++) {
            const uint32_t match = (host - 1) * plan_.messages + i;
            out.emplace_back(plan_.length, fill(host - 1, i));
            mx_segment_t source{out.back().data(), plan_.length};
            mx_isend(ep, &source, 1, to, match, nullptr, &requests[i]);
        }
        for (mx_request_t &request : requests) {
            mx_status_t status{};
            uint32_t done = 0;
            mx_wait(ep, &request, MX_INFINITE, &status, &done);
            outcome_.failed += !done || status.code != MX_STATUS_SUCCESS;
        }
        mx_close_endpoint(ep);
        mx_finalize();
    }

    const Incast plan_;
    World world_;
    Network network_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<std::unique_ptr<Process>> processes_;
    bool ready_ = false;
    uint64_t begin_ = 0;
    Outcome outcome_;
};

} // namespace

TEST_CASE("16 senders keep one receiver's link busy through a switch that holds 64 frames")
{
    for (const bool polled : {false, true})
        for (const uint16_t window : {64, 256}) {
            CAPTURE(polled, window);
            Incast plan;
            plan.polled = polled;
            plan.window = window;
            Stage stage(plan, 1);
            const Outcome o = stage.run();
            CAPTURE(o.overflows, o.time / us);
            CHECK(o.overflows > 0); // nobody told how much the switch holds
            CHECK(o.failed == 0);
            CHECK(o.equal);
            CHECK(o.use(stage.links()) >= 0.85);
        }
}

TEST_CASE("large messages lose little of their speed when one frame or datagram in a hundred is lost")
{
    struct Carrier {
        bool polled;
        uint16_t datagram;
    };
    for (const auto &[polled, datagram] :
         std::vector<Carrier>{{false, 0}, {true, 0}, {false, 1472}, {true, 1472}, {true, 8972}}) {
        double use[2] = {};
        for (const uint32_t loss : {0u, 10u})
            for (uint64_t seed = 1; seed <= 3; seed++) {
                CAPTURE(polled, datagram, loss, seed);
                Incast plan;
                plan.senders = 1;
                plan.length = 4 << 20;
                plan.polled = polled;
                plan.loss = loss;
                plan.datagram = datagram;
                Stage stage(plan, seed);
                const Outcome o = stage.run();
                CHECK(o.failed == 0);
                CHECK(o.equal);
                CHECK((o.datagrams > 0) == (datagram != 0));
                CHECK(o.fallbacks == 0); // a loss here and there is no reason
                use[loss != 0] += o.use(stage.links()) / 3;
            }
        CAPTURE(polled, datagram, use[0], use[1]);
        CHECK(use[1] >= 0.7 * use[0]);
    }
}

TEST_CASE("a firewall that closes in the middle of a message is noticed, and frames bring the rest")
{
    for (const bool polled : {false, true})
        for (const uint64_t from : {0 * ms, 2 * ms, 5 * ms}) {
            CAPTURE(polled, from / ms);
            Incast plan;
            plan.senders = 1;
            plan.length = 4 << 20;
            plan.polled = polled;
            plan.datagram = 1472;
            plan.firewall_from = from;
            plan.firewall_until = 100 * sec;
            Stage stage(plan, 1);
            const Outcome o = stage.run();
            CHECK(o.failed == 0);
            CHECK(o.equal);
            CHECK((o.datagrams_before > 0) == (from != 0));
            CHECK(o.datagrams == o.datagrams_before);
            CHECK(o.fallbacks >= 1);
            CHECK(o.fallbacks <= plan.messages);
        }
}

TEST_CASE("datagrams are used again after a firewall has opened")
{
    Incast plan;
    plan.senders = 1;
    plan.messages = 24;
    plan.length = 4 << 20;
    plan.datagram = 1472;
    plan.firewall_from = 5 * ms;
    plan.firewall_until = 20 * ms;
    Stage stage(plan, 1);
    const Outcome o = stage.run();
    CHECK(o.failed == 0);
    CHECK(o.equal);
    CHECK(o.datagrams_before > 1000);
    CHECK(o.datagrams_after > 1000);
    CHECK(o.fallbacks >= 1);
    CHECK(o.use(stage.links()) >= 0.5);
}

} // namespace emx::sim

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Our omx_perf and a program that says what Open-MX's omx_perf said in a capture: in either place, all
// messages between the two are those of the capture.
#include "fields.hpp"

#include <tests/sim/process.hpp>
#include <tests/support/pcap.hpp>
#include <tools/omx_perf/open_mx.hpp>

#include <catch2/catch.hpp>

#include <emx/wire.h>

using namespace emx;
using namespace emx::interop;

namespace {

constexpr uint32_t eager_max = 32768;
constexpr uint64_t time_limit = 60'000'000'000; // ns

/// One message as frames show it.
struct Message {
    bool from_sender;
    uint64_t type, length, match;
    bool operator==(const Message &) const = default;
};

struct Dialogue {
    std::vector<Message> messages;
    std::set<uint64_t> keys; ///< of connect requests
    Frame parameters; ///< payload of the first message, which is pulled
};

/// Each message once, in the order of their first frames. The sender is who connects first.
Dialogue dialogue_of(const std::vector<Frame> &frames)
{
    Dialogue d;
    std::set<std::pair<bool, uint64_t>> seen;
    for (const Frame &f : frames) {
        const uint8_t type = f.at(EMX_OUTER_LEN);
        const bool from_sender = std::equal(f.begin() + 6, f.begin() + 12, frames.front().begin() + 6);
        if (type == EMX_CONNECT && !get(f, "is_reply"))
            d.keys.insert(get(f, "key"));
        const auto [at, length] = payload_of(f);
        if (type == EMX_PULL_REPLY && d.parameters.empty())
            d.parameters.assign(f.begin() + static_cast<long>(at),
                                f.begin() + static_cast<long>(at + length));
        if (is_eager(type) && seen.insert({from_sender, get(f, "seq")}).second)
            d.messages.push_back({from_sender, type, get(f, "length"), get(f, "match")});
    }
    return d;
}

const Dialogue &captured()
{
    static const Dialogue dialogue = [] {
        std::vector<Frame> frames;
        for (auto &f : test::read_pcap(EMX_PCAP_FOLDER "/21-omx_perf-0-to-65536-N3.pcap"))
            frames.push_back(std::move(f.bytes));
        return dialogue_of(frames);
    }();
    return dialogue;
}

mx_status_t completion(mx_endpoint_t ep, mx_request_t request)
{
    mx_status_t status{};
    uint32_t done = 0;
    REQUIRE(mx_wait(ep, &request, MX_INFINITE, &status, &done) == MX_SUCCESS);
    REQUIRE(status.code == MX_STATUS_SUCCESS);
    return status;
}

/// The captured program in that role, one message after the other.
void play(bool sender, uint64_t other_mac)
{
    mx_endpoint_t ep;
    mx_endpoint_addr_t other{};
    std::vector<uint8_t> bytes(1 << 17);
    REQUIRE(mx_init() == MX_SUCCESS);
    REQUIRE(mx_open_endpoint(0, 0, perf::open_mx_key, nullptr, 0, &ep) == MX_SUCCESS);
    for (bool first = true; const Message &m : captured().messages) {
        if (first && sender)
            REQUIRE(mx_connect(ep, other_mac, 0, perf::open_mx_key, MX_INFINITE, &other) == MX_SUCCESS);
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_request_t request;
        if (m.from_sender == sender) {
            std::copy(captured().parameters.begin(), captured().parameters.end(), bytes.begin());
            segment.segment_length = static_cast<uint32_t>(m.length);
            const bool synchronous = m.type == EMX_RNDV && m.length <= eager_max;
            (synchronous ? mx_issend : mx_isend)(ep, &segment, 1, other, m.match, nullptr, &request);
            completion(ep, request);
        } else {
            mx_irecv(ep, &segment, 1, 0, 0, nullptr, &request);
            completion(ep, request);
            if (first)
                REQUIRE(mx_connect(ep, other_mac, 0, perf::open_mx_key, MX_INFINITE, &other) == MX_SUCCESS);
        }
        first = false;
    }
    mx_close_endpoint(ep);
    mx_finalize();
}

/// The capture's measurement by our client.
void measure_as_captured(uint64_t other_mac)
{
    perf::Options options;
    options.plan.lengths.to = 65537;
    options.plan.effort = {3, 1, 1000};
    const perf::OpenMxTerms terms = perf::open_mx_terms(options);
    perf::Session session(0, 0, perf::Waiting::block, perf::open_mx_key);
    perf::OpenMxSender sender(session, session.connect(other_mac, 0, 10), terms);
    for (uint64_t length = 0; length < 65537; length = terms.plan.lengths.next(length))
        CHECK(perf::measure(sender, length, terms.plan.effort).iterations == 3);
}

void serve()
{
    perf::Session session(0, 0, perf::Waiting::block, perf::open_mx_key);
    perf::serve_open_mx(session);
}

/// Two programs on a host each, of which the second one begins; all that they said.
Dialogue between(const std::function<void(uint64_t)> &receiver, const std::function<void(uint64_t)> &sender)
{
    sim::World world{1};
    sim::Network network{world};
    std::vector<std::unique_ptr<sim::Host>> hosts;
    for (uint32_t i : {0u, 1u})
        hosts.push_back(std::make_unique<sim::Host>(world, network, i, sim::HostOptions{}));
    sim::introduce(hosts, world.rng);
    std::vector<Frame> frames;
    network.tap = [&](const Frame &f) { frames.push_back(f); };
    const auto program = [&](uint32_t host, const std::function<void(uint64_t)> &body) {
        auto process = std::make_unique<sim::Process>(*hosts[host], "program", [&, host](sim::Process &) {
            body(hosts[1 - host]->boards[0]->fw().mac);
        });
        process->environment = {{"EMX_EXTENSION", "0"}}; // the captured host has none
        return process;
    };
    const auto first = program(0, receiver);
    world.run([] { return false; }, 1'000'000);
    const auto second = program(1, sender);
    CHECK(world.run([&] { return first->done() && second->done(); }, time_limit));
    CHECK(network.violation() == "");
    return dialogue_of(frames);
}

void check_captured(const Dialogue &live)
{
    CHECK(live.messages == captured().messages);
    CHECK(live.parameters == captured().parameters);
    CHECK(live.keys == captured().keys);
}

} // namespace

TEST_CASE("perf_dialogue__our_client_speaks_as_open_mx_does")
{
    check_captured(between([](uint64_t mac) { play(false, mac); }, measure_as_captured));
}

TEST_CASE("perf_dialogue__our_server_speaks_as_open_mx_does")
{
    check_captured(between([](uint64_t) { serve(); }, [](uint64_t mac) { play(true, mac); }));
}

TEST_CASE("perf_dialogue__impossible_parameters_are_refused")
{
    perf::OpenMxParameters parameters;
    REQUIRE(captured().parameters.size() == sizeof parameters);
    std::copy_n(captured().parameters.begin(), sizeof parameters, reinterpret_cast<uint8_t *>(&parameters));
    CHECK(perf::decode(parameters).exchanges() == 4);
    parameters.to.high = emx_put32(2); // beyond what a message can have
    CHECK_THROWS_WITH(perf::decode(parameters), Catch::Contains("at most 4 GiB - 1"));
    parameters.to.high = emx_put32(0);
    parameters.multiply.low = emx_put32(1); // for ever the same length
    CHECK_THROWS_WITH(perf::decode(parameters), Catch::Contains("would not end"));
    perf::Options options;
    options.time_given = true;
    CHECK_THROWS_WITH(perf::open_mx_terms(options), Catch::Contains("knows no"));
}

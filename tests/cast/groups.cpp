// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames to groups as programs see them: who gets one, and what is refused.
#include "job.hpp"

#include <array>

namespace emx::casttest {
namespace {

constexpr uint32_t key = 0x1234;

struct Bench {
    sim::World world{1};
    sim::Network network{world};
    std::vector<std::unique_ptr<sim::Host>> hosts;
    std::vector<std::unique_ptr<sim::Process>> processes;

    explicit Bench(uint32_t count)
    {
        for (uint32_t i = 0; i < count; i++)
            hosts.push_back(std::make_unique<sim::Host>(world, network, i, sim::HostOptions{}));
        sim::introduce(hosts, world.rng);
    }
    void start(uint32_t host, std::function<void(mx_endpoint_t, sim::Process &)> body)
    {
        processes.push_back(std::make_unique<sim::Process>(
            *hosts[host], "process", [body = std::move(body)](sim::Process &p) {
                mx_set_error_handler(MX_ERRORS_RETURN);
                REQUIRE(mx_init() == MX_SUCCESS);
                mx_endpoint_t endpoint = nullptr;
                REQUIRE(mx_open_endpoint(0, MX_ANY_ENDPOINT, 1, nullptr, 0, &endpoint) == MX_SUCCESS);
                body(endpoint, p);
                mx_close_endpoint(endpoint);
                mx_finalize();
            }));
    }
    void run()
    {
        CHECK(world.run(
            [this] {
                return std::all_of(processes.begin(), processes.end(),
                                   [](const auto &p) { return p->done(); });
            },
            world.now() + 100 * sim::sec));
    }
};

/// Takes frames of the group for a millisecond.
std::vector<mx_group_status_t> listen(mx_endpoint_t endpoint, sim::Process &p,
                                      std::vector<char> *data = nullptr)
{
    std::vector<mx_group_status_t> frames;
    std::array<char, 9000> buffer{};
    for (const uint64_t end = p.world().now() + 5 * sim::ms; p.world().now() < end; p.sleep(10 * sim::us)) {
        mx_group_status_t status;
        uint32_t result = 0;
        CHECK(mx_group_receive(endpoint, key, buffer.data(), buffer.size(), &status, &result) == MX_SUCCESS);
        if (!result)
            continue;
        frames.push_back(status);
        if (data)
            data->assign(buffer.begin(), buffer.begin() + status.length);
    }
    return frames;
}

} // namespace

TEST_CASE("a frame to a group reaches its members on other hosts, and nobody else")
{
    Bench bench(3);
    for (const uint32_t host : {1u, 2u, 2u})
        bench.start(host, [&bench](mx_endpoint_t endpoint, sim::Process &p) {
            CHECK(mx_group_join(endpoint, key) == MX_SUCCESS);
            std::vector<char> data;
            const auto frames = listen(endpoint, p, &data);
            REQUIRE(frames.size() == 4);
            CHECK(frames[0].length == 0);
            CHECK(frames[3].length == 4000);
            CHECK(frames[3].number == 4000);
            CHECK(frames[3].nic_id == bench.hosts[0]->boards[0]->fw().mac);
            CHECK(data == sim::text_of(1, 2, 4000));
        });
    bench.start(1, [](mx_endpoint_t endpoint, sim::Process &p) { CHECK(listen(endpoint, p).empty()); });
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &p) { // of the sender's own host
        CHECK(mx_group_join(endpoint, key) == MX_SUCCESS);
        CHECK(listen(endpoint, p).empty());
    });
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &p) {
        p.sleep(sim::ms);
        for (const uint32_t length : {0u, 1u, 500u, 4000u}) {
            const auto text = sim::text_of(1, 2, length);
            CHECK(mx_group_send(endpoint, key, length, text.data(), length) == MX_SUCCESS);
        }
    });
    bench.run();
}

TEST_CASE("who leaves a group hears no more of it")
{
    Bench bench(2);
    bench.start(1, [](mx_endpoint_t endpoint, sim::Process &p) {
        CHECK(mx_group_join(endpoint, key) == MX_SUCCESS);
        p.sleep(2 * sim::ms); // one frame waits
        mx_progress(endpoint);
        CHECK(mx_group_leave(endpoint, key) == MX_SUCCESS);
        CHECK(mx_group_leave(endpoint, key) == MX_SUCCESS);
        CHECK(listen(endpoint, p).empty());
    });
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &p) {
        for (int i = 0; i < 4; i++) {
            p.sleep(sim::ms);
            CHECK(mx_group_send(endpoint, key, 1, "x", 1) == MX_SUCCESS);
        }
    });
    bench.run();
}

TEST_CASE("a frame to a group ends a blocking call of its members, which finds nothing")
{
    Bench bench(2);
    bench.start(1, [](mx_endpoint_t endpoint, sim::Process &p) {
        CHECK(mx_group_join(endpoint, key) == MX_SUCCESS);
        mx_status_t status;
        uint32_t result = 1;
        const uint64_t begin = p.world().now();
        CHECK(mx_wait_any(endpoint, 60000, 0, 0, &status, &result) == MX_SUCCESS);
        CHECK(result == 0);
        CHECK(p.world().now() - begin < sim::sec);
        CHECK(listen(endpoint, p).size() == 1);
    });
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &p) {
        p.sleep(20 * sim::ms);
        CHECK(mx_group_send(endpoint, key, 1, "x", 1) == MX_SUCCESS);
    });
    bench.run();
}

TEST_CASE("a device without groups says why, and what to do")
{
    Bench bench(1);
    sim::HostOptions options;
    options.x_frame = 0;
    bench.hosts.push_back(std::make_unique<sim::Host>(bench.world, bench.network, 7, options));
    bench.start(1, [](mx_endpoint_t endpoint, sim::Process &) {
        static std::string text;
        mx_set_error_handler([](char *message, mx_return_t code) {
            text = message;
            return code;
        });
        uint32_t limit = 1;
        CHECK(mx_group_limit(endpoint, &limit) == MX_SUCCESS);
        CHECK(limit == 0);
        CHECK(mx_group_join(endpoint, key) == MX_BAD_CONNECTION_KEY);
        CHECK(text.find("no groups") != std::string::npos);
        text.clear();
        CHECK(mx_group_send(endpoint, key, 1, "x", 1) == MX_BAD_SEG_MEM);
        CHECK(text.find("no groups") != std::string::npos);
    });
    bench.run();
}

TEST_CASE("bad calls of groups are refused")
{
    Bench bench(1);
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &) {
        uint32_t limit = 0;
        CHECK(mx_group_limit(endpoint, &limit) == MX_SUCCESS);
        CHECK(limit > 1000);
        const std::vector<char> data(limit + 1);
        CHECK(mx_group_join(endpoint, 0) == MX_BAD_CONNECTION_KEY);
        CHECK(mx_group_send(endpoint, 0, 0, data.data(), 1) == MX_BAD_SEG_MEM);
        CHECK(mx_group_send(endpoint, key, 0, data.data(), limit + 1) == MX_BAD_SEG_MEM);
        CHECK(mx_group_send(endpoint, key, 0, data.data(), limit) == MX_SUCCESS);
        for (uint32_t i = 1; i <= MX_GROUPS_MAX; i++)
            CHECK(mx_group_join(endpoint, i) == MX_SUCCESS);
        CHECK(mx_group_join(endpoint, MX_GROUPS_MAX + 1) == MX_NO_RESOURCES);
        CHECK(mx_group_join(endpoint, 1) == MX_SUCCESS); // is in it
        CHECK(mx_group_join(nullptr, 1) != MX_SUCCESS);
    });
    bench.run();
}

TEST_CASE("frames that no program takes are bounded")
{
    Bench bench(2);
    bench.start(1, [](mx_endpoint_t endpoint, sim::Process &p) {
        CHECK(mx_group_join(endpoint, key) == MX_SUCCESS);
        for (const uint64_t end = p.world().now() + 100 * sim::ms; p.world().now() < end;
             p.sleep(5 * sim::us))
            mx_progress(endpoint);
        uint32_t taken = 0;
        for (uint32_t result = 1; result; taken += result) {
            mx_group_status_t status;
            CHECK(mx_group_receive(endpoint, key, nullptr, 0, &status, &result) == MX_SUCCESS);
        }
        CHECK(taken == 1024);
    });
    bench.start(0, [](mx_endpoint_t endpoint, sim::Process &p) {
        p.sleep(sim::ms);
        for (int i = 0; i < 2000; i++) {
            CHECK(mx_group_send(endpoint, key, 1, "x", 1) == MX_SUCCESS);
            p.sleep(20 * sim::us);
        }
    });
    bench.run();
}

} // namespace emx::casttest

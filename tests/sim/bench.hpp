// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two hosts whose programs do what a test tells them, one thing after the other.
#pragma once

#include "process.hpp"

#include <libmx/endpoint/endpoint.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace emx::sim {

inline constexpr uint32_t key = 0x5150;
inline constexpr uint64_t foreign_mac =
    0x02000000ff01; ///< on host 0's table, of nobody unless a test attaches it

/// A program with one endpoint. The tests post what it does and look at it from outside.
struct Player {
    Player(Host &host, uint32_t number, const char *extension)
        : process(std::make_unique<Process>(host, "player", [this, number](Process &p) { run(p, number); }))
    {
        process->environment = {{"EMX_EXTENSION", extension}};
    }

    void run(Process &p, uint32_t number)
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        good = mx_init() == MX_SUCCESS &&
               mx_open_endpoint(0, number, key, params.data(), static_cast<uint32_t>(params.size()), &ep) ==
                   MX_SUCCESS;
        while (good && !leave) {
            if (task)
                std::exchange(task, nullptr)();
            mx_progress(ep);
            p.sleep(20 * us);
        }
        if (good)
            mx_close_endpoint(ep);
        mx_finalize();
    }

    /// The partner at the other end of that address, as the library sees it.
    Partner *partner(mx_endpoint_addr_t address)
    {
        return process->context()->slot_of(ep)->endpoint->resolve(address);
    }
    uint32_t session() const { return process->context()->slot_of(ep)->endpoint->identity().session; }
    uint64_t frames_served() const { return process->context()->slot_of(ep)->endpoint->frames_served(); }

    std::unique_ptr<Process> process;
    std::vector<mx_param_t> params; ///< until it has begun
    mx_endpoint_t ep{};
    std::function<void()> task;
    bool good = false;
    bool leave = false;
};

/// Two hosts, or as many as a test wants, and a switch.
struct Bench {
    explicit Bench(uint64_t seed = 1, char dialect = 'W')
        : Bench(seed, {2, options(dialect, dialect == 'N' ? 9000 : 0)})
    {
    }
    Bench(uint64_t seed, const std::vector<HostOptions> &kinds) : world(seed), network(world)
    {
        for (const HostOptions &o : kinds)
            hosts.push_back(std::make_unique<Host>(world, network, static_cast<uint32_t>(hosts.size()), o));
        introduce(hosts, world.rng);
        for (auto &h : hosts)
            h->boards[0]->add_peer(foreign_mac, "foreign:0");
    }

    static HostOptions options(char dialect, uint32_t size)
    {
        HostOptions o;
        o.dialect = dialect;
        o.dialect_mtu = size;
        return o;
    }

    Player &start(uint32_t host, uint32_t number, const char *extension)
    {
        players.push_back(std::make_unique<Player>(*hosts[host], number, extension));
        return *players.back();
    }
    void pass(uint64_t time)
    {
        world.run([] { return false; }, world.now() + time);
        CHECK(network.violation() == "");
    }
    void until(const std::function<bool()> &done) { REQUIRE(world.run(done, world.now() + 100 * sec)); }

    /// Lets a player do something, to the end.
    void tell(Player &player, const std::function<void()> &what)
    {
        bool done = false;
        player.task = [&] {
            what();
            done = true;
        };
        until([&] { return done; });
    }

    mx_endpoint_addr_t connect(Player &from, uint64_t mac, uint32_t number)
    {
        mx_endpoint_addr_t address{};
        mx_return_t code = MX_SUCCESS;
        tell(from, [&] { code = mx_connect(from.ep, mac, number, key, MX_INFINITE, &address); });
        REQUIRE(code == MX_SUCCESS);
        return address;
    }
    uint64_t mac(uint32_t host) const { return hosts[host]->boards[0]->fw().mac; }

    /// Counter of the sessions with which that program has had an agreement.
    static uint64_t agreed(Player &player)
    {
        return player.process->device()->counters(0).v[EMX_CNT_EXTENSION_AGREED];
    }

    /// Connects to a scripted host, which answers with that session and offer.
    template <typename Host>
    mx_endpoint_addr_t connect_answered(Player &from, Host &foreign, uint32_t session, uint64_t offer)
    {
        mx_endpoint_addr_t address{};
        bool done = false;
        from.task = [&] {
            CHECK(mx_connect(from.ep, foreign_mac, 7, key, MX_INFINITE, &address) == MX_SUCCESS);
            done = true;
        };
        pass(ms);
        foreign.answer(session, offer);
        until([&] { return done; });
        return address;
    }

    /// A message of each way of travelling, which must arrive.
    void exchange(Player &from, mx_endpoint_addr_t to, Player &at,
                  const std::vector<uint32_t> &lengths = {8, 100, 20000, 200000})
    {
        for (uint32_t length : lengths) {
            CAPTURE(length);
            std::vector<char> out(length, 'x'), in(length);
            mx_request_t send{}, receive{};
            mx_segment_t source{out.data(), length}, sink{in.data(), length};
            mx_status_t status{};
            uint32_t done = 0;
            tell(at, [&] { mx_irecv(at.ep, &sink, 1, length, ~0ull, nullptr, &receive); });
            tell(from, [&] { mx_isend(from.ep, &source, 1, to, length, nullptr, &send); });
            for (int looks = 0; looks < 1000000 && !done; looks++)
                tell(at, [&] { mx_test(at.ep, &receive, &status, &done); });
            REQUIRE(done);
            CHECK(status.code == MX_STATUS_SUCCESS);
            CHECK(in == out);
            tell(from, [&] { mx_wait(from.ep, &send, MX_INFINITE, &status, &done); });
            CHECK(status.code == MX_STATUS_SUCCESS);
        }
    }

    /// Time until all of `count` messages one way are there.
    uint64_t stream(Player &from, mx_endpoint_addr_t to, Player &at, uint32_t count, uint32_t length)
    {
        std::vector<char> out(length, 'y'), in(static_cast<std::size_t>(length) * count);
        std::vector<mx_request_t> receives(count), sends(count);
        tell(at, [&] {
            for (uint32_t i = 0; i < count; i++) {
                mx_segment_t sink{&in[static_cast<std::size_t>(i) * length], length};
                mx_irecv(at.ep, &sink, 1, i, ~0ull, nullptr, &receives[i]);
            }
        });
        const uint64_t start = world.now();
        tell(from, [&] {
            mx_segment_t source{out.data(), length};
            for (uint32_t i = 0; i < count; i++)
                mx_isend(from.ep, &source, 1, to, i, nullptr, &sends[i]);
        });
        tell(at, [&] {
            mx_status_t status;
            uint32_t done;
            for (mx_request_t &receive : receives)
                mx_wait(at.ep, &receive, MX_INFINITE, &status, &done);
        });
        CHECK(in == std::vector<char>(in.size(), 'y'));
        return world.now() - start;
    }

    World world;
    Network network;
    std::vector<std::unique_ptr<Host>> hosts;
    std::vector<std::unique_ptr<Player>> players;
};

} // namespace emx::sim

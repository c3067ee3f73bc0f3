// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two programs on two simulated hosts, and drawn messages from one to the other.
#pragma once

#include "bench.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emx::sim {

using Environment = std::map<std::string, std::string>;

/// Two programs, which may know each other.
struct Talk {
    Talk(uint64_t seed, const HostOptions &first, const HostOptions &second, const Environment &of_one = {},
         const Environment &of_two = {})
        : bench(seed, {first, second}), rng(seed), one(bench.start(0, 1, "1")), two(bench.start(1, 2, "1"))
    {
        set(one, of_one);
        set(two, of_two);
        bench.pass(ms);
    }

    static void set(Player &player, const Environment &environment)
    {
        for (auto &[name, value] : environment)
            player.process->environment[name] = value;
    }
    void connect()
    {
        to_two = bench.connect(one, bench.mac(1), 2);
        to_one = bench.connect(two, bench.mac(0), 1);
        bench.pass(ms);
    }

    /// Messages of those lengths one way, one after the other; how many differ from what was sent.
    uint32_t exchange(Player &from, mx_endpoint_addr_t to, Player &at, const std::vector<uint32_t> &lengths)
    {
        uint32_t wrong = 0;
        bool sent = false, received = false;
        std::vector<std::vector<uint8_t>> out;
        for (uint32_t length : lengths) {
            out.emplace_back(length);
            for (uint8_t &b : out.back())
                b = static_cast<uint8_t>(rng.next());
        }
        at.task = [&] {
            for (std::size_t i = 0; i < lengths.size(); i++) {
                std::vector<uint8_t> in(lengths[i] + 1, 0xee);
                mx_request_t request{};
                mx_status_t status{};
                uint32_t done = 0;
                mx_segment_t segment{in.data(), lengths[i]};
                mx_irecv(at.ep, &segment, 1, 0, 0, nullptr, &request); // whatever comes next
                mx_wait(at.ep, &request, MX_INFINITE, &status, &done);
                source = status.source;
                in.resize(lengths[i]);
                wrong += in != out[i] || status.match_info != match_of(i) ||
                         status.msg_length != lengths[i] || status.code != MX_STATUS_SUCCESS;
            }
            received = true;
        };
        from.task = [&] {
            for (std::size_t i = 0; i < lengths.size(); i++) {
                mx_request_t request{};
                mx_status_t status{};
                uint32_t done = 0;
                mx_segment_t segment{out[i].data(), lengths[i]};
                mx_isend(from.ep, &segment, 1, to, match_of(i), nullptr, &request);
                mx_wait(from.ep, &request, MX_INFINITE, &status, &done);
            }
            sent = true;
        };
        bench.until([&] { return sent && received; });
        return wrong;
    }
    static uint64_t match_of(std::size_t i) { return 0x0123456789abcdefull * (i + 1); }

    static uint64_t count(Player &player, emx_counter counter)
    {
        return player.process->device()->counters(0).v[counter];
    }

    Bench bench;
    test::Rng rng;
    Player &one, &two;
    mx_endpoint_addr_t to_two{}, to_one{};
    mx_endpoint_addr_t source{}; ///< of the newest message
};

} // namespace emx::sim

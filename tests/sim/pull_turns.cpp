// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pulls beyond those that run at once wait for their turn, which they get however the others end.
#include "bench.hpp"

#include <array>

namespace emx::sim {
namespace {

constexpr uint32_t length = 100000;
constexpr std::size_t at_once = 4;

} // namespace

TEST_CASE("a pull that waits has its turn when the time of those before it is over")
{
    Bench b;
    Player &one = b.start(0, 1, "1"), &two = b.start(1, 2, "1");
    b.pass(ms);
    const auto to_one = b.connect(two, b.mac(0), 1);
    std::array<std::vector<char>, at_once + 1> memory;
    std::array<mx_request_t, at_once + 1> receives{}, sends{};
    memory.fill(std::vector<char>(length, 'x'));
    b.tell(one, [&] {
        for (std::size_t i = 0; i <= at_once; i++) {
            mx_segment_t segment{memory[i].data(), length};
            mx_irecv(one.ep, &segment, 1, i, ~0ull, nullptr, &receives[i]);
            if (i < at_once)
                mx_set_request_timeout(one.ep, receives[i], 1000);
        }
    });
    // Announcements arrive, data does not.
    b.network.tap = [&](const Frame &frame) { b.network.faults.loss = frame.size() > 1000 ? 1000 : 0; };
    b.tell(two, [&] {
        for (std::size_t i = 0; i <= at_once; i++) {
            mx_segment_t segment{memory[i].data(), length};
            mx_isend(two.ep, &segment, 1, to_one, i, nullptr, &sends[i]);
        }
    });
    b.pass(1500 * ms);
    b.network.tap = nullptr;
    b.network.faults.loss = 0;
    for (std::size_t i = 0; i <= at_once; i++) {
        CAPTURE(i);
        mx_status_t status{};
        uint32_t done = 0;
        b.tell(one, [&] { mx_wait(one.ep, &receives[i], 10000, &status, &done); });
        CHECK(done == 1);
        CHECK(status.code == (i < at_once ? MX_STATUS_TIMEOUT : MX_STATUS_SUCCESS));
    }
}

} // namespace emx::sim

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Closes several packet sockets at once.
#include "driver/base/close_together.hpp"

#include "driver/base/thread.hpp"

#include <array>

namespace emx {
namespace {

constexpr std::size_t together_max = 8; // sockets of a port are fewer

} // namespace

void close_together(std::span<Fd> sockets)
{
    std::array<std::thread, together_max> others; // fewer where no more can be had
    for (std::size_t i = 0; i < sockets.size(); ++i)
        if (i < others.size() && i + 1 < sockets.size())
            others[i] = start_thread([&socket = sockets[i]] { socket.reset(); });
    // This thread closes the last one, and those for which there is no other.
    for (std::size_t i = 0; i < sockets.size(); ++i)
        if (i >= others.size() || !others[i].joinable())
            sockets[i].reset();
    for (std::thread &other : others)
        join_thread(other);
}

} // namespace emx

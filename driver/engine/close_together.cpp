// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Closes several packet sockets at once.
#include "driver/engine/close_together.hpp"

#include "driver/engine/signals_blocked.hpp"

#include <array>
#include <exception>
#include <thread>

namespace emx {

void close_together(std::span<Fd> sockets)
{
    std::array<std::jthread, 3> others; // joined at the end
    for (std::size_t i = 1; i < sockets.size() && i <= others.size(); i++) {
        try {
            const SignalsBlocked blocked;
            others[i - 1] = std::jthread([&socket = sockets[i]] { socket.reset(); });
        } catch (const std::exception &) {
            break; // no thread or memory to be had: one after the other
        }
    }
    if (!sockets.empty())
        sockets[0].reset();
    for (std::size_t i = 1; i < sockets.size(); i++)
        if (i > others.size() || !others[i - 1].joinable())
            sockets[i].reset();
}

} // namespace emx

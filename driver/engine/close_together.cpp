// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Closes several packet sockets at once.
#include "driver/engine/close_together.hpp"

#include "driver/engine/signals_blocked.hpp"

#include <exception>
#include <thread>
#include <vector>

namespace emx {

void close_together(std::span<Fd> sockets)
{
    std::vector<std::jthread> others; // joined at the end
    try {
        const SignalsBlocked blocked;
        while (others.size() + 1 < sockets.size())
            others.emplace_back([&socket = sockets[others.size()]] { socket.reset(); });
    } catch (const std::exception &) { // no thread or memory to be had: the rest one after the other
    }
    for (Fd &socket : sockets.subspan(others.size()))
        socket.reset();
}

} // namespace emx

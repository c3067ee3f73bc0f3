// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Closes several packet sockets at once.
#include "driver/base/close_together.hpp"

#include "driver/base/thread.hpp"

#include <array>

namespace emx {
namespace {

// As many threads as this one waits for: the C library ends a program that may not unmap their stacks, once
// these are more than 40 MiB.
constexpr std::size_t together_max = 2;

} // namespace

void close_together(std::span<Fd> sockets)
{
    std::array<std::thread, together_max> others; // fewer where no more can be had
    std::size_t used = 0;
    for (std::size_t i = 0; i + 1 < sockets.size() && used < others.size(); ++i)
        if (sockets[i])
            others[used++] = start_thread([socket = std::move(sockets[i])]() mutable { socket.reset(); });
    // This thread closes what is left.
    for (Fd &socket : sockets)
        socket.reset();
    for (std::thread &other : others)
        join_thread(other);
}

} // namespace emx

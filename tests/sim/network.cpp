// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulated switch and its faults. See network.hpp.
#include "network.hpp"

#include "host.hpp"

#include <algorithm>

namespace emx::sim {

bool Network::send(Board &from, Frame frame)
{
    if (rng_.chance(faults.refuse))
        return false;
    frames++;
    checker.check(from.fw().sizes, frame);
    uint64_t to = board_mac(frame.data());
    for (Board *b : boards_) {
        if (b->fw().mac == to || (to == broadcast_mac && b != &from))
            carry(from, *b, frame);
    }
    return true;
}

void Network::cut(uint32_t a, uint32_t b, uint64_t until)
{
    cuts_[std::minmax(a, b)] = until;
}

bool Network::is_cut(uint32_t a, uint32_t b)
{
    auto it = cuts_.find(std::minmax(a, b));
    return a != b && it != cuts_.end() && it->second > world_.now();
}

void Network::carry(Board &from, Board &to, const Frame &frame)
{
    bool looped = &from == &to; // never leaves the host: nothing can happen to it
    if (!looped && (is_cut(from.host().number(), to.host().number()) || rng_.chance(faults.loss)))
        return;
    uint64_t delay = looped ? us : faults.latency + rng_.below(faults.jitter + 1) + frame.size();
    if (!looped && rng_.chance(faults.reorder))
        delay += rng_.below(faults.reorder_delay + 1);
    Frame copy = frame;
    if (!looped && rng_.chance(faults.alter))
        alter(copy);
    if (!looped && rng_.chance(faults.duplicate))
        deliver(to, copy, delay + rng_.below(faults.reorder_delay + 1));
    deliver(to, std::move(copy), delay);
}

void Network::deliver(Board &to, Frame frame, uint64_t delay)
{
    world_.after(delay, [&to, f = std::move(frame)]() mutable { to.arrive(std::move(f)); });
}

void Network::alter(Frame &frame)
{
    altered++;
    uint32_t changes = rng_.coin() ? 1 : static_cast<uint32_t>(rng_.range(1, 6));
    for (uint32_t i = 0; i < changes; i++) {
        // Mostly in the headers, where it matters.
        size_t at = rng_.below(rng_.chance(800) ? std::min<size_t>(frame.size(), 64) : frame.size());
        if (rng_.coin())
            frame[at] = static_cast<uint8_t>(rng_.next());
        else
            frame[at] ^= static_cast<uint8_t>(1u << rng_.below(8));
    }
    if (rng_.chance(100)) // a frame cut short, or with trailing bytes
        frame.resize(rng_.coin() ? rng_.range(1, frame.size()) : frame.size() + rng_.below(64));
}

} // namespace emx::sim

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulated switch and its faults. See network.hpp.
#include "network.hpp"

#include "host.hpp"

#include <algorithm>
#include <cstdio>

namespace emx::sim {

bool Network::send(Board &from, const Frame &frame)
{
    if (rng_.chance(faults.refuse))
        return false;
    frames++;
    if (frame[16] == EMX_X_GROUP) { // of the extension, and to nobody whose dialect or session could tell
        if (tap)
            tap(frame);
        switch_frame(from, frame);
        return true;
    }
    const auto [letter, size] = from.dialect_to(board_mac(frame.data()));
    fw_sizes sizes = from.fw().sizes;
    letter == 'W' ? fw_sizes_w(&sizes) : static_cast<void>(fw_sizes_n(&sizes, size));
    checker.check(sizes, frame);
    try {
        watcher.sent(letter == 'W' ? model::dialect_w() : model::dialect_n(size), frame);
    } catch (const model::Violation &v) {
        if (forbidden_.empty())
            forbidden_ = v.what();
    }
    if (tap)
        tap(frame);
    switch_frame(from, frame);
    return true;
}

void Network::send_foreign(Station &from, const Frame &frame)
{
    frames++;
    switch_frame(from, frame);
}

void Network::send_datagram(Station &from, const Frame &frame)
{
    if (faults.no_datagrams)
        return;
    datagrams++;
    switch_frame(from, frame);
}

void Network::switch_frame(Station &from, const Frame &frame)
{
    const uint64_t to = board_mac(frame.data());
    const bool to_many = to >> 40 & 1; // the switch floods what is for a group
    for (Station *s : stations_) {
        if (s->station_mac() == to || (to_many && s != &from))
            carry(from, *s, frame);
    }
}

const std::string &Network::violation() const
{
    return checker.violation().empty() ? forbidden_ : checker.violation();
}

void Network::cut(uint32_t a, uint32_t b, uint64_t until) { cuts_[std::minmax(a, b)] = until; }

bool Network::is_cut(uint32_t a, uint32_t b)
{
    auto it = cuts_.find(std::minmax(a, b));
    return a != b && it != cuts_.end() && it->second > world_.now();
}

void Network::carry(Station &from, Station &to, const Frame &frame)
{
    bool looped = &from == &to; // never leaves the host: nothing can happen to it
    bool lost = !looped && (is_cut(from.host_number(), to.host_number()) || rng_.chance(faults.loss));
    if (trace)
        print(from, to, frame, lost ? "lost" : "");
    if (lost)
        return;
    uint64_t delay = looped ? us : faults.latency + rng_.below(faults.jitter + 1) + frame.size();
    if (!looped && rng_.chance(faults.reorder))
        delay += rng_.below(faults.reorder_delay + 1);
    if (faults.in_order) {
        uint64_t &latest = latest_[{from.station_mac(), to.station_mac()}];
        latest = std::max(latest + 1, world_.now() + delay);
        delay = latest - world_.now();
    }
    Frame copy = frame;
    if (!looped && rng_.chance(faults.alter))
        alter(copy);
    if (!looped && rng_.chance(faults.flip))
        flip(copy);
    if (!looped && rng_.chance(faults.duplicate))
        deliver(to, copy, delay + rng_.below(faults.reorder_delay + 1));
    if (looped || links.queue == 0)
        return deliver(to, std::move(copy), delay);
    const uint64_t at = leave(from, copy);
    world_.at(at, [this, &to, f = std::move(copy), delay]() mutable { queue_up(to, std::move(f), delay); });
}

uint64_t Network::time_on_link(const Frame &frame) const
{
    return (frame.size() + 24) * links.ps_per_byte / 1000; // with preamble, check sequence and gap
}

/// When the frame is at the switch, as those before it have to leave first.
uint64_t Network::leave(Station &from, const Frame &frame)
{
    uint64_t &busy = sending_[&from];
    busy = std::max(busy, world_.now()) + time_on_link(frame);
    return busy;
}

/// A frame at the switch waits for the link to its station.
void Network::queue_up(Station &to, Frame frame, uint64_t delay)
{
    std::deque<uint64_t> &queue = queues_[&to];
    while (!queue.empty() && queue.front() <= world_.now())
        queue.pop_front();
    if (queue.size() >= links.queue) {
        overflows++;
        return;
    }
    const uint64_t through = (queue.empty() ? world_.now() : queue.back()) + time_on_link(frame);
    queue.push_back(through);
    world_.at(through + delay, [&to, f = std::move(frame)]() mutable { to.arrive(std::move(f)); });
}

void Network::print(const Station &from, const Station &to, const Frame &f, const char *fate)
{
    auto u16 = [&](size_t at) { return static_cast<unsigned>(f[at] << 8 | f[at + 1]); };
    auto u32 = [&](size_t at) { return u16(at) << 16 | u16(at + 2); };
    uint8_t type = f[16];
    std::printf("%12.3f us  %s/%u > %s/%u  %-10s", static_cast<double>(world_.now()) / us,
                from.name().c_str(), f[18], to.name().c_str(), f[17], fw_type_name(type));
    if (type == EMX_TINY || type == EMX_SMALL || type == EMX_MEDIUM || type == EMX_RNDV)
        std::printf(" seq %04x ack %04x match %08x.%08x", u16(24), u16(26), u32(28), u32(32));
    if (type == EMX_MEDIUM)
        std::printf(" frag %u of %u bytes", f[42], u16(40));
    if (type == EMX_RNDV)
        std::printf(" length %u window %u/%u", u32(40), f[44], f[45]);
    if (type == EMX_NOTIFY)
        std::printf(" seq %04x ack %04x length %u window %u/%u", u16(34), u16(36), u32(24), f[28], f[29]);
    if (type == EMX_TRUC)
        std::printf(" ack %04x counter %u", u16(30), u32(36));
    if (type == EMX_CONNECT)
        std::printf(" %s number %u start %04x sessions %08x %08x status %u", f[42] ? "reply" : "request",
                    f[43], u16(40), u32(32), u32(36), f[44]);
    if (type == EMX_NACK_LIB)
        std::printf(" reason %u seq %04x (from %u to %u)", f[19], u16(28), f[17], f[25]);
    std::printf("  [%zu] %s\n", f.size(), fate);
}

void Network::deliver(Station &to, Frame frame, uint64_t delay)
{
    world_.after(delay, [&to, f = std::move(frame)]() mutable { to.arrive(std::move(f)); });
}

void Network::flip(Frame &frame)
{
    std::size_t from = frame.size();
    switch (frame[16]) {
    case EMX_TINY:
    case EMX_SMALL: from = EMX_OUTER_LEN + sizeof(emx_w_eager); break;
    case EMX_MEDIUM: from = EMX_OUTER_LEN + sizeof(emx_w_medium); break;
    case EMX_PULL_REPLY: from = FW_REPLY_HEADER; break;
    case EMX_X_MEDIUM: from = faults.flip_headers ? 20 : FW_X_MEDIUM_HEADER; break;
    case EMX_X_DATA: from = faults.flip_headers ? 20 : FW_X_DATA_HEADER; break;
    case EMX_X_GROUP: from = faults.flip_headers ? 28 : FW_X_GROUP_HEADER; break; // behind the key
    default: break;
    }
    if (from >= frame.size() || (faults.flip_only != 0 && frame[16] != faults.flip_only))
        return;
    flipped++;
    frame[rng_.range(from, frame.size() - 1)] ^= static_cast<uint8_t>(1u << rng_.below(8));
}

void Network::alter(Frame &frame)
{
    altered++;
    watcher.distrust();
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

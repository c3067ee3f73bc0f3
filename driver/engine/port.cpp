// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the engine: set-up, commands, waiting, link state.
#include "driver/engine/port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/close_together.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint16_t window_wanted = 64; // frames: measured best over veth, notebook of the raw paths
bool takes_datagrams(BulkWay way) { return way == BulkWay::datagrams || way == BulkWay::best; }

constexpr uint16_t block_wanted = 16; // frames per PULL of dialect N: one sendmmsg batch of the peer

} // namespace

EnginePort::EnginePort(EnginePortParts &parts)
    : TcpPort(parts, parts.bulk_way,
              std::make_unique<InterfaceNetwork>(
                  parts.file->board(parts.board).interface, parts.endpoint,
                  takes_tcp(parts.bulk_way) ? parts.file->board(parts.board).x_frame : 0)),
      bulk_(record_.sizes, record_.x_frame, std::move(parts.bulk)), replies_(record_.sizes, counters_),
      datagrams_(record_.interface, parts.endpoint, takes_datagrams(parts.bulk_way) ? record_.x_frame : 0,
                 parts.bulk_bytes, counters_, [this](int socket) { return grow_socket(socket); })
{
}

EnginePort::~EnginePort()
{
    claim_.reset(); // the agent refuses messages from now on
    std::array<Fd, 4> sockets = {ring_.unmap(), lo_.unmap(), bulk_.take_socket(), group_ring_.unmap()};
    close_together(sockets);
}

// Frames in flight never exceed what the receive buffer, or half of the loopback ring, holds.
uint16_t EnginePort::pull_window(uint32_t bulk_bytes) const
{
    fw_sizes widest = board_.sizes;
    fw_peers_widen(peers_, &widest);
    const uint32_t held = std::min(replies_held(widest, bulk_bytes), lo_.slots() / 2);
    return static_cast<uint16_t>(std::clamp<uint32_t>(held, 1, window_wanted));
}

/// Data of X PULLs comes by the bulk socket alone: boards of this host pull from each other by PULL.
void EnginePort::allow_x_pulls(uint32_t bulk_bytes)
{
    const uint32_t frame = record_.x_frame;
    endpoint_.x_frame = static_cast<uint16_t>(frame);
    endpoint_.x_window =
        static_cast<uint16_t>(std::clamp<uint32_t>(frames_held(frame, bulk_bytes), 1, window_wanted));
}

bool EnginePort::attach(EnginePortParts &parts, DeviceError &error)
{
    if (!ring_.map(std::move(parts.ring), parts.ring_shape) ||
        !lo_.map(std::move(parts.lo), parts.lo_shape) || !wake_.open()) {
        error = system_error("mapping the receive ring");
        return false;
    }
    set_windows(pull_window(parts.bulk_bytes), block_wanted);
    allow_x_pulls(parts.bulk_bytes);
    endpoint_.x_datagram = datagrams_.bytes();
    allow_tcp();
    endpoint_.x_frag = static_cast<uint16_t>(ring_fragment(parts.ring_shape, record_.x_frame));
    endpoint_.x_pack = endpoint_.x_frag; // slots hold either
    read_first_link();
    choose_steering();
    return true;
}

std::unique_ptr<EnginePort> EnginePort::make(EnginePortParts parts, DeviceError &error)
{
    std::unique_ptr<EnginePort> port(new EnginePort(parts));
    if (!port->attach(parts, error))
        return nullptr;
    return port;
}

void EnginePort::open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                             std::span<const Segment> memory, uint64_t length)
{
    replies_.open_window(fw_window_slot(id, tag), memory);
    fw_window_open(&endpoint_, id, tag, peer, remote_ep, length);
}

void EnginePort::close_window(uint8_t id, uint8_t tag)
{
    fw_window_close(&endpoint_, id, tag);
    close_in_connections(fw_window_slot(id, tag));
    replies_.close_window(fw_window_slot(id, tag));
    publish();
}

/// Pull replies from now on. Every receiver that looks at a frame costs time, and all but the one that looks
/// last get a clone of it: so this socket and the ring's look as one, after the agent's.
void EnginePort::bind_bulk()
{
    steering_.expect_replies();
    choose_steering();
    if (!bind_packet_socket(bulk_.fd(), static_cast<int>(record_.ifindex), EMX_ETHERTYPE))
        return steering_.expect_none(); // the next pull tries again
    const auto group = found_group(ring_.fd());
    if (!group)
        return; // two receivers do as well, somewhat slower
    AgentRequest request = request_for(AgentOp::steer);
    request.group = *group;
    AgentReply reply;
    DeviceError error;
    if (claim_->request(request, reply, error, hurry_ms) && emx::join_group(bulk_.fd(), *group))
        steering_.group();
}

bool EnginePort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                            uint64_t cookie)
{
    assert(total > 0 && cookie != 0);
    if (!steering_.replies_come() && !peer_is_local(rndv.peer))
        bind_bulk();
    now_ = monotonic_ns();
    emx_msg announced = rndv;
    if (peer_is_local(rndv.peer))
        announced.data = 0;
    const Carrier by = choose_carrier(announced, total);
    const int slot = fw_pull_start_by(&endpoint_, &announced, total, cookie, by.carrier, by.packet, now_);
    if (slot < 0)
        return false;
    keep_pull(slot, total, memory, cookie);
    last_pull_ = slot;
    drain({});
    publish();
    return true;
}

void EnginePort::cancel_pull(uint64_t cookie)
{
    fw_pull_cancel(&endpoint_, cookie);
    publish();
}

std::optional<uint32_t> EnginePort::find_peer(uint64_t nic_id, int patience_ms, DeviceError &error)
{
    error = {};
    int index = fw_peer_find(peers_, nic_id, 0);
    if (index < 0) {
        add_peer(AgentOp::add_peer, nic_id, patience_ms, error);
        index = fw_peer_find(peers_, nic_id, 0);
    }
    if (index < 0) {
        if (AgentConnection::was_slow(error))
            error.code = mx_timeout;
        else
            error = {mx_nic_not_found, {}};
        return std::nullopt;
    }
    return introduced(index);
}

// Once per unknown board: the agent is the table's only writer.
void EnginePort::add_peer(AgentOp op, uint64_t mac, int patience_ms, DeviceError &error)
{
    if (!std::atomic_ref(peers_->open).load(std::memory_order_relaxed))
        return;
    AgentReply reply;
    claim_->request(request_for(op, mac), reply, error, patience_ms);
}

uint64_t EnginePort::deadline_ns() const
{
    if (current_ || !queue_.empty())
        return 0;
    return endpoint_.pulls_active ? fw_deadline(&endpoint_) : ~uint64_t{0};
}

bool EnginePort::wait(uint64_t deadline)
{
    const Wake::Seat seat(wake_);
    constexpr nfds_t bulk = 7; // the last, as it may be left out
    pollfd fds[bulk + 1] = {{ring_.fd(), POLLIN, 0},
                            {lo_.fd(), POLLIN, 0},
                            {seat.fd(), POLLIN, 0},
                            {watched_.load(std::memory_order_relaxed), POLLIN, 0},
                            {poll_datagrams_.load(std::memory_order_relaxed),
                             datagram_events_.load(std::memory_order_relaxed), 0},
                            {poll_groups_.load(std::memory_order_relaxed), POLLIN, 0},
                            {poll_tcp_.load(std::memory_order_relaxed), POLLIN, 0},
                            {bulk_.fd(), POLLIN, 0}};
    if (poll_output_.load(std::memory_order_relaxed))
        fds[0].events |= POLLOUT;
    const nfds_t count = poll_bulk_.load(std::memory_order_relaxed) ? bulk + 1 : bulk;
    if (sleep(fds, count, deadline) <= 0)
        return false;
    if (fds[2].revents)
        seat.clear();
    // A socket whose interface went away stays in error until it is asked why.
    for (const pollfd &entry : {fds[0], fds[1], fds[5], fds[bulk]}) {
        if (entry.revents & (POLLERR | POLLHUP)) {
            int why = 0;
            socklen_t size = sizeof(why);
            ::getsockopt(entry.fd, SOL_SOCKET, SO_ERROR, &why, &size);
            if (entry.fd != lo_.fd())
                socket_error_.store(true, std::memory_order_relaxed);
        }
    }
    return fds[3].revents != 0;
}

void EnginePort::choose_steering()
{
    const bool alone = std::atomic_ref(record_.claims).load(std::memory_order_relaxed) == 1;
    steering_.choose(alone, board_.mac, endpoint_.number, ring_.fd(), bulk_.fd());
}

/// After an error of unknown age: the interface itself tells.
void EnginePort::ask_link()
{
    switch (bound_interface(ring_.fd())) {
    case BoundInterface::up: return set_link(EMX_LINK_UP);
    case BoundInterface::down: return set_link(EMX_LINK_DOWN);
    case BoundInterface::gone: return set_link(EMX_LINK_GONE);
    }
}

// For wait(), which must not look at the core's state.
void EnginePort::publish()
{
    poll_bulk_.store(pulls_by_sockets(), std::memory_order_relaxed);
    const bool by_datagrams = replies_.next_is_datagrams();
    poll_output_.store(replies_.pending() && !by_datagrams, std::memory_order_relaxed);
    // Whatever comes while nobody reads it would wake a sleeper over and over.
    const bool input = endpoint_.pace.by[FW_BY_DATAGRAMS] != 0 || partials_ != 0;
    datagram_events_.store(static_cast<short>((input ? POLLIN : 0) | (by_datagrams ? POLLOUT : 0)),
                           std::memory_order_relaxed);
    poll_datagrams_.store(input || by_datagrams ? datagrams_.fd() : -1, std::memory_order_relaxed);
    publish_tcp();
}

} // namespace emx

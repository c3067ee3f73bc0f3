// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: set-up, commands, waiting.
#include "driver/engine/udp_port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/udp_socket.hpp"
#include "driver/config/udp_spec.hpp"
#include "driver/engine/udp_network.hpp"
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

constexpr uint16_t udp_block_wanted = 16; // frames per PULL of dialect N
constexpr uint64_t udp_ns_of_ms = 1000000;
// A look into the table while the agent asks the hosts of its list.
constexpr int search_look_ms = 2;

} // namespace

UdpPort::UdpPort(UdpPortParts &parts)
    : TcpPort(
          parts, parts.bulk_way,
          std::make_unique<UdpNetwork>(bound_address(parts.socket.get()),
                                       takes_tcp(parts.bulk_way) ? parts.file->board(parts.board).x_frame : 0,
                                       [this](uint32_t peer) { return sender_.address(peer); })),
      sender_(file_, parts.board, counters_, record_.sizes)
{
}

/// The agent takes the port over, and refuses messages from then on.
UdpPort::~UdpPort()
{
    sender_.take_socket().reset();
    claim_.reset();
}

bool UdpPort::attach(UdpPortParts &parts, DeviceError &error)
{
    const uint16_t window = datagram_window(std::max(record_.x_frame, record_.sizes.mtu), udp_overhead(false),
                                            parts.buffer_bytes);
    sender_.open(std::move(parts.socket));
    if (!receiver_.open() || !wake_.open()) {
        error = system_error("making the buffers of the endpoint");
        return false;
    }
    set_windows(window, udp_block_wanted);
    endpoint_.x_frame = static_cast<uint16_t>(record_.x_frame);
    endpoint_.x_window = window;
    endpoint_.x_frag = static_cast<uint16_t>(fw_x_frag_max(record_.x_frame));
    endpoint_.x_pack = endpoint_.x_frag;
    allow_tcp();
    read_first_link();
    return true;
}

std::unique_ptr<UdpPort> UdpPort::make(UdpPortParts parts, DeviceError &error)
{
    std::unique_ptr<UdpPort> port(new UdpPort(parts));
    if (!port->attach(parts, error))
        return nullptr;
    return port;
}

void UdpPort::open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                          std::span<const Segment> memory, uint64_t length)
{
    sender_.open_window(fw_window_slot(id, tag), memory);
    fw_window_open(&endpoint_, id, tag, peer, remote_ep, length);
}

void UdpPort::close_window(uint8_t id, uint8_t tag)
{
    fw_window_close(&endpoint_, id, tag);
    close_in_connections(fw_window_slot(id, tag));
    sender_.close_window(fw_window_slot(id, tag));
    publish();
}

bool UdpPort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                         uint64_t cookie)
{
    assert(total > 0 && cookie != 0);
    now_ = monotonic_ns();
    const bool by_tcp = !prefers_frames(total) && comes_by_tcp(rndv);
    const int slot = fw_pull_start_by(&endpoint_, &rndv, total, cookie, by_tcp ? FW_BY_TCP : FW_BY_FRAMES,
                                      by_tcp ? tcp_packet : 0, now_);
    if (slot < 0)
        return false;
    keep_pull(slot, total, memory, cookie);
    drain(nullptr);
    publish();
    return true;
}

void UdpPort::cancel_pull(uint64_t cookie)
{
    fw_pull_cancel(&endpoint_, cookie);
    publish();
}

bool UdpPort::ask_agent(AgentOp op, uint64_t mac, const std::string &where, AgentReply &reply,
                        int patience_ms, DeviceError &error)
{
    AgentRequest request = request_for(op, mac);
    where.copy(request.where, sizeof(request.where) - 1);
    return claim_->request(request, reply, error, patience_ms);
}

/// A board that is not known yet may be that of a host in the list which has only just begun to serve: the
/// agent asks them all again, and says whether that may help.
std::optional<uint32_t> UdpPort::find_peer(uint64_t nic_id, int patience_ms, DeviceError &error)
{
    error = {};
    uint64_t until = 0;
    int index = fw_peer_find(peers_, nic_id, 0);
    for (bool asked = false; index < 0; index = fw_peer_find(peers_, nic_id, 0)) {
        AgentReply reply;
        if (!asked && !ask_agent(AgentOp::add_peer, nic_id, {}, reply, patience_ms, error)) {
            if (AgentConnection::was_slow(error))
                error.code = mx_timeout;
            return std::nullopt;
        }
        if (!asked)
            until = monotonic_ns() +
                    std::min<uint64_t>(static_cast<uint64_t>(patience_ms), reply.value) * udp_ns_of_ms;
        asked = true;
        if (monotonic_ns() >= until) {
            error = {mx_nic_not_found,
                     "no host that this one knows has that board: name its host in the peers file "
                     "(omx_init_peers, EMX_PEERS), and see that UDP reaches it both ways"};
            return std::nullopt;
        }
        sys::sleep_ms(search_look_ms);
    }
    return introduced(index);
}

uint64_t UdpPort::deadline_ns() const
{
    if (current_ || !queue_.empty() || receiver_.ready())
        return 0;
    return endpoint_.pulls_active ? fw_deadline(&endpoint_) : ~uint64_t{0};
}

bool UdpPort::wait(uint64_t deadline)
{
    const Wake::Seat seat(wake_);
    pollfd fds[4] = {{sender_.fd(), POLLIN, 0},
                     {seat.fd(), POLLIN, 0},
                     {watched_.load(std::memory_order_relaxed), POLLIN, 0},
                     {poll_tcp_.load(std::memory_order_relaxed), POLLIN, 0}};
    if (poll_output_.load(std::memory_order_relaxed))
        fds[0].events |= POLLOUT;
    if (sleep(fds, std::size(fds), deadline) <= 0)
        return false;
    if (fds[1].revents)
        seat.clear();
    if (fds[0].revents & POLLERR) {
        int why = 0; // of a datagram that went nowhere: it is repeated
        socklen_t size = sizeof(why);
        ::getsockopt(fds[0].fd, SOL_SOCKET, SO_ERROR, &why, &size);
    }
    return fds[2].revents != 0;
}

} // namespace emx

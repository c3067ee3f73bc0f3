// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: set-up, commands, waiting, link state.
#include "driver/engine/udp_port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/packet_socket.hpp"
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

constexpr uint16_t udp_block_wanted = 16; // frames per PULL of dialect N
constexpr uint32_t udp_pull_repeat_ms = 20;
constexpr uint32_t udp_pull_limit_ms = 500000; // wire specification, 10.3
// Bytes under way, at most: more than the sender's next calls bring only leaves the processor's cache.
constexpr uint32_t udp_window_bytes = 192 << 10;
constexpr uint64_t udp_ns_of_ms = 1000000;
// A look into the table while the agent asks the hosts of its list.
constexpr int search_look_ms = 2;

/// The kernel returns what was read late, a quarter of the buffer at a time.
uint16_t udp_window_of(uint32_t frame, int socket)
{
    int granted = 0;
    socklen_t size = sizeof(granted);
    ::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &granted, &size);
    const uint32_t held = frames_held(frame + udp_overhead(false), static_cast<uint32_t>(granted) / 4 * 3);
    return static_cast<uint16_t>(std::clamp<uint32_t>(held, 1, std::max(udp_window_bytes / frame, 1u)));
}

} // namespace

UdpPort::UdpPort(UdpPortParts &parts)
    : file_(parts.file), page_(std::move(parts.page)), record_(file_->board(parts.board)),
      counters_(page_->counters()), peers_(file_->peers(parts.board)), tags_(peers_),
      local_peers_(file_->board_count()), sender_(file_, parts.board, counters_, record_.sizes),
      board_number_(parts.board), claim_(std::move(parts.claim))
{
    board_.mac = record_.mac;
    board_.sizes = record_.sizes;
    board_.peers = peers_;
    board_.tags = tags_.own();
    board_.counters = &counters_;
    board_.endpoint_max = file_->header().endpoint_max;
    // Other endpoints are other sockets' business.
    std::memset(board_.ep_state, FW_EP_FOREIGN, sizeof(board_.ep_state));
    fw_endpoint_init(&endpoint_, &board_, parts.endpoint, parts.session, parts.secret);
    board_.ep_state[parts.endpoint] = FW_EP_OPEN;
    board_.ep[parts.endpoint] = &endpoint_;
    endpoint_.counters = &counters_;
    endpoint_.pull_repeat_ms = udp_pull_repeat_ms;
    endpoint_.pull_limit_ms = udp_pull_limit_ms;
}

/// The agent takes the port over, and refuses messages from then on.
UdpPort::~UdpPort()
{
    sender_.take_socket().reset();
    claim_.reset();
}

bool UdpPort::attach(UdpPortParts &parts, DeviceError &error)
{
    const uint16_t window = udp_window_of(std::max(record_.x_frame, record_.sizes.mtu), parts.socket.get());
    sender_.open(std::move(parts.socket));
    if (!receiver_.open() || !wake_.open()) {
        error = system_error("making the buffers of the endpoint");
        return false;
    }
    endpoint_.pull_window = window;
    const auto block = static_cast<uint16_t>(std::min<uint32_t>(board_.sizes.block, udp_block_wanted));
    endpoint_.pull_block = std::min(block, window);
    endpoint_.x_frame = static_cast<uint16_t>(record_.x_frame);
    endpoint_.x_window = window;
    endpoint_.x_frag = static_cast<uint16_t>(fw_x_frag_max(record_.x_frame));
    const LinkState link = read_link(record_);
    link_serial_ = link.serial;
    set_link(link.state);
    now_ = monotonic_ns();
    return true;
}

std::unique_ptr<UdpPort> UdpPort::make(UdpPortParts parts, DeviceError &error)
{
    std::unique_ptr<UdpPort> port(new UdpPort(parts));
    if (!port->attach(parts, error))
        return nullptr;
    return port;
}

uint16_t UdpPort::peer_speaks(uint32_t peer) const
{
    struct fw_peer *entry = fw_peer(peers_, peer);
    return entry ? std::atomic_ref(entry->speaks).load(std::memory_order_relaxed) : uint16_t{FW_SPEAKS_BOARD};
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
    sender_.close_window(fw_window_slot(id, tag));
    publish();
}

bool UdpPort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                         uint64_t cookie)
{
    assert(total > 0 && cookie != 0);
    now_ = monotonic_ns();
    const int slot = fw_pull_start(&endpoint_, &rndv, total, cookie, now_);
    if (slot < 0)
        return false;
    Pull &pull = pulls_[static_cast<std::size_t>(slot)];
    pull.cookie = cookie;
    pull.memory.assign(memory);
    assert(pull.memory.length() >= total);
    more_ = 1;
    drain(nullptr);
    publish();
    return true;
}

void UdpPort::cancel_pull(uint64_t cookie) { fw_pull_cancel(&endpoint_, cookie); }

bool UdpPort::ask_agent(AgentOp op, uint64_t mac, const std::string &where, AgentReply &reply,
                        int patience_ms, DeviceError &error)
{
    AgentRequest request;
    request.op = op;
    request.board = board_number_;
    request.mac = mac;
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
    tags_.follow(peers_); // what goes there next may be the first for long
    tags_.renew(peers_, static_cast<uint32_t>(index));
    return static_cast<uint32_t>(index);
}

bool UdpPort::keep_peer(uint32_t peer, uint64_t nic_id)
{
    page_->keep(peer);
    if (peer_nic_id(peer) == nic_id)
        return true;
    page_->release(peer);
    return false;
}

uint64_t UdpPort::peer_nic_id(uint32_t peer) const
{
    const struct fw_peer *entry = fw_peer(peers_, peer);
    return entry ? std::atomic_ref(entry->mac).load(std::memory_order_relaxed) : 0;
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
    pollfd fds[3] = {{sender_.fd(), POLLIN, 0},
                     {seat.fd(), POLLIN, 0},
                     {watched_.load(std::memory_order_relaxed), POLLIN, 0}};
    if (poll_output_.load(std::memory_order_relaxed))
        fds[0].events |= POLLOUT;
    const int ready = sys::sleep_on(fds, std::size(fds), deadline);
    if (ready < 0 && errno == EINTR)
        interrupted_.store(true, std::memory_order_relaxed);
    if (ready <= 0)
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

void UdpPort::set_link(uint32_t state)
{
    if (state == link_state_ || link_state_ == EMX_LINK_GONE)
        return;
    link_state_ = state;
    if (state == EMX_LINK_GONE)
        board_.ep_state[endpoint_.number] = FW_EP_FOREIGN;
    emx_msg event{};
    event.type = EMX_EV_LINK;
    event.local_ep = endpoint_.number;
    event.u.link.state = static_cast<uint8_t>(state);
    post(event);
}

void UdpPort::check_link()
{
    const LinkState link = read_link(record_);
    if (link.serial != link_serial_) {
        link_serial_ = link.serial;
        set_link(link.state);
    }
    if (claim_->refused())
        set_link(EMX_LINK_GONE);
}

} // namespace emx

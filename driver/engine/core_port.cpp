// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The common part of the engine's ports.
#include "driver/engine/core_port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/drops.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint32_t pull_repeat_first_ms = 20;
constexpr uint32_t pull_limit_ms = 500000; // wire specification, 10.3
// Rounds for which timers wait while frames do, at most: more frames than can be under way.
constexpr uint32_t rounds_behind_max = 512;

} // namespace

CorePort::CorePort(PortParts &parts)
    : local_peers_(parts.file->board_count()), file_(parts.file), page_(std::move(parts.page)),
      record_(file_->board(parts.board)), counters_(page_->counters()), peers_(file_->peers(parts.board)),
      tags_(peers_), life_(parts.life), board_number_(parts.board), claim_(std::move(parts.claim))
{
    board_.mac = record_.mac;
    board_.sizes = record_.sizes;
    board_.peers = peers_;
    board_.tags = tags_.own();
    board_.counters = &counters_;
    board_.endpoint_max = file_->header().endpoint_max;
    // Other endpoints are other processes' business: what strays in here is dropped, never refused.
    std::memset(board_.ep_state, FW_EP_FOREIGN, sizeof(board_.ep_state));
    fw_endpoint_init(&endpoint_, &board_, parts.endpoint, parts.session, parts.secret);
    board_.ep_state[parts.endpoint] = FW_EP_OPEN;
    board_.ep[parts.endpoint] = &endpoint_;
    endpoint_.counters = &counters_;
    endpoint_.pull_repeat_ms = pull_repeat_first_ms;
    endpoint_.pull_limit_ms = pull_limit_ms;
}

void CorePort::set_windows(uint16_t pull_window, uint16_t block)
{
    endpoint_.pull_window = pull_window;
    endpoint_.pull_block =
        std::min(static_cast<uint16_t>(std::min<uint32_t>(board_.sizes.block, block)), pull_window);
}

void CorePort::read_first_link()
{
    const LinkState link = read_link(record_);
    link_serial_ = link.serial;
    set_link(link.life == life_ ? link.state : uint32_t{EMX_LINK_GONE});
    now_ = monotonic_ns();
}

CorePort::CoreFrame::CoreFrame(const fw_fx &fx) : length(std::max<std::size_t>(fx.u.tx.length, EMX_FRAME_MIN))
{
    std::memcpy(bytes.data(), fx.u.tx.header, fx.u.tx.length);
}

bool CorePort::may_answer()
{
    if (fw_may_answer(&endpoint_.answers, monotonic_ns()))
        return true;
    count_drop(counters_, EMX_CNT_DROP_ANSWER);
    return false;
}

void CorePort::keep_pull(int slot, uint32_t total, std::span<const Segment> memory, uint64_t cookie)
{
    Pull &pull = pulls_[static_cast<std::size_t>(slot)];
    pull.cookie = cookie;
    pull.memory.assign(memory);
    assert(pull.memory.length() >= total);
    static_cast<void>(total); // where assertions are off
    more_ = 1;
}

void CorePort::refuse(const fw_replies &run, fw_fx &fx)
{
    endpoint_.window[run.window].used = 0;
    fw_replies_refuse(&endpoint_, &run, &fx);
}

bool CorePort::ran_out()
{
    if (endpoint_.pulls_active == 0)
        return false;
    now_ = monotonic_ns();
    if (now_ >= fw_deadline(&endpoint_))
        return true;
    rounds_behind_ = 0;
    return false;
}

bool CorePort::serve_timer(bool behind)
{
    if ((rounds_behind_ == 0 || behind) && rounds_behind_ < rounds_behind_max) {
        rounds_behind_++;
        return false;
    }
    rounds_behind_ = 0;
    fw_tick(&endpoint_, now_);
    more_ = 1;
    return true;
}

AgentRequest CorePort::request_for(AgentOp op, uint64_t mac) const
{
    AgentRequest request;
    request.op = op;
    request.board = board_number_;
    request.mac = mac;
    return request;
}

uint32_t CorePort::introduced(int index)
{
    tags_.follow(peers_); // what goes there next may be the first for long
    tags_.renew(peers_, static_cast<uint32_t>(index));
    return static_cast<uint32_t>(index);
}

uint16_t CorePort::peer_speaks(uint32_t peer) const
{
    struct fw_peer *entry = fw_peer(peers_, peer);
    return entry ? std::atomic_ref(entry->speaks).load(std::memory_order_relaxed) : uint16_t{FW_SPEAKS_BOARD};
}

bool CorePort::keep_peer(uint32_t peer, uint64_t nic_id)
{
    page_->keep(peer);
    if (peer_nic_id(peer) == nic_id)
        return true;
    page_->release(peer);
    return false;
}

uint64_t CorePort::peer_nic_id(uint32_t peer) const
{
    const struct fw_peer *entry = fw_peer(peers_, peer);
    return entry ? std::atomic_ref(entry->mac).load(std::memory_order_relaxed) : 0;
}

// An interface that is gone stays gone for this port: a new interface, or the next holder of the number, is
// not its own.
void CorePort::set_link(uint32_t state)
{
    if (state == link_state_ || link_state_ == EMX_LINK_GONE)
        return;
    link_state_ = state;
    if (state == EMX_LINK_GONE) // its frames over lo may be the next holder's: neither taken nor refused
        board_.ep_state[endpoint_.number] = FW_EP_FOREIGN;
    emx_msg event{};
    event.type = EMX_EV_LINK;
    event.local_ep = endpoint_.number;
    event.u.link.state = static_cast<uint8_t>(state);
    post(event);
}

void CorePort::check_link()
{
    const LinkState link = read_link(record_);
    if (link.serial != link_serial_) {
        link_serial_ = link.serial;
        set_link(link.life == life_ ? link.state : uint32_t{EMX_LINK_GONE});
    }
    if (claim_->refused())
        set_link(EMX_LINK_GONE);
}

int CorePort::sleep(pollfd *fds, nfds_t count, uint64_t deadline)
{
    const int ready = sys::sleep_on(fds, count, deadline);
    if (ready < 0 && errno == EINTR)
        interrupted_.store(true, std::memory_order_relaxed);
    return ready;
}

} // namespace emx

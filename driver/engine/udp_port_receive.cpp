// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: frames in, effects of the core, timers.
#include "driver/base/clock.hpp"
#include "driver/base/relax.hpp"
#include "driver/drops.hpp"
#include "driver/engine/udp_port.hpp"

#include <cerrno>

namespace emx {
namespace {

// As for frames out of a ring (port_receive.cpp).
constexpr int udp_frames_per_peek = 64;
constexpr uint32_t udp_polls_per_clock = 16;
constexpr uint32_t udp_frames_per_round = 64;
// A look is a system call: as long as so many looks at a word of memory.
constexpr unsigned looks_per_call = 16;
constexpr int introduction_ms = 50;
constexpr uint64_t between_introductions_ns = 20000000;

} // namespace

const emx_msg *UdpPort::peek()
{
    if (current_)
        return current_;
    for (int n = 0; n < udp_frames_per_peek; n++) {
        if (++busy_polls_ >= udp_frames_per_round)
            break;
        if (!receiver_.ready() && !receiver_.fetch(sender_.fd()))
            break;
        if (const emx_msg *event = take())
            return event;
    }
    return idle();
}

bool UdpPort::spin(unsigned looks)
{
    if (receiver_.ready() || sender_.pending() || !queue_.empty() || tcp_active_)
        return true;
    for (unsigned n = 0; n <= looks / looks_per_call; n++) {
        if (receiver_.fetch(sender_.fd()))
            return true;
        relax();
    }
    return endpoint_.pulls_active != 0;
}

/// True if a frame that names that endpoint of the peer may come from there. Those that name none, of whom a
/// secret is asked, come from any endpoint; refusals also from the agent.
bool UdpPort::comes_from(uint32_t peer, const UdpAddress &source)
{
    const UdpAddress *agent = sender_.address(peer);
    if (!agent || !agent->same_host(source))
        return false;
    if (source.port == agent->port)
        return true;
    if (pkt_.msg.type == EMX_PULL_REPLY || pkt_.msg.type == EMX_NACK_MCP)
        return source.port > agent->port && source.port <= agent->port + EMX_ENDPOINTS_MAX;
    return source.port == udp_port_of(agent->port, pkt_.msg.remote_ep);
}

/// 0, or the counter of the reason to drop; -1: counted, or not to be counted.
int UdpPort::judge(const std::byte *frame, uint32_t bytes)
{
    if (const int reason = fw_check_for(&board_, 0, frame, bytes, &pkt_); reason != 0)
        return reason;
    if (pkt_.dst_mac != board_.mac)
        return EMX_CNT_DROP_NOT_OURS;
    if (pkt_.msg.local_ep != endpoint_.number)
        return EMX_CNT_DROP_ENDPOINT;
    const int peer = fw_peer_find(peers_, pkt_.src_mac, pkt_.tag);
    if (peer < 0 || !comes_from(static_cast<uint32_t>(peer), from_socket(receiver_.source()))) {
        introduce();
        return peer < 0 ? EMX_CNT_DROP_UNKNOWN_PEER : EMX_CNT_DROP_DATAGRAM_SOURCE;
    }
    if (pkt_.msg.type == EMX_X_DATA && pkt_.x.checksum != 0 &&
        !fw_checksum_fits(&pkt_, frame, fw_crc32c(0, frame + FW_X_DATA_HEADER, pkt_.msg.data_len)))
        return EMX_CNT_DROP_CHECKSUM;
    return 0;
}

/// The agent asks whoever is there, and believes an answer to its question alone. The frame is repeated.
void UdpPort::introduce()
{
    const uint64_t now = monotonic_ns();
    const UdpAddress source = from_socket(receiver_.source());
    const uint32_t behind = 1u + pkt_.msg.remote_ep;
    if (now - introduced_ns_ < between_introductions_ns || source.port <= behind)
        return;
    introduced_ns_ = now;
    AgentReply reply;
    DeviceError ignored;
    ask_agent(AgentOp::add_heard, pkt_.src_mac, describe(source.with_port(source.port - behind)), reply,
              introduction_ms, ignored);
}

const emx_msg *UdpPort::take()
{
    const std::byte *frame = receiver_.frame();
    if (const int reason = judge(frame, receiver_.bytes()); reason != 0)
        return drop(reason);
    if (fw_needs_time(&pkt_))
        now_ = monotonic_ns();
    if (!give(pkt_, fx_, more_))
        return drop(fx_.kind == FW_FX_DROP ? fx_.counter : 0);
    if (fx_.kind == FW_FX_EVENT) {
        held_ = true;
        return current_ = &fx_.u.msg;
    }
    execute(fx_, frame);
    drain(frame);
    receiver_.next();
    return nullptr;
}

/// Ends with a frame that goes no further; reason 0: counted already.
const emx_msg *UdpPort::drop(int reason)
{
    if (reason != 0)
        count_drop(counters_, reason);
    receiver_.next();
    return nullptr;
}

void UdpPort::consume()
{
    current_ = nullptr;
    if (held_) {
        if (more_)
            drain(nullptr);
        receiver_.next();
        held_ = false;
    } else if (queued_current_) {
        pop_queued();
    }
}

/// Executes what else the last frame caused.
void UdpPort::drain(const std::byte *frame)
{
    while (more_) {
        fw_fx fx;
        more_ = fw_next(&endpoint_, now_, &fx);
        execute(fx, frame);
    }
}

void UdpPort::execute(const fw_fx &fx, const std::byte *frame)
{
    switch (fx.kind) {
    case FW_FX_DROP: count_drop(counters_, fx.counter); break;
    case FW_FX_EVENT: post(fx.u.msg); break;
    case FW_FX_TX: transmit_effect(fx); break;
    case FW_FX_ANSWER:
        if (may_answer())
            transmit_effect(fx);
        break;
    case FW_FX_REPLIES: take_replies(fx.u.replies); break;
    case FW_FX_COPY:
        if (frame)
            copy(fx, frame + fx.u.copy.source);
        break;
    // No other carrier than TCP is offered beside frames.
    case FW_FX_ADDRESS: hear_connection(fx.u.address); break;
    case FW_FX_FALLBACK: fall_back_from_tcp(fx.u.address); break;
    default: // of boards of raw frames, or the agent's
        break;
    }
}

void UdpPort::take_replies(const fw_replies &run)
{
    if (!(is_by_tcp(run) ? add_to_connection(run) : sender_.add_replies(run)))
        count_drop(counters_, EMX_CNT_DROP_PULL_BUSY);
    publish();
}

void UdpPort::take_effect(const fw_fx &fx, const std::byte *payload)
{
    if (fx.kind == FW_FX_COPY)
        copy(fx, payload);
    else
        execute(fx, nullptr);
}

/// payload: null when it is in place.
void UdpPort::copy(const fw_fx &fx, const std::byte *payload)
{
    emx_count(&counters_, payload ? EMX_CNT_PULL_MISPLACED : EMX_CNT_PULL_PLACED, 1);
    if (payload)
        pulls_[fx.u.copy.pull].memory.copy_in(fx.u.copy.position, payload, fx.u.copy.length);
}

/// The other duties: replies to send, timers, the link.
const emx_msg *UdpPort::idle()
{
    busy_polls_ = 0;
    if (sender_.pending())
        send_replies();
    if (tcp_active_)
        poll_tcp();
    if (++empty_polls_ >= udp_polls_per_clock) {
        empty_polls_ = 0;
        check_time();
    }
    return next_queued();
}

void UdpPort::check_time()
{
    check_link();
    poll_connects();
    tags_.follow(peers_);
    if (!ran_out())
        return;
    if (!serve_timer(receiver_.ready())) {
        empty_polls_ = udp_polls_per_clock; // again after the next round
        return;
    }
    drain(nullptr);
    publish();
}

} // namespace emx

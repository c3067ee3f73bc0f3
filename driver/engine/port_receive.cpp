// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the engine: frames in, effects of the core, timers.
//
// peek() is the path that latency is made of: for a small message it reads the ring slot, the core
// checks and judges it, and the event points into the slot. No system call, clock or allocation.
#include "driver/engine/port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/relax.hpp"
#include "driver/drops.hpp"

#include <cerrno>

namespace emx {
namespace {

// Frames without an event for the library taken in one peek, at most: pull requests, dropped frames.
constexpr int frames_per_peek = 16;
// Polls that find nothing between two looks at the clock.
constexpr uint32_t polls_per_clock = 64;

/// True if what the core does with a frame of that type may depend on the time.
bool timed(uint8_t type) { return type >= EMX_PULL; }

} // namespace

const emx_msg *EnginePort::peek()
{
    if (current_) [[unlikely]]
        return current_;
    for (int n = 0; n < frames_per_peek; n++) {
        PacketRing *ring = ring_.ready() ? &ring_ : lo_.ready() ? &lo_ : nullptr;
        if (!ring || ++busy_polls_ >= frames_per_round) [[unlikely]]
            break;
        if (const emx_msg *event = take(*ring)) [[likely]]
            return event;
    }
    return idle();
}

bool EnginePort::spin(unsigned looks)
{
    if (endpoint_.pulls_active != 0 || replies_.pending() || !queue_.empty() || partials_ != 0 || tcp_active_)
        [[unlikely]]
        return true; // what peek() does now and then is to be done at once
    // One word is watched: those of this host write to the other ring, which may be seen a little later.
    for (; looks > 0; looks--) {
        if (ring_.ready())
            return true;
        ring_.expect();
        relax();
    }
    return lo_.ready() || group_waits();
}

/// True if a ring's filter would have kept a frame away.
inline bool EnginePort::is_stray(const emx_msg &msg) const
{
    return msg.local_ep != endpoint_.number || !passes_endpoint_filter(msg.type);
}

const emx_msg *EnginePort::take(PacketRing &ring)
{
    uint32_t bytes;
    const std::byte *frame = ring.frame(bytes);
    // Another processor wrote it: a longer payload's lines may as well come while the header is looked at.
    if (bytes > 2 * cache_line) {
        __builtin_prefetch(frame + cache_line);
        __builtin_prefetch(frame + 2 * cache_line);
    }
    const int reason = fw_check_for(&board_, &ring == &lo_ ? 0 : board_.mac, frame, bytes, &pkt_);
    if (reason != 0 && !fits_slot(ring, frame, bytes)) [[unlikely]]
        return drop(ring, is_stray(ring, frame, bytes) ? 0
                          : bytes == 0                 ? int{EMX_CNT_DROP_OVERSIZE}
                                                       : reason);
    if (steering_.by_port() && &ring == &ring_ && (is_stray(pkt_.msg) || ring.for_another_host()))
        [[unlikely]]
        return drop(ring, 0);
    if (timed(pkt_.msg.type)) [[unlikely]]
        now_ = monotonic_ns();
    if (!give(pkt_, fx_, more_) && !introduce(pkt_, fx_, more_)) [[unlikely]]
        return drop(ring, 0);
    if (fx_.kind != FW_FX_EVENT) [[unlikely]]
        return serve(ring, frame);
    held_ = &ring;
    return current_ = &fx_.u.msg;
}

/// True if all that a frame longer than its slot states is there, and right: any number of bytes may follow.
bool EnginePort::fits_slot(const PacketRing &ring, const std::byte *frame, uint32_t bytes)
{
    return bytes == 0 &&
           fw_check_for(&board_, &ring == &lo_ ? 0 : board_.mac, frame, ring.kept(), &pkt_) == 0;
}

/// The same of a frame that failed the core's checks, where the port does the steering: not ours to count.
bool EnginePort::is_stray(const PacketRing &ring, const std::byte *frame, uint32_t bytes) const
{
    if (!steering_.by_port() || &ring != &ring_)
        return false;
    const uint32_t there = bytes == 0 ? uint32_t{EMX_FRAME_MIN} : bytes; // 0: longer than the slot
    return ring.for_another_host() || !passes_endpoint_filter(reinterpret_cast<const uint8_t *>(frame), there,
                                                              board_.mac, endpoint_.number);
}

/// Ends with a frame that goes no further; reason 0: counted already, or not to be counted.
const emx_msg *EnginePort::drop(PacketRing &ring, int reason)
{
    if (reason != 0)
        count_drop(counters_, reason);
    ring.release();
    return nullptr;
}

/// Does what a frame asks of us that the library need not know of.
const emx_msg *EnginePort::serve(PacketRing &ring, const std::byte *frame)
{
    const Arrival arrival{frame, nullptr};
    execute(fx_, arrival);
    drain(arrival);
    ring.release();
    return nullptr;
}

/// A frame that found no endpoint: again if it comes from a board unknown until now; false if it ended here.
bool EnginePort::introduce(fw_pkt &pkt, fw_fx &fx, int &more)
{
    if (fx.kind == FW_FX_PEER) {
        DeviceError ignored; // the frame is repeated, and the agent may have answered by then
        add_peer(AgentOp::add_heard, pkt.src_mac, hurry_ms, ignored);
        if (give(pkt, fx, more))
            return true;
    }
    if (fx.kind == FW_FX_DROP)
        count_drop(counters_, fx.counter);
    else if (fx.kind == FW_FX_PEER)
        count_drop(counters_, EMX_CNT_DROP_UNKNOWN_PEER);
    return false;
}

void EnginePort::consume()
{
    current_ = nullptr;
    if (held_) [[likely]] {
        if (more_) [[unlikely]]
            drain({});
        held_->release();
        held_ = nullptr;
    } else if (queued_current_) {
        if (queue_.front().type == EMX_X_MEDIUM)
            fragments_queued_--;
        pop_queued();
    }
}

/// Executes what else the last frame caused.
void EnginePort::drain(const Arrival &arrival)
{
    while (more_) {
        fw_fx fx;
        more_ = fw_next(&endpoint_, now_, &fx);
        execute(fx, arrival);
    }
}

void EnginePort::execute(const fw_fx &fx, const Arrival &arrival)
{
    switch (fx.kind) {
    case FW_FX_DROP: count_drop(counters_, fx.counter); break;
    case FW_FX_EVENT:
        post(fx.u.msg);
        publish();
        break;
    case FW_FX_TX: transmit_effect(fx); break;
    case FW_FX_ANSWER:
        if (may_answer())
            transmit_effect(fx);
        break;
    case FW_FX_REPLIES:
        if (!add_replies(fx.u.replies))
            count_drop(counters_, EMX_CNT_DROP_PULL_BUSY);
        publish();
        break;
    case FW_FX_COPY: copy(fx, arrival); break;
    case FW_FX_ADDRESS: hear_address(fx.u.address); break;
    case FW_FX_FALLBACK: fall_back(fx.u.address); break;
    default: // beacons, names, peers: the agent's, filtered out here
        break;
    }
}

void EnginePort::copy(const fw_fx &fx, const Arrival &arrival)
{
    const std::byte *payload = arrival.frame ? arrival.frame + fx.u.copy.source : arrival.payload;
    const auto slot = fx.u.copy.pull;
    datagram_receiver_.disarm();
    bulk_.accepted(slot, fx.u.copy.position, fx.u.copy.length);
    if (!payload) {
        emx_count(&counters_, EMX_CNT_PULL_PLACED, 1);
        return;
    }
    emx_count(&counters_, EMX_CNT_PULL_MISPLACED, 1);
    pulls_[slot].memory.copy_in(fx.u.copy.position, payload, fx.u.copy.length);
}

/// The other duties: replies to send, pull replies to fetch, timers, the link.
const emx_msg *EnginePort::idle()
{
    busy_polls_ = 0;
    if (replies_.pending()) [[unlikely]]
        send_replies();
    if (tcp_active_)
        poll_tcp();
    if (pulls_by_sockets())
        poll_bulk();
    if (partials_ != 0) [[unlikely]]
        poll_fragments();
    if (++empty_polls_ >= polls_per_clock) [[unlikely]] {
        empty_polls_ = 0;
        check_time();
    }
    if (group_waits()) [[unlikely]]
        if (const emx_msg *event = take_group())
            return event;
    return next_queued();
}

/// True if frames wait that may be what a timer waits for.
bool EnginePort::is_behind() const
{
    return (pulls_by_sockets() && bulk_.more_likely()) || ring_.ready() || lo_.ready();
}

void EnginePort::check_time()
{
    check_link();
    poll_connects();
    choose_steering();
    tags_.follow(peers_);
    if (socket_error_.exchange(false, std::memory_order_relaxed))
        ask_link();
    if (!ran_out())
        return;
    if (!serve_timer(is_behind())) {
        empty_polls_ = polls_per_clock; // again after the next round
        return;
    }
    drain({});
    publish();
}

/// Slot of the only active pull, -1 when there are several.
int EnginePort::only_pull()
{
    if (endpoint_.pulls_active != 1)
        return -1;
    const auto active = [this](int slot) { return endpoint_.pull[slot].state == FW_PULL_RUNNING; };
    for (int n = 0; !active(last_pull_) && n < FW_PULLS; n++)
        last_pull_ = (last_pull_ + 1) % FW_PULLS;
    return active(last_pull_) ? last_pull_ : -1;
}

void EnginePort::poll_bulk()
{
    const int slot = only_pull();
    const PieceList *target = slot < 0 ? nullptr : &pulls_[static_cast<std::size_t>(slot)].memory;
    if (endpoint_.pace.by[FW_BY_DATAGRAMS] != 0 && poll_datagrams(slot, target))
        return;
    const int count = bulk_.receive(endpoint_, slot, target);
    if (count > 0) {
        now_ = monotonic_ns();
        for (int i = 0; i < count; i++)
            take_bulk(static_cast<uint32_t>(i), target);
        publish();
        return;
    }
    if (count == 0 || errno == EAGAIN)
        return;
    if (errno == EFAULT && slot >= 0) {
        // The library's memory is gone: nothing can complete this pull.
        fw_pull_fail(&endpoint_, slot, EMX_PULL_ABORTED);
        more_ = 1;
        drain({});
    } else {
        ask_link(); // an error of unknown age
    }
}

void EnginePort::take_bulk(uint32_t i, const PieceList *target)
{
    const BulkReceiver::Frame &frame = bulk_.frame(i);
    const auto *header = reinterpret_cast<const uint8_t *>(frame.header);
    if (steering_.by_port() && !passes_reply_filter(header, frame.bytes, board_.mac, endpoint_.number)) {
        // For another endpoint, or as long as a full reply, which no other packet is.
        if (passes_endpoint_filter(header, frame.bytes, board_.mac, endpoint_.number))
            count_drop(counters_, EMX_CNT_DROP_LENGTH);
        return;
    }
    const int reason = fw_check_for(&board_, board_.mac, frame.header, frame.bytes, &pkt_);
    if (reason != 0)
        return count_drop(counters_, reason);
    if (pkt_.msg.type == EMX_X_DATA && pkt_.x.checksum != 0 &&
        !fw_checksum_fits(&pkt_, header, bulk_.payload_sum(i, pkt_.msg.data_len, target)))
        return count_drop(counters_, EMX_CNT_DROP_CHECKSUM);
    fw_fx fx;
    if (!give(pkt_, fx, more_) && !introduce(pkt_, fx, more_))
        return;
    const Arrival arrival{nullptr, frame.payload};
    execute(fx, arrival);
    drain(arrival);
}

} // namespace emx

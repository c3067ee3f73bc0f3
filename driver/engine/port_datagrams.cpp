// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the engine: large messages in datagrams.
#include "driver/base/clock.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/drops.hpp"
#include "driver/engine/port.hpp"
#include "driver/engine/udp_segments.hpp"

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

// From here on TCP is the quickest carrier, and next to it frames if they are long; below it datagrams are
// (docs/performance/findings.md, Long messages).
constexpr uint32_t tcp_from = 196608;
constexpr uint32_t long_frame = 4096;
constexpr uint32_t lone_pulls_min = 8; // one after the other, of a program that has one at a time
// Looks for datagrams until frames are looked for, too, when nothing comes: a request may be answered by
// these.
constexpr uint32_t looks_for_datagrams = 8;
constexpr uint32_t probes_at_once = 64;

} // namespace

bool EnginePort::prefers_long_frames() const
{
    return bulk_way_ == BulkWay::best && datagrams_.bytes() >= long_frame;
}

/// By the agent, which may have rights that this process lacks; returns the receive buffer, 0 if it has not.
uint32_t EnginePort::grow_socket(int socket)
{
    AgentReply reply;
    std::vector<Fd> none;
    DeviceError ignored;
    return claim_->request(request_for(AgentOp::grow_socket), reply, none, ignored, hurry_ms, {socket})
               ? reply.bulk_bytes
               : 0;
}

/// The longest datagram by which a message is pulled; 0: by frames.
uint16_t EnginePort::choose_datagrams(const emx_msg &rndv, uint32_t total)
{
    if (!(emx_offer_features(rndv.data) & EMX_X_DATAGRAMS) || !datagrams_.wanted())
        return 0;
    if (prefers_long_frames() && total >= tcp_from)
        return 0;
    if (datagrams_.expects_probe(now_))
        take_probes();
    std::optional<fw_address> tell;
    const uint16_t bytes = datagrams_.pull_from(rndv.peer, rndv.remote_ep, rndv.session, now_, tell);
    endpoint_.x_datagrams = datagrams_.window();
    if (tell)
        tell_address(*tell, false);
    return bytes;
}

/// Tells our address in a raw frame, and, in an answer, by a datagram of full size.
void EnginePort::tell_address(const fw_address &own, bool probe)
{
    fw_fx fx;
    fw_address_tell(&endpoint_, &own, &fx);
    transmit_effect(fx);
    if (probe)
        datagrams_.probe(own.peer, own.remote_ep, fx.u.tx.header, fx.u.tx.length);
}

void EnginePort::hear_address(const fw_address &address)
{
    if (peer_is_local(address.peer))
        return;
    if (address.tcp)
        return hear_connection(address);
    const auto answer = datagrams_.heard(address, now_);
    publish(); // the socket may be another one
    if (answer)
        tell_address(*answer, true);
}

void EnginePort::fall_back(const fw_address &address)
{
    if (address.tcp)
        return fall_back_from_tcp(address);
    datagrams_.fell_back(address.peer, address.remote_ep, now_);
    publish();
}

/// Chooses the carrier of a message that is pulled, and the longest packet by it.
EnginePort::Carrier EnginePort::choose_carrier(const emx_msg &rndv, uint32_t total)
{
    if (prefers_frames(total))
        return {FW_BY_FRAMES, 0};
    // TCP sends more by one call where several messages are under way.
    lone_pulls_ = endpoint_.pulls_active != 0 ? 0 : std::min(lone_pulls_ + 1, lone_pulls_min);
    const bool rather = bulk_way_ == BulkWay::best && total < tcp_from && lone_pulls_ == lone_pulls_min;
    uint16_t datagram = rather ? choose_datagrams(rndv, total) : uint16_t{0};
    if (datagram == 0 && comes_by_tcp(rndv))
        return {FW_BY_TCP, tcp_packet};
    if (!rather)
        datagram = choose_datagrams(rndv, total);
    return {static_cast<uint8_t>(datagram != 0 ? FW_BY_DATAGRAMS : FW_BY_FRAMES), datagram};
}

/// Queues the answer to a request; false when too many wait.
bool EnginePort::add_replies(const fw_replies &run)
{
    const int socket = socket_for(run.reply.msg.peer);
    if (is_by_tcp(run))
        return add_to_connection(run);
    if (run.reply.msg.type == EMX_X_DATA && run.reply.x.carrier == FW_BY_DATAGRAMS && socket == ring_.fd()) {
        if (const DatagramTarget *to = datagrams_.target(run.reply.msg.peer, run.reply.msg.local_ep))
            return replies_.add(run, socket, *to);
    }
    return replies_.add(run, socket);
}

/// Takes what came while no pull waited for datagrams, but for what lies behind fragments: the next call
/// would put others over their data.
void EnginePort::take_probes()
{
    for (uint32_t n = 0; n < probes_at_once && fragments_queued_ == 0; n++) {
        const int count = datagram_receiver_.receive(datagrams_.fd(), endpoint_, -1, nullptr);
        if (count < 0)
            return;
        take_datagrams(static_cast<uint32_t>(count), nullptr);
    }
}

/// True if frames need not be looked for now.
bool EnginePort::poll_datagrams(int slot, const PieceList *target)
{
    if (fragments_queued_ != 0)
        return true; // their data lies where the next call would put others
    const int count = datagram_receiver_.receive(datagrams_.fd(), endpoint_, slot, target);
    if (count >= 0) {
        datagram_polls_ = 0;
        now_ = monotonic_ns();
        bulk_.disarm();
        take_datagrams(static_cast<uint32_t>(count), target);
        publish();
        return true;
    }
    if (errno == EFAULT && slot >= 0) {
        fw_pull_fail(&endpoint_, slot, EMX_PULL_ABORTED); // as of frames
        more_ = 1;
        drain({});
        return true;
    }
    if (endpoint_.pace.by[FW_BY_DATAGRAMS] == endpoint_.pulls_active &&
        ++datagram_polls_ < looks_for_datagrams)
        return true;
    datagram_polls_ = 0;
    return false;
}

void EnginePort::take_datagrams(uint32_t count, const PieceList *target)
{
    for (uint32_t i = 0; i < count; i++)
        take_datagram(i, target);
}

/// Judges the source; of a probe, there is nothing more.
bool EnginePort::is_from_way(DatagramWay &way, const DatagramReceiver::Datagram &datagram)
{
    const DatagramSource source = datagram_receiver_.source();
    if (datagram.header[EMX_OUTER_LEN] == std::byte{EMX_X_ADDRESS}) {
        datagrams_.probed(way, source, datagram.bytes, now_);
        return false;
    }
    if (source != DatagramSource{way.target.address, way.target.port}) {
        count_drop(counters_, EMX_CNT_DROP_DATAGRAM_SOURCE);
        return false;
    }
    way.silent = 0;
    return true;
}

void EnginePort::take_datagram(uint32_t i, const PieceList *target)
{
    const DatagramReceiver::Datagram &datagram = datagram_receiver_.datagram(i);
    const uint64_t secret = datagram.bytes > EMX_OUTER_LEN ? fw_datagram_secret(datagram.header) : 0;
    DatagramWay *way = secret != 0 ? datagrams_.way_of(secret) : nullptr;
    if (!way)
        return count_drop(counters_, EMX_CNT_DROP_DATAGRAM_SECRET);
    emx_count(&counters_, EMX_CNT_RX_DATAGRAM, 1);
    if (!is_from_way(*way, datagram))
        return;
    fw_datagram_unseal(datagram.header, peer_nic_id(way->peer), board_.mac, static_cast<uint16_t>(way->peer));
    const int reason = fw_check_for(&board_, board_.mac, datagram.header, datagram.bytes, &pkt_);
    if (reason != 0)
        return count_drop(counters_, reason);
    if (pkt_.msg.local_ep != endpoint_.number)
        return count_drop(counters_, EMX_CNT_DROP_ENDPOINT);
    const auto *header = reinterpret_cast<const uint8_t *>(datagram.header);
    const bool is_fragment = pkt_.msg.type == EMX_X_MEDIUM; // whose checksum the core looks at
    if (!is_fragment && pkt_.x.checksum != 0 &&
        !fw_checksum_fits(&pkt_, header, datagram_receiver_.payload_sum(i, pkt_.msg.data_len, target)))
        return count_drop(counters_, EMX_CNT_DROP_CHECKSUM);
    fw_fx fx;
    if (!give(pkt_, fx, more_))
        return;
    if (is_fragment && fx.kind == FW_FX_EVENT) {
        fragments_queued_++;
        way->had_fragments = true;
    }
    const Arrival arrival{nullptr, datagram.payload};
    execute(fx, arrival);
    drain(arrival);
}

// ---- fragments of X MEDIUM

uint32_t EnginePort::datagram_fragment(uint32_t frame) const
{
    const uint32_t less = ethernet_header + EMX_IP_UDP_LEN;
    if (!datagrams_.wanted() || prefers_long_frames() || frame < less)
        return 0;
    return std::min<uint32_t>(endpoint_.x_frag,
                              fw_x_frag_max(std::min<uint32_t>(datagrams_.bytes(), frame - less)));
}

bool EnginePort::expect_fragments(uint32_t peer, uint8_t remote_ep, uint32_t session)
{
    if (peer_is_local(peer) || prefers_long_frames())
        return false;
    now_ = monotonic_ns();
    if (datagrams_.expects_probe(now_) && endpoint_.pace.by[FW_BY_DATAGRAMS] == 0)
        take_probes();
    std::optional<fw_address> tell;
    const bool look = datagrams_.fragments_from(peer, remote_ep, session, now_, tell);
    if (tell)
        tell_address(*tell, false);
    if (look) {
        partials_++;
        busy_polls_ = frames_per_round - 1;
    }
    publish();
    return look;
}

void EnginePort::fragments_ended()
{
    partials_--;
    publish();
}

/// Between two frames of the ring, so that a message's fragments are seen before what was sent behind them.
void EnginePort::poll_fragments()
{
    if (fragments_queued_ == 0 && endpoint_.pace.by[FW_BY_DATAGRAMS] == 0) {
        const int count = datagram_receiver_.receive(datagrams_.fd(), endpoint_, -1, nullptr);
        if (count > 0) {
            now_ = monotonic_ns();
            take_datagrams(static_cast<uint32_t>(count), nullptr);
            publish();
        }
    }
    busy_polls_ = frames_per_round - (fragments_queued_ != 0 ? 1 : 2);
}

void EnginePort::begin_fragments(uint32_t peer, uint8_t remote_ep)
{
    if (const DatagramTarget *to = datagrams_.fragment_target(peer, remote_ep))
        fragments_.begin(*to);
}

void EnginePort::repeat_fragments(uint32_t peer, uint8_t remote_ep)
{
    datagrams_.repeated_fragments(peer, remote_ep, monotonic_ns());
}

void EnginePort::send_fragments()
{
    const int why = fragments_.empty() ? 0 : fragments_.send(datagrams_.fd());
    const auto sent = static_cast<uint32_t>(fragments_.fragments().size());
    if (why == 0) {
        emx_count(&counters_, EMX_CNT_TX_DATAGRAM, sent);
        emx_count(&counters_, fragments_.counter(), sent);
    } else {
        if (is_lasting(why))
            datagrams_.lost_target(fragments_.target());
        for (const iovec &frame : fragments_.fragments())
            transmit_kept(frame.iov_base, frame.iov_len, fragments_.counter());
    }
    fragments_.end();
}

} // namespace emx

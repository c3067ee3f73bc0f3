// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages of an endpoint by TCP.
#include "driver/engine/tcp_port.hpp"

#include "driver/base/clock.hpp"
#include "driver/drops.hpp"

#include <algorithm>
#include <cerrno>

namespace emx {
namespace {

// Packets under way to us, of all pulls: 1 MiB.
constexpr uint16_t tcp_window = 32;
// Packets of one connection taken between two looks for frames.
constexpr int packets_at_once = 8;

} // namespace

void TcpPort::allow_tcp() { endpoint_.x_tcp = tcp_.wanted() ? tcp_window : 0; }

bool TcpPort::comes_by_tcp(const emx_msg &rndv)
{
    if (!(emx_offer_features(rndv.data) & EMX_X_TCP) || !tcp_.wanted())
        return false;
    std::optional<fw_address> tell;
    const bool up = tcp_.pull_from(rndv.peer, rndv.remote_ep, rndv.session, now_, tell) != nullptr;
    if (tell) {
        fw_fx fx;
        fw_address_tell(&endpoint_, &*tell, &fx);
        transmit_effect(fx);
    }
    if (leave_lost_ways())
        take_effects(nullptr);
    return up;
}

void TcpPort::hear_connection(const fw_address &address)
{
    tcp_.heard(address, now_);
    publish();
}

void TcpPort::fall_back_from_tcp(const fw_address &address)
{
    tcp_.fell_back(address.peer, address.remote_ep, now_);
    leave_lost_ways();
    publish();
}

void TcpPort::publish_tcp()
{
    tcp_active_ = endpoint_.pace.by[FW_BY_TCP] != 0 || tcp_.sending();
    poll_tcp_.store(tcp_active_ || tcp_.connecting() ? tcp_.fd() : -1, std::memory_order_relaxed);
}

/// Executes what else the last packet caused.
void TcpPort::take_effects(const std::byte *payload)
{
    while (more_) {
        fw_fx fx;
        more_ = fw_next(&endpoint_, now_, &fx);
        take_effect(fx, payload);
    }
}

/// Pulls by connections that went begin anew: effects wait in the core, if true.
bool TcpPort::leave_lost_ways()
{
    const std::vector<fw_address> lost = tcp_.take_lost();
    for (const fw_address &way : lost)
        fw_pull_leave_tcp(&endpoint_, way.peer, way.remote_ep, now_);
    if (!lost.empty())
        more_ = 1;
    return !lost.empty();
}

void TcpPort::poll_tcp()
{
    std::array<TcpInward *, TcpWays::looks_max> ways;
    const std::size_t count = tcp_.look(ways);
    for (std::size_t i = 0; i < count; i++)
        take_packets(*ways[i]);
    if (tcp_.sending() || tcp_.connecting())
        tcp_.send(windows(), [this](const fw_replies &run) {
            fw_fx fx;
            refuse(run, fx);
            transmit_effect(fx);
        });
    if (leave_lost_ways())
        take_effects(nullptr);
    publish();
}

/// The memory that the rest of a payload goes to, null when that is of no pull any more.
const PieceList *TcpPort::place_of(TcpReceiver &packets)
{
    if (packets.slot() < 0)
        return nullptr;
    const PieceList *memory = running_memory(packets.slot(), packets.handle());
    if (!memory)
        packets.lose_place();
    return memory;
}

/// That of a pull, null when it has ended.
const PieceList *TcpPort::running_memory(int slot, uint32_t handle) const
{
    if (slot < 0 || endpoint_.pull[slot].state != FW_PULL_RUNNING || endpoint_.pull[slot].handle != handle)
        return nullptr;
    return &pulls_[static_cast<std::size_t>(slot)].memory;
}

void TcpPort::take_packets(TcpInward &way)
{
    TcpReceiver &packets = way.packets;
    std::array<fw_place, TcpReceiver::ahead_max + 1> places;
    const auto goes_on = [&](int n) {
        // No event of the socket tells of what has been read already.
        return n < packets_at_once || packets.has_more() || packets.has_packet();
    };
    for (int n = 0; goes_on(n) && way.connection; n++) {
        const PieceList *target = place_of(packets);
        const uint32_t known =
            packets.looks_ahead() ? fw_expect(&endpoint_, packets.slot(), places.size(), places.data()) : 0;
        switch (packets.receive(way.connection.get(), target, {places.data(), known})) {
        case TcpReceiver::State::nothing: return;
        case TcpReceiver::State::ended: return end_way(way, errno == EFAULT && packets.slot() >= 0);
        case TcpReceiver::State::header: place_packet(way); break;
        case TcpReceiver::State::packet:
            take_packet(way);
            packets.next_packet();
            if (packets.has_header())
                place_packet(way);
            break;
        }
    }
}

/// unwritable: the memory of the pull whose payload was coming is gone.
void TcpPort::end_way(TcpInward &way, bool unwritable)
{
    now_ = monotonic_ns();
    if (unwritable) { // as of frames; and a part of the packet is nowhere
        fw_pull_fail(&endpoint_, way.packets.slot(), EMX_PULL_ABORTED);
        more_ = 1;
    }
    tcp_.end(way, now_);
    leave_lost_ways();
    if (more_)
        take_effects(nullptr);
}

/// Makes the header that of a frame, and lets the core check it; false when it is no X DATA for us.
bool TcpPort::check_packet(TcpInward &way)
{
    std::byte *header = way.packets.header();
    fw_datagram_unseal(header, peer_nic_id(way.peer), board_.mac, static_cast<uint16_t>(way.peer));
    // A packet of few bytes is shorter than any frame; nothing behind its header is read.
    const uint32_t bytes = std::max<uint32_t>(FW_X_DATA_HEADER + way.packets.stated(), EMX_FRAME_MIN);
    return fw_check_for(&board_, board_.mac, header, bytes, &pkt_) == 0 && pkt_.msg.type == EMX_X_DATA &&
           pkt_.msg.local_ep == endpoint_.number;
}

bool TcpPort::is_pull_from(int slot, const TcpInward &way) const
{
    const fw_pull &pull = endpoint_.pull[slot];
    return pull.peer == way.peer && pull.remote_ep == way.remote_ep;
}

/// A header has come: chooses where the payload goes.
void TcpPort::place_packet(TcpInward &way)
{
    if (!check_packet(way)) {
        count_drop(counters_, EMX_CNT_DROP_CONNECTION);
        return end_way(way, false);
    }
    fw_place place{};
    int slot = fw_pull_place(&endpoint_, &pkt_, &place);
    if (slot >= 0 && !is_pull_from(slot, way))
        slot = -1; // nobody writes to the memory of another's pull, be it before the packet is judged
    const PieceList *target = slot < 0 ? nullptr : &pulls_[static_cast<std::size_t>(slot)].memory;
    const PieceList *foreseen_for =
        running_memory(way.packets.foreseen_slot(), way.packets.foreseen_handle());
    if (!way.packets.expect_payload(slot, pkt_.handle, place.position, target, foreseen_for))
        end_way(way, false);
}

void TcpPort::take_packet(TcpInward &way)
{
    now_ = monotonic_ns();
    emx_count(&counters_, EMX_CNT_RX_TCP, 1);
    const PieceList *target = place_of(way.packets);
    if (!check_packet(way)) [[unlikely]]
        return; // it was right before: its sender's board is not known any more
    const auto *header = reinterpret_cast<const uint8_t *>(way.packets.header());
    fw_place ignored;
    // A pull that ended meanwhile has lost a part of the payload.
    const bool awaited = fw_pull_place(&endpoint_, &pkt_, &ignored) >= 0;
    if (awaited && pkt_.x.checksum != 0 && !fw_checksum_fits(&pkt_, header, way.packets.payload_sum(target)))
        return count_drop(counters_, EMX_CNT_DROP_CHECKSUM);
    fw_fx fx;
    if (!give(pkt_, fx, more_))
        return;
    take_effect(fx, way.packets.payload());
    take_effects(way.packets.payload());
}

} // namespace emx

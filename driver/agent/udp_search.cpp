// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Questions of a UDP board's agent, and what it believes of the answers.
#include "driver/agent/udp_board.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/ip_interface.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {

void UdpAgentBoard::send_to(const UdpAddress &to, const void *frame, uint32_t bytes, int counter)
{
    std::array<uint8_t, EMX_HEADER_MAX + EMX_NAME_MAX + EMX_FRAME_MIN> padded{};
    std::memcpy(padded.data(), frame, bytes);
    SocketAddress address;
    const socklen_t length = to_socket(to, address);
    const ssize_t sent = ::sendto(agent_.get(), padded.data(), std::max<uint32_t>(bytes, EMX_FRAME_MIN),
                                  MSG_DONTWAIT, &address.any, length);
    emx_count(&counters_, sent < 0 ? EMX_CNT_TX_FAILED : counter, 1);
}

/// To where the peer is; a beacon goes to all of the network.
void UdpAgentBoard::transmit(int /*socket*/, const void *frame, uint32_t bytes, int counter)
{
    const auto *header = static_cast<const uint8_t *>(frame);
    const uint64_t mac = emx_get_mac(header);
    if (mac == EMX_MAC_BROADCAST) {
        if (const auto all = everybody_at(plan_.spec.interface, plan_.own.is_v4()))
            send_to(all->with_port(plan_.own.port), frame, bytes, counter);
        return;
    }
    const int peer = fw_peer_find(peers_, mac, 0);
    const UdpAddress known = peer < 0 ? UdpAddress{} : address_of(static_cast<uint32_t>(peer));
    if (known.port == 0)
        return emx_count(&counters_, EMX_CNT_TX_FAILED, 1);
    send_to(known.with_port(udp_port_for(header, known.port)), frame, bytes, counter);
}

void UdpAgentBoard::ask(const UdpAddress &to, uint64_t mac, uint32_t token)
{
    fw_pkt pkt{};
    pkt.msg.type = EMX_HOST_QUERY;
    pkt.src_mac = board_.mac;
    pkt.dst_mac = mac;
    pkt.tag = EMX_TAG_NONE;
    pkt.advert = EMX_TAG_NONE;
    pkt.magic = token;
    uint8_t frame[EMX_HEADER_MAX];
    send_to(to, frame, fw_encode(&board_.sizes, &pkt, frame), EMX_CNT_TX_HOST_QUERY);
}

void UdpAgentBoard::tell_sought()
{
    std::atomic_ref(record().sought).store(search_.sought(), std::memory_order_relaxed);
}

void UdpAgentBoard::list_host(const UdpAddress &where, const std::string &name)
{
    search_.list(where, name, monotonic_ns());
    tell_sought();
}

void UdpAgentBoard::forget_hosts()
{
    search_.clear_list();
    tell_sought();
}

void UdpAgentBoard::heard_at(uint64_t mac, const UdpAddress &where)
{
    if (mac != board_.mac && where.port != 0 && where.is_v4() == plan_.own.is_v4() && admits(mac, where))
        search_.suspect(mac, where, monotonic_ns());
}

/// A question to each peer shows it where we are now: it asks back, and believes that.
void UdpAgentBoard::follow_address()
{
    const UdpAddress now = first_address(plan_.spec.interface).value_or(UdpAddress{});
    if (now == address_ || now == UdpAddress{})
        return;
    address_ = now;
    log_.line("interface " + plan_.spec.interface + " has the address " + describe_host(now));
    for (uint32_t peer = file_.board_count(); fw_peer(peers_, peer); peer++)
        query(peer);
    announce();
}

uint32_t UdpAgentBoard::look_for_more()
{
    constexpr uint32_t host_begins_ms = 3000, beacon_ms = 1000;
    const uint64_t now = monotonic_ns();
    search_.hurry(now);
    if (peers_->open)
        beacons_.due = std::min<uint64_t>(beacons_.due, now);
    if (search_.sought() > 0)
        return host_begins_ms;
    return peers_->open || search_.due() != ~uint64_t{0} ? beacon_ms : 0;
}

void UdpAgentBoard::take_answer(const fw_pkt &pkt, const UdpAddress &source)
{
    const Finding finding = search_.answered(pkt.magic, pkt.src_mac, source);
    if (finding.kind == Finding::Kind::nothing)
        return emx_count(&counters_, EMX_CNT_DROP_ECHO, 1);
    emx_count(&counters_, EMX_CNT_RX_HOST_REPLY, 1);
    take(finding);
    if (const int peer = fw_peer_find(peers_, pkt.src_mac, 0); peer >= 0 && finding.name.empty())
        fw_peer_learn(peers_, static_cast<uint32_t>(peer), pkt.name);
}

void UdpAgentBoard::move_to(uint32_t peer, const UdpAddress &where)
{
    write_address(file_.address(number_, peer), where);
}

void UdpAgentBoard::take(const Finding &finding)
{
    char mac[EMX_NAME_MAX];
    std::snprintf(mac, sizeof(mac), "board %012llx", static_cast<unsigned long long>(finding.mac));
    tell_sought();
    int index = fw_peer_find(peers_, finding.mac, 0);
    if (index < 0 && (finding.listed || peers_->open)) {
        index = place(finding.mac);
        if (index >= 0) // of one who had the place before
            move_to(static_cast<uint32_t>(index), UdpAddress{});
    }
    if (index < 0)
        return emx_count(&counters_, EMX_CNT_DROP_TABLE_FULL, 1);
    const auto peer = static_cast<uint32_t>(index);
    const UdpAddress known = address_of(peer);
    if (finding.listed)
        fw_peer_list(peers_, peer);
    if (finding.listed && !finding.name.empty())
        fw_peer_name(peers_, peer, finding.name.c_str());
    if (finding.kind == Finding::Kind::stayed)
        return log_.line(std::string(mac) + " is at " + describe(known) + ", and not at " +
                         describe(finding.where) + ", where somebody says so");
    if (known == finding.where)
        return;
    if (known.port != 0 && finding.kind == Finding::Kind::found)
        return search_.doubt(finding.mac, known, finding.where, monotonic_ns());
    log_.line(std::string(mac) + " is at " + describe(finding.where));
    move_to(peer, finding.where);
}

void UdpAgentBoard::place_own(uint32_t peer, const AgentBoard &other)
{
    const UdpAddress &theirs = other.plan().own, &ours = plan_.own;
    const UdpAddress local = theirs.is_host() ? theirs
                             : ours.is_host() ? ours
                                              : loopback_address(ours.is_v4(), 1);
    move_to(peer, local.with_port(theirs.port));
}

} // namespace emx

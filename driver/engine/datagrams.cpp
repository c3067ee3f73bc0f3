// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The UDP socket of an endpoint, and the ways to others.
#include "driver/engine/datagrams.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/ipv4_socket.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/udp_socket.hpp"
#include "driver/drops.hpp"
#include "driver/engine/udp_segments.hpp"
#include "driver/engine/ways.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace emx {
namespace {

// Pulls without a datagram, which a request allowed: the other end has no way to us any more.
constexpr uint32_t silent_max = 8;
// A probe is a full datagram for a short frame, which anybody may send in another's name.
constexpr uint32_t probes_per_second = 1000;
// Fragments leave as frames for a while when more than one of so many messages is repeated.
constexpr uint32_t fault = 16;
constexpr uint32_t faults_max = 3 * fault;

uint16_t datagram_of(uint32_t frame)
{
    const uint32_t less = ethernet_header + EMX_IP_UDP_LEN;
    if (frame < less + EMX_X_DATAGRAM_MIN)
        return 0;
    return static_cast<uint16_t>(std::min<uint32_t>(frame - less, EMX_X_DATAGRAM_MAX));
}

} // namespace

Datagrams::Datagrams(std::string interface, uint8_t endpoint, uint32_t frame, uint32_t buffer,
                     emx_counters &counters, Grow grow)
    : interface_(std::move(interface)), endpoint_(endpoint), bytes_(datagram_of(frame)), buffer_(buffer),
      counters_(counters), grow_(std::move(grow))
{
}

/// Grows the buffers of a socket, and says how many datagrams may then be under way to it.
uint16_t Datagrams::window_for(int socket) const
{
    constexpr uint32_t ample = 1u << 24;
    const auto window = [this](uint32_t buffer) {
        return datagram_window(bytes_, ethernet_header + EMX_IP_UDP_LEN, buffer);
    };
    const uint16_t own = window(grow_buffers(socket, buffer_));
    return own < window(ample) ? std::max(own, window(grow_(socket))) : own;
}

bool Datagrams::open(const IpNetwork &network)
{
    Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto port = static_cast<uint16_t>(EMX_X_PORT + endpoint_);
    const sockaddr_in own = ipv4_socket(network.address, port);
    // Datagrams then leave by this interface, whatever other routes there are; older kernels refuse it.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, interface_.c_str(),
                 static_cast<socklen_t>(interface_.size()));
    if (!fd || !set_socket_option(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, int{IP_PMTUDISC_DO}) ||
        !set_socket_option(fd.get(), IPPROTO_UDP, UDP_GRO, int{1}) || !refuse_empty_datagrams(fd.get()))
        return false;
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&own), sizeof(own)) != 0) {
        if (errno == EADDRINUSE && !taken_)
            emx_count(&counters_, EMX_CNT_DATAGRAM_PORT, 1);
        taken_ = errno == EADDRINUSE;
        return false;
    }
    taken_ = false;
    window_ = window_for(fd.get());
    socket_ = std::move(fd);
    network_ = network;
    return true;
}

void Datagrams::close()
{
    socket_.reset();
    window_ = 0;
    by_secret_.clear();
    ways_.clear();
    last_ = nullptr;
}

bool Datagrams::refresh()
{
    if (!wanted())
        return false;
    std::optional<IpNetwork> now;
    if (socket_) {
        now = ip_network(socket_.get(), interface_);
        if (now && now->address == network_.address && now->mask == network_.mask)
            return true;
        close();
    } else {
        const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        now = ip_network(any.get(), interface_);
    }
    return now && open(*now);
}

DatagramWay *Datagrams::way_to(uint32_t peer, uint8_t remote_ep)
{
    const auto found = ways_.find(way_key(peer, remote_ep));
    return found == ways_.end() ? nullptr : &found->second;
}

/// The way to a life of an endpoint; null where there are too many.
DatagramWay *Datagrams::begin(uint32_t peer, uint8_t remote_ep, uint32_t session)
{
    DatagramWay *way = way_to(peer, remote_ep);
    if (way && way->session == session)
        return way;
    if (!way && ways_.size() >= ways_max)
        return nullptr;
    if (way)
        by_secret_.erase(way->secret);
    else
        way = &ways_[way_key(peer, remote_ep)];
    *way = {};
    way->peer = peer;
    way->remote_ep = remote_ep;
    way->session = session;
    way->secret = new_secret(by_secret_);
    by_secret_[way->secret] = way;
    return way;
}

fw_address Datagrams::own_address(const DatagramWay &way, bool is_answer) const
{
    fw_address own = address_for(way, network_, endpoint_, bytes_);
    own.is_answer = is_answer;
    return own;
}

uint16_t Datagrams::pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                              std::optional<fw_address> &tell)
{
    DatagramWay *way = wanted() ? way_to(peer, remote_ep) : nullptr;
    const bool known = way && way->session == session;
    if (known && way->up && ++way->silent <= silent_max)
        return std::min(bytes_, way->target.bytes);
    if ((known && now < way->tell_ns) || now < refresh_ns_)
        return 0;
    if (!refresh()) {
        refresh_ns_ = now + way_pause_fallen_ns;
        return 0;
    }
    way = begin(peer, remote_ep, session); // known no longer, perhaps
    if (!way)
        return 0;
    way->up = false;
    way->probed_by = {};
    way->pause_ns = std::clamp(2 * way->pause_ns, way_pause_first_ns, way_pause_max_ns);
    way->tell_ns = now + way->pause_ns;
    listen_ns_ = now + way_pause_max_ns;
    tell = own_address(*way, false);
    return 0;
}

bool Datagrams::fragments_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                               std::optional<fw_address> &tell)
{
    DatagramWay *way = wanted() ? way_to(peer, remote_ep) : nullptr;
    const bool known = way && way->session == session && (way->up || way->asked_fragments);
    if (!known || ++way->silent > silent_max) {
        pull_from(peer, remote_ep, session, now, tell);
        way = way_to(peer, remote_ep); // made anew, perhaps
        if (!way)
            return false;
        way->had_fragments = false;
        way->ask_ns = 0;
        return way->session == session && way->asked_fragments;
    }
    if (way->up && !way->had_fragments && now >= way->ask_ns) {
        way->ask_ns = now + (way->asked_fragments ? way_pause_max_ns : way_pause_first_ns);
        way->asked_fragments = true;
        tell = own_address(*way, false);
        tell->takes_fragments = true;
    }
    return true;
}

const DatagramTarget *Datagrams::fragment_target(uint32_t peer, uint8_t remote_ep)
{
    DatagramWay *way = socket_ ? way_to(peer, remote_ep) : nullptr;
    if (!way || !way->takes_fragments || way->refused || way->target.address == 0)
        return nullptr;
    if (way->rest_ns != 0) {
        if (monotonic_ns() < way->rest_ns)
            return nullptr;
        way->rest_ns = 0;
    }
    if (way->faults > 0)
        way->faults--;
    return &way->target;
}

void Datagrams::repeated_fragments(uint32_t peer, uint8_t remote_ep, uint64_t now)
{
    DatagramWay *way = way_to(peer, remote_ep);
    if (!way || !way->takes_fragments || way->rest_ns != 0)
        return;
    way->faults += fault;
    if (way->faults <= faults_max)
        return;
    way->faults = 0;
    way->rest_pause_ns = std::clamp(2 * way->rest_pause_ns, way_pause_fallen_ns, way_pause_max_ns);
    way->rest_ns = now + way->rest_pause_ns;
    emx_count(&counters_, EMX_CNT_DATAGRAM_REST, 1);
}

/// The other end has another address.
void Datagrams::lose(DatagramWay &way, uint64_t now)
{
    way.up = false;
    way.tell_ns = now;
    way.takes_fragments = false;
    way.rest_ns = way.rest_pause_ns = 0;
}

std::optional<fw_address> Datagrams::heard(const fw_address &other, uint64_t now)
{
    if (!refresh() || !network_.has_neighbour(other.address))
        return std::nullopt;
    if (other.is_answer && !way_to(other.peer, other.remote_ep))
        return std::nullopt;
    DatagramWay *way = begin(other.peer, other.remote_ep, other.session);
    if (!way)
        return std::nullopt;
    const DatagramTarget target{other.secret, other.address, other.port, other.bytes};
    if (way->target.address != 0 && way->target != target)
        lose(*way, now);
    way->target = target;
    way->refused = false;
    if (other.takes_fragments) {
        way->takes_fragments = true;
        return std::nullopt;
    }
    if (other.is_answer) {
        if (way->probed_by.port != 0)
            probed(*way, way->probed_by, std::min(bytes_, other.bytes), now);
        return std::nullopt;
    }
    if (!fw_bucket_take(&probes_, now, probes_per_second)) {
        count_drop(counters_, EMX_CNT_DROP_ANSWER);
        return std::nullopt;
    }
    return own_address(*way, true);
}

void Datagrams::probed(DatagramWay &way, DatagramSource source, uint32_t bytes, uint64_t now)
{
    if (way.target.address == 0) { // the frame with it comes by another socket
        way.probed_by = source;
        return;
    }
    if (source != DatagramSource{way.target.address, way.target.port}) {
        count_drop(counters_, EMX_CNT_DROP_DATAGRAM_SOURCE);
        return;
    }
    if (way.up || way.pause_ns == 0 || bytes < std::min(bytes_, way.target.bytes))
        return;
    way.up = true;
    way.up_ns = now;
    way.silent = 0;
    emx_count(&counters_, EMX_CNT_DATAGRAM_ROUTE, 1);
}

void Datagrams::probe(uint32_t peer, uint8_t remote_ep, const void *frame, uint32_t bytes)
{
    const DatagramTarget *to = target(peer, remote_ep);
    if (!to)
        return;
    std::vector<std::byte> datagram(std::min(bytes_, to->bytes));
    if (bytes > datagram.size())
        return;
    std::memcpy(datagram.data(), frame, bytes);
    fw_datagram_seal(datagram.data(), to->secret);
    iovec piece{datagram.data(), datagram.size()};
    if (send_segments(socket_.get(), *to, {&piece, 1}, 0))
        emx_count(&counters_, EMX_CNT_TX_DATAGRAM, 1);
    else if (is_lasting(errno))
        lost_target(*to);
}

void Datagrams::fell_back(uint32_t peer, uint8_t remote_ep, uint64_t now)
{
    DatagramWay *way = way_to(peer, remote_ep);
    if (!way || !way->up)
        return;
    way->up = false;
    way->probed_by = {};
    way->pause_ns = pause_after_failure(way->pause_ns, now - way->up_ns);
    way->tell_ns = now + way->pause_ns;
}

DatagramWay *Datagrams::way_of(uint64_t secret)
{
    if (last_ && last_->secret == secret)
        return last_;
    const auto found = by_secret_.find(secret);
    return found == by_secret_.end() ? nullptr : last_ = found->second;
}

const DatagramTarget *Datagrams::target(uint32_t peer, uint8_t remote_ep)
{
    const DatagramWay *way = socket_ ? way_to(peer, remote_ep) : nullptr;
    return way && way->target.address != 0 && !way->refused ? &way->target : nullptr;
}

void Datagrams::lost_target(const DatagramTarget &target)
{
    for (auto &[key, way] : ways_) {
        if (way.target.secret == target.secret)
            way.refused = true;
    }
}

} // namespace emx

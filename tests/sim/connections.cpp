// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Connections by TCP between simulated endpoints. See connections.hpp.
#include "connections.hpp"

#include "driver/engine/ways.hpp"
#include "port.hpp"

#include <algorithm>

namespace emx::sim {

namespace {

constexpr uint64_t repeat_after = 10 * ms; // what TCP lost it sends again, and holds up what is behind it
constexpr uint64_t user_timeout = 5 * sec;

} // namespace

// ---- the network

/// Draws the time by which repeats delay something: none where it is not lost.
uint64_t Network::repeats()
{
    uint64_t late = 0;
    for (uint64_t wait = repeat_after; rng_.chance(faults.loss); wait *= 2)
        late += wait;
    return late;
}

void Network::connect(const std::shared_ptr<Connection> &connection, const fw_address &to)
{
    if (faults.no_tcp)
        return;
    world_.after(3 * faults.latency + repeats(), [this, connection, to] { // to there, back, and the greeting
        if (!connection->open || faults.no_tcp)
            return;
        for (Station *s : stations_) {
            SimPort *port = s->listener(to.address, to.port);
            if (port && port->connections().admit(to.secret, connection))
                return;
        }
        give_up(connection);
    });
}

void Network::write(Board &from, const std::shared_ptr<Connection> &connection, Frame packet)
{
    connection->silent = connection->silent || faults.no_tcp;
    SimPort *to = connection->to;
    if (connection->silent || !to || !connection->open)
        return;
    tcp_packets++;
    if (rng_.chance(faults.tcp_end))
        return give_up(connection);
    const uint32_t host = to->host_number();
    uint64_t at = (links.queue != 0 ? leave(from, packet) : world_.now() + packet.size()) + faults.latency +
                  rng_.below(faults.jitter + 1) + repeats();
    if (is_cut(from.host_number(), host)) {
        const uint64_t over = cuts_[std::minmax(from.host_number(), host)];
        if (over > world_.now() + user_timeout)
            return give_up(connection);
        at = std::max(at, over + repeat_after);
    }
    connection->latest = at = std::max(at, connection->latest + 1);
    world_.at(at, [connection, p = std::move(packet)]() mutable {
        if (connection->open && !connection->silent && connection->to)
            connection->to->queue_packet(connection, std::move(p));
    });
}

void Network::give_up(const std::shared_ptr<Connection> &connection)
{
    connection->open = false;
    world_.after(faults.latency, [connection] {
        for (SimPort *end : {connection->to, connection->from})
            if (end)
                end->connection_ended(connection);
    });
}

// ---- data to us

bool Connections::pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session,
                            std::optional<fw_address> &tell)
{
    const uint64_t now = port_.now();
    Inward &way = inward_[{peer, remote_ep}];
    if (way.session != session) {
        lose(way);
        way = {peer, remote_ep, session, port_.random() | 1, 0, 0, nullptr};
    }
    if (way.connection)
        return true;
    if (now < way.tell_at)
        return false;
    way.pause = std::clamp(2 * way.pause, way_pause_first_ns, way_pause_max_ns);
    way.tell_at = now + way.pause;
    tell =
        address_for(way, {port_.ip_address(), ~0u}, static_cast<uint8_t>(port_.number()), EMX_X_DATAGRAM_MAX);
    tell->tcp = true;
    return false;
}

bool Connections::admit(uint64_t secret, const std::shared_ptr<Connection> &connection)
{
    for (auto &[key, way] : inward_) {
        if (way.secret != secret)
            continue;
        lose(way);
        way.connection = connection;
        connection->to = &port_;
        port_.counters().v[EMX_CNT_TCP_ROUTE]++;
        port_.leave_lost_ways();
        return true;
    }
    port_.counters().v[EMX_CNT_DROP_CONNECTION]++;
    return false;
}

void Connections::lose(Inward &way)
{
    if (!way.connection)
        return;
    hang_up(way.connection);
    fw_address lost{};
    lost.peer = way.peer;
    lost.remote_ep = way.remote_ep;
    lost_.push_back(lost);
}

/// Closes our end; the other hears of it.
void Connections::hang_up(std::shared_ptr<Connection> &connection)
{
    (connection->to == &port_ ? connection->to : connection->from) = nullptr;
    port_.network().give_up(connection);
    connection.reset();
}

void Connections::fell_back(uint32_t peer, uint8_t remote_ep)
{
    const auto found = inward_.find({peer, remote_ep});
    if (found != inward_.end() && found->second.connection)
        fall_back(found->second);
}

void Connections::fall_back(Inward &way)
{
    lose(way);
    way.pause = std::clamp(2 * way.pause, way_pause_fallen_ns, way_pause_max_ns);
    way.tell_at = port_.now() + way.pause;
}

void Connections::ended(const std::shared_ptr<Connection> &connection)
{
    for (auto &[key, way] : inward_)
        if (way.connection == connection)
            return fall_back(way);
    connection->from = nullptr;
    std::erase_if(outward_, [&](const auto &way) { return way.second == connection; });
}

void Connections::close()
{
    for (auto &[key, way] : inward_)
        lose(way);
    for (auto &[key, connection] : outward_)
        hang_up(connection);
    inward_.clear();
    outward_.clear();
    lost_.clear();
}

// ---- data from us

void Connections::heard(const fw_address &other)
{
    std::shared_ptr<Connection> &connection = outward_[{other.peer, other.remote_ep}];
    if (connection)
        hang_up(connection);
    connection = std::make_shared<Connection>();
    connection->from = &port_;
    port_.network().connect(connection, other);
}

bool Connections::send(uint32_t peer, uint8_t remote_ep, Frame packet)
{
    const auto found = outward_.find({peer, remote_ep});
    if (found == outward_.end())
        return false;
    packet.resize(std::max<std::size_t>(packet.size(), EMX_FRAME_MIN)); // the core takes no shorter ones
    port_.write(found->second, std::move(packet));
    return true;
}

// ---- the endpoint

/// By which carrier a message is pulled, and the longest packet by it.
SimPort::Carrier SimPort::choose_carrier(const emx_msg &rndv)
{
    if (has_tcp() && emx_offer_features(rndv.data) & EMX_X_TCP && !peer_is_local(rndv.peer)) {
        std::optional<fw_address> tell;
        const bool up = connections_.pull_from(rndv.peer, rndv.remote_ep, rndv.session, tell);
        leave_lost_ways();
        if (tell) {
            fw_fx fx{};
            fw_address_tell(ep_.get(), &*tell, &fx);
            board_->execute(*this, nullptr, fx);
        }
        if (up)
            return {FW_BY_TCP, device_.host().options().tcp};
    }
    const uint16_t datagram = choose_datagrams(rndv);
    return {static_cast<uint8_t>(datagram != 0 ? FW_BY_DATAGRAMS : FW_BY_FRAMES), datagram};
}

void SimPort::leave_lost_ways()
{
    const std::vector<fw_address> lost = connections_.take_lost();
    for (const fw_address &way : lost)
        fw_pull_leave_tcp(ep_.get(), way.peer, way.remote_ep, now());
    if (!lost.empty() && board_)
        board_->drain(*this);
}

void SimPort::connection_ended(const std::shared_ptr<Connection> &connection)
{
    connections_.ended(connection);
    leave_lost_ways();
}

void SimPort::queue_packet(std::shared_ptr<Connection> connection, Frame packet)
{
    if (!board_->host().options().polled)
        return serve_packet(packet);
    packets_.emplace_back(std::move(connection), std::move(packet));
    signal();
}

void SimPort::serve_packet(const Frame &packet)
{
    counters_.v[EMX_CNT_RX_TCP]++;
    board_->serve(packet);
}

void SimPort::write(const std::shared_ptr<Connection> &connection, Frame packet)
{
    counters_.v[EMX_CNT_TX_TCP]++;
    network().write(*board_, connection, std::move(packet));
}

uint64_t SimPort::now() const { return device_.host().world().now(); }
uint64_t SimPort::random() { return device_.random(); }
Network &SimPort::network() const { return device_.host().network(); }
uint32_t SimPort::host_number() const { return device_.host().number(); }
uint32_t SimPort::ip_address() const { return board_->ip_address(); }

} // namespace emx::sim

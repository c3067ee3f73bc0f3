// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The listening socket of an endpoint, and the connections to others.
#include "driver/engine/tcp_ways.hpp"

#include "driver/base/ipv4_socket.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/config/udp_spec.hpp"
#include "driver/drops.hpp"
#include "driver/engine/ways.hpp"

#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

// A connection is a good deal of work for a short frame, which anybody may send in another's name.
constexpr uint32_t connects_per_second = 100;
constexpr unsigned user_timeout_ms = 5000;
// Options of newer kernels than the headers may know; older ones refuse them, and repeat later.
constexpr int tcp_rto_min_us = 45, tcp_delack_max_us = 46, ip_local_port_range = 51;
constexpr unsigned delayed_ack_us = 1000;
// Ports of ours to connect from: none at which an endpoint of this host listens, of a UDP board's first port
// either, which follow.
constexpr uint32_t ports_behind_ours = 60999u << 16 | udp_port_of(udp_port_default, EMX_ENDPOINTS_MAX);
// One of so many looks asks the system also where a guess would do, and so finds connections that ended.
constexpr uint32_t looks_guessed = 64;
constexpr uint64_t outward_tag = 1; // in an event's pointer

bool is_greeted(const TcpOutward &way) { return way.greeted == sizeof(emx_w_connection); }

bool bind_to(int socket, const UdpAddress &own)
{
    SocketAddress address{};
    const socklen_t length = to_socket(own, address);
    return ::bind(socket, &address.any, length) == 0;
}

/// Returns how many descriptors connections of one direction may have.
std::size_t connections_allowed(std::size_t most)
{
    constexpr std::size_t share = 8, fewest = 8;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return most;
    return std::clamp<std::size_t>(limit.rlim_cur / share, fewest, most);
}

/// Makes the system repeat segments before its usual 200 ms; false: it does not.
bool repeat_soon(int socket)
{
    // Less than two ticks of its clock is refused.
    constexpr unsigned ticks_of_250_hz = 10000, ticks_of_100_hz = 20000;
    return set_socket_option(socket, IPPROTO_TCP, tcp_rto_min_us, ticks_of_250_hz) ||
           set_socket_option(socket, IPPROTO_TCP, tcp_rto_min_us, ticks_of_100_hz);
}

} // namespace

TcpWays::TcpWays(std::unique_ptr<TcpNetwork> network, emx_counters &counters)
    : network_(std::move(network)), counters_(counters), connections_max_(connections_allowed(ways_max))
{
}

TcpWays::~TcpWays()
{
    close();
    for (const auto &[key, way] : outward_)
        disconnect(*way);
}

/// Closes a connection for its other end and for our epoll, also where a child that was forked has it, too.
void TcpWays::end_connection(Fd &connection)
{
    if (!connection)
        return;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.get(), nullptr);
    ::shutdown(connection.get(), SHUT_RDWR);
    connection.reset();
}

// ---- data to us

bool TcpWays::listen_at(const UdpAddress &here)
{
    Fd fd = network_->new_socket();
    // A port of connections that have ended is free for the next endpoint of that number.
    if (!fd || !set_socket_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, int{1}))
        return false;
    if (!bind_to(fd.get(), here) || ::listen(fd.get(), static_cast<int>(strangers_max)) != 0) {
        if (errno == EADDRINUSE && !taken_)
            emx_count(&counters_, EMX_CNT_TCP_PORT, 1);
        taken_ = errno == EADDRINUSE;
        return false;
    }
    taken_ = false;
    if (!epoll_)
        epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_)
        return false;
    listening_ = std::move(fd);
    here_ = here;
    return true;
}

void TcpWays::close()
{
    while (!up_.empty())
        lose(*up_.back());
    if (listening_)
        ::shutdown(listening_.get(), SHUT_RDWR); // a forked child's descriptor would keep the port
    listening_.reset();
    strangers_.clear();
    by_secret_.clear();
    inward_.clear();
}

bool TcpWays::refresh()
{
    const auto now = network_->here(listening_.get());
    if (listening_) {
        if (now == here_)
            return true;
        close();
    }
    return now && listen_at(*now);
}

/// Forgets a way that is not up, and is to be told again by now, if there are too many. False: there is none.
bool TcpWays::make_room_inward(uint64_t now)
{
    if (inward_.size() < ways_max)
        return true;
    const auto idle = std::find_if(inward_.begin(), inward_.end(), [now](const auto &one) {
        return !one.second->connection && now >= one.second->tell_ns;
    });
    if (idle == inward_.end())
        return false;
    by_secret_.erase(idle->second->secret);
    inward_.erase(idle);
    return true;
}

/// The way from a life of an endpoint; null where there are too many.
TcpInward *TcpWays::begin(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now)
{
    std::unique_ptr<TcpInward> *slot = nullptr;
    if (const auto found = inward_.find(way_key(peer, remote_ep)); found != inward_.end()) {
        if (found->second->session == session)
            return found->second.get();
        slot = &found->second;
        lose(**slot);
        by_secret_.erase((*slot)->secret);
    } else {
        if (!make_room_inward(now))
            return nullptr;
        slot = &inward_[way_key(peer, remote_ep)];
    }
    *slot = std::make_unique<TcpInward>();
    TcpInward &way = **slot;
    way.peer = peer;
    way.remote_ep = remote_ep;
    way.session = session;
    way.secret = new_secret(by_secret_);
    by_secret_[way.secret] = &way;
    return &way;
}

fw_address TcpWays::own_address(const TcpInward &way) const
{
    fw_address own = told_of(way, EMX_X_DATAGRAM_MAX);
    network_->tell(own);
    own.tcp = true;
    return own;
}

TcpInward *TcpWays::pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                              std::optional<fw_address> &tell)
{
    if (!wanted())
        return nullptr;
    const auto find = [&]() -> TcpInward * {
        const auto found = inward_.find(way_key(peer, remote_ep));
        return found != inward_.end() && found->second->session == session ? found->second.get() : nullptr;
    };
    TcpInward *way = find();
    if (way && !way->connection)
        accept_strangers(now);
    if (way && way->connection)
        return way;
    if ((way && now < way->tell_ns) || now < refresh_ns_)
        return nullptr;
    if (!refresh()) {
        refresh_ns_ = now + way_pause_fallen_ns;
        return nullptr;
    }
    way = begin(peer, remote_ep, session, now); // known no longer, perhaps
    if (!way)
        return nullptr;
    way->pause_ns = std::clamp(2 * way->pause_ns, way_pause_first_ns, way_pause_max_ns);
    way->tell_ns = now + way->pause_ns;
    tell = own_address(*way);
    return nullptr;
}

void TcpWays::accept_strangers(uint64_t now)
{
    hear_greetings(now); // before others take their places
    for (std::size_t n = 0; listening_ && n < strangers_max; n++) {
        Fd connection(sys::accept4(listening_.get(), SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!connection)
            break;
        SocketAddress from{};
        socklen_t length = sizeof(from);
        ::getpeername(connection.get(), &from.any, &length);
        if (!network_->is_near(from_socket(from))) {
            count_drop(counters_, EMX_CNT_DROP_CONNECTION);
            continue;
        }
        if (strangers_.size() == strangers_max) { // of those that say nothing, the first goes
            count_drop(counters_, EMX_CNT_DROP_CONNECTION);
            strangers_.erase(strangers_.begin());
        }
        strangers_.push_back({std::move(connection)});
    }
    hear_greetings(now);
}

void TcpWays::hear_greetings(uint64_t now)
{
    std::erase_if(strangers_, [&](Stranger &stranger) { return hear_greeting(stranger, now); });
}

/// True if there is no more to hear of it.
bool TcpWays::hear_greeting(Stranger &stranger, uint64_t now)
{
    const ssize_t got = sys::recv(stranger.connection.get(), stranger.greeting.data() + stranger.have,
                                  stranger.greeting.size() - stranger.have, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return false;
    stranger.have += got > 0 ? static_cast<uint32_t>(got) : 0;
    if (got > 0 && stranger.have < stranger.greeting.size())
        return false;
    // A partner that hears our address once more withdraws its connection, perhaps before a word.
    const bool withdrawn = got <= 0 && stranger.have == 0;
    if (!withdrawn && (got <= 0 || !admit(stranger, now)))
        count_drop(counters_, EMX_CNT_DROP_CONNECTION);
    return true;
}

bool TcpWays::admit(Stranger &stranger, uint64_t now)
{
    emx_w_connection greeting;
    std::memcpy(&greeting, stranger.greeting.data(), sizeof(greeting));
    const auto found = by_secret_.find(emx_get64(greeting.secret));
    if (emx_get32(greeting.mark) != EMX_X_TCP_MARK || found == by_secret_.end())
        return false;
    TcpInward &way = *found->second;
    if (!way.connection && up_.size() >= connections_max_)
        return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &way;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stranger.connection.get(), &event) != 0)
        return false;
    lose(way);
    set_socket_option(stranger.connection.get(), IPPROTO_TCP, tcp_delack_max_us, delayed_ack_us);
    way.connection = std::move(stranger.connection);
    way.up_ns = now;
    up_.push_back(&way);
    emx_count(&counters_, EMX_CNT_TCP_ROUTE, 1);
    return true;
}

/// Closes its connection, if it has one; pulls by it are to begin anew.
void TcpWays::lose(TcpInward &way)
{
    if (!way.connection)
        return;
    end_connection(way.connection);
    way.packets = {};
    std::erase(up_, &way);
    fw_address lost{};
    lost.peer = way.peer;
    lost.remote_ep = way.remote_ep;
    lost_.push_back(lost);
}

void TcpWays::end(TcpInward &way, uint64_t now)
{
    lose(way);
    way.pause_ns = pause_after_failure(way.pause_ns, now - way.up_ns);
    way.tell_ns = now + way.pause_ns;
}

void TcpWays::fell_back(uint32_t peer, uint8_t remote_ep, uint64_t now)
{
    const auto found = inward_.find(way_key(peer, remote_ep));
    if (found != inward_.end() && found->second->connection)
        end(*found->second, now);
}

std::size_t TcpWays::look(std::array<TcpInward *, looks_max> &ways)
{
    if (up_.size() == 1 && waiting_ == 0 && ++looks_ % looks_guessed != 0) {
        ways[0] = up_.front();
        return 1;
    }
    std::array<epoll_event, looks_max> events;
    const int count = epoll_ ? sys::epoll_now(epoll_.get(), events.data(), looks_max) : 0;
    std::size_t inward = 0;
    for (int i = 0; i < count; i++) {
        const epoll_event &event = events[static_cast<std::size_t>(i)];
        if (!(event.data.u64 & outward_tag)) {
            ways[inward++] = static_cast<TcpInward *>(event.data.ptr);
            continue;
        }
        auto &way = *reinterpret_cast<TcpOutward *>(event.data.u64 & ~outward_tag);
        if (event.events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
            disconnect(way);
        else
            watch(way, false);
    }
    return inward;
}

// ---- data from us

/// Forgets a way without a connection, if there are too many. False: there is none, or the program has too
/// few descriptors for one more.
bool TcpWays::make_room_outward(uint64_t key)
{
    if (outward_up_ >= connections_max_)
        return false;
    if (outward_.contains(key) || outward_.size() < ways_max)
        return true;
    const auto idle = std::find_if(outward_.begin(), outward_.end(),
                                   [](const auto &one) { return !one.second->connection; });
    if (idle == outward_.end())
        return false;
    outward_.erase(idle);
    return true;
}

void TcpWays::heard(const fw_address &other, uint64_t now)
{
    const auto here = network_->here(listening_.get());
    const auto there = here ? network_->there(other) : std::nullopt;
    if (!there)
        return;
    if (!fw_bucket_take(&connects_, now, connects_per_second))
        return count_drop(counters_, EMX_CNT_DROP_ANSWER);
    if (!epoll_)
        epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    const uint64_t key = way_key(other.peer, other.remote_ep);
    if (const auto known = outward_.find(key); known != outward_.end())
        disconnect(*known->second);
    if (!epoll_ || !make_room_outward(key))
        return;
    std::unique_ptr<TcpOutward> &way = outward_[key];
    way = std::make_unique<TcpOutward>();
    way->peer = other.peer;
    way->remote_ep = other.remote_ep;
    way->secret = other.secret;
    if (connect(*way, *here, *there))
        outward_up_++;
    else
        end_connection(way->connection);
}

bool TcpWays::connect(TcpOutward &way, const UdpAddress &here, const UdpAddress &there)
{
    way.connection = network_->new_socket();
    const int socket = way.connection.get();
    SocketAddress to{};
    const socklen_t length = to_socket(there, to);
    set_socket_option(socket, IPPROTO_TCP, TCP_NODELAY, int{1});
    set_socket_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
    // Others pace: what waits for its turn in a network of microseconds is late (bbr: three times as slow).
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (!repeat_soon(socket))
        way.repeats.expect_late_repeats();
    set_socket_option(socket, IPPROTO_IP, ip_local_port_range, ports_behind_ours);
    set_socket_option(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, int{1});
    if (socket < 0 || !bind_to(socket, here.with_port(0)))
        return false;
    if (sys::connect(socket, &to.any, length) != 0 && errno != EINPROGRESS)
        return false;
    epoll_event event{};
    event.events = EPOLLRDHUP;
    event.data.u64 = reinterpret_cast<uintptr_t>(&way) | outward_tag;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0)
        return false;
    way.busy = true;
    busy_.push_back(&way);
    greeting_++;
    watch(way, true);
    return true;
}

void TcpWays::disconnect(TcpOutward &way)
{
    if (!way.connection)
        return;
    outward_up_--;
    if (!is_greeted(way))
        greeting_--;
    if (way.waits)
        waiting_--;
    way.waits = false;
    if (way.busy)
        std::erase(busy_, &way);
    way.busy = false;
    end_connection(way.connection);
    way.packets.drop_all();
}

/// Wakes a sleeper when the connection takes more, or no longer.
void TcpWays::watch(TcpOutward &way, bool waits)
{
    if (way.waits == waits)
        return;
    epoll_event event{};
    event.events = waits ? uint32_t{EPOLLRDHUP | EPOLLOUT} : uint32_t{EPOLLRDHUP};
    event.data.u64 = reinterpret_cast<uintptr_t>(&way) | outward_tag;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, way.connection.get(), &event);
    way.waits = waits;
    waiting_ += waits ? 1 : -1u;
}

bool TcpWays::add(const ReplyQueue &windows, const fw_replies &run)
{
    const auto found = outward_.find(way_key(run.reply.msg.peer, run.reply.msg.local_ep));
    if (found == outward_.end() || !found->second->connection)
        return false;
    TcpOutward &way = *found->second;
    if (is_lossy(way)) {
        disconnect(way); // the puller sees that, and has all by another carrier
        return false;
    }
    if (!way.packets.add(windows, run))
        return false;
    if (!way.busy)
        busy_.push_back(&way);
    way.busy = true;
    return true;
}

/// True if the connection repeats so much that the time goes with it.
bool TcpWays::is_lossy(TcpOutward &way)
{
    if (!way.repeats.is_due(way.packets.sent()))
        return false;
    tcp_info info{};
    socklen_t length = sizeof(info);
    if (::getsockopt(way.connection.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return false;
    return way.repeats.look(way.packets.sent(), {info.tcpi_total_retrans, info.tcpi_dsack_dups});
}

/// False: the connection has ended.
bool TcpWays::send_greeting(TcpOutward &way)
{
    emx_w_connection greeting{};
    greeting.secret = emx_put64(way.secret);
    greeting.mark = emx_put32(EMX_X_TCP_MARK);
    const auto *bytes = reinterpret_cast<const std::byte *>(&greeting);
    const ssize_t sent = sys::send(way.connection.get(), bytes + way.greeted, sizeof(greeting) - way.greeted,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return false;
    way.greeted += sent > 0 ? static_cast<uint32_t>(sent) : 0;
    if (is_greeted(way))
        greeting_--;
    watch(way, !is_greeted(way));
    return true;
}

/// False: the connection has ended.
bool TcpWays::send_by(TcpOutward &way, const ReplyQueue &windows, const Refuse &refuse)
{
    if (!is_greeted(way))
        return send_greeting(way);
    if (!way.packets.pending())
        return true;
    switch (way.packets.send(way.connection.get(), windows, counters_)) {
    case TcpSender::Outcome::sent: return true;
    case TcpSender::Outcome::full: watch(way, true); return true;
    case TcpSender::Outcome::ended: return false;
    case TcpSender::Outcome::unreadable: break;
    }
    const bool begun = way.packets.partly_sent();
    refuse(way.packets.give_up());
    return !begun;
}

void TcpWays::send(const ReplyQueue &windows, const Refuse &refuse)
{
    for (std::size_t i = 0; i < busy_.size();) {
        TcpOutward &way = *busy_[i];
        if (!way.waits && !send_by(way, windows, refuse)) {
            disconnect(way); // takes it off the list
            continue;
        }
        if (way.waits || way.packets.pending()) {
            i++;
            continue;
        }
        way.busy = false;
        busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void TcpWays::close_window(const ReplyQueue &windows, uint16_t slot)
{
    for (std::size_t i = 0; i < busy_.size();) {
        TcpOutward &way = *busy_[i];
        if (way.packets.close_window(windows, slot))
            i++;
        else
            disconnect(way);
    }
}

} // namespace emx

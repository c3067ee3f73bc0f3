// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer below its library: what happens to a frame at once. Pulls: pulls.cpp. See host.hpp.
#include "endpoint.hpp"

#include <algorithm>

namespace emx::model {

namespace {
constexpr uint8_t endpoints_per_board = 32;
constexpr uint32_t query_magic = 0x13052008;
constexpr uint64_t query_interval = 5 * sec;
} // namespace

Host::Host(const Dialect &dialect, uint64_t mac, std::string name, const Quirks &quirks, test::Rng rng,
           Ground ground)
    : dialect_(dialect), mac_(mac), name_(std::move(name)), quirks_(quirks), rng_(rng),
      ground_(std::move(ground))
{
}

Host::~Host() = default;

void Host::add_peer(uint64_t mac, uint16_t index, const std::string &name)
{
    peers_.push_back({mac, index, {}, no_index, name});
    if (name.empty())
        query(peers_.back());
}

void Host::reload_peer(uint64_t mac, uint16_t index)
{
    Peer *p = by_mac(mac);
    p->once.insert(p->index);
    p->index = index;
    p->tag = no_index;
    p->name.clear();
    query(*p);
}

void Host::query(Peer &peer)
{
    Packet q;
    q.type = host_query;
    q.dst = peer.mac;
    q.index = peer.index;
    q.magic = query_magic;
    transmit(q);
    next_query_ = std::min(next_query_, now() + query_interval);
}

Host::Peer *Host::by_mac(uint64_t mac)
{
    auto it = std::find_if(peers_.begin(), peers_.end(), [&](Peer &p) { return p.mac == mac; });
    return it == peers_.end() ? nullptr : &*it;
}

bool Host::has_peer(uint64_t mac) const
{
    return std::any_of(peers_.begin(), peers_.end(), [mac](const Peer &p) { return p.mac == mac; });
}

uint16_t Host::index_of(uint64_t mac) const
{
    for (const Peer &p : peers_)
        if (p.mac == mac)
            return p.index;
    return no_index;
}

Endpoint &Host::open(uint8_t number, uint32_t key)
{
    auto session = static_cast<uint32_t>(rng_.below(no_session));
    endpoints_[number] = std::make_unique<Endpoint>(*this, number, session, key);
    return *endpoints_[number];
}

void Host::close(uint8_t number)
{
    endpoints_[number]->flush_acks();
    std::erase_if(pulls_, [&](auto &p) { return p.second.owner == endpoints_[number].get(); });
    endpoints_.erase(number);
}

Endpoint *Host::endpoint(uint8_t number)
{
    auto it = endpoints_.find(number);
    return it == endpoints_.end() ? nullptr : it->second.get();
}

void Host::transmit(Packet p)
{
    p.src = mac_;
    if (Peer *peer = by_mac(p.dst))
        p.tag = peer->tag;
    Writing how;
    how.garbage = quirks_.garbage ? &rng_ : nullptr;
    how.pad = !rng_.chance(quirks_.unpadded);
    // Only where there is room for it in a frame of the dialect.
    if (p.data.size() + 200 < dialect_.reply && rng_.chance(quirks_.trailing))
        how.trailing = static_cast<uint32_t>(rng_.range(1, 64));
    if (how.garbage && !heard_.empty() && rng_.coin())
        recycle(p, how);
    ground_.send(write(dialect_, p, how));
}

void Host::remember(const Bytes &frame)
{
    constexpr size_t kept = 24;
    if (frame[16] != connect && !rng_.chance(100))
        return;
    heard_.push_back(frame);
    if (heard_.size() > kept)
        heard_.pop_front();
}

/// Unset bytes are those of a frame that came before, mostly from the same place on. A connect may end behind
/// where the offer of our stack does, which it copies that way.
void Host::recycle(const Packet &p, Writing &how)
{
    how.stale = &heard_[rng_.below(heard_.size())];
    how.shift = rng_.chance(800) ? 0 : rng_.below(how.stale->size());
    if (p.type == connect && rng_.coin())
        how.trailing = static_cast<uint32_t>(rng_.range(1, 64));
}

/// Section 2.2, what Open-MX does with the tag.
bool Host::tag_is_good(const Packet &p, const Bytes &frame)
{
    if (p.type == connect || p.type == host_query || p.type == host_reply || p.type == pull_reply ||
        p.type == raw)
        return true;
    Peer *peer = by_mac(p.src);
    if (!peer || p.tag == peer->index || ((p.type == nack_lib || p.type == nack_mcp) && p.tag == no_index))
        return peer;
    // While it has not heard of the new index it cannot do better.
    if (!peer->once.count(p.tag))
        violate("2.2: the tag is not the index that this host told", frame);
    return false;
}

void Host::arrive(const Bytes &frame)
{
    const auto lenient =
        frame.size() > 17 && frame[17] == quirks_.spare ? read_leniently(dialect_, frame) : std::nullopt;
    Packet p = lenient ? *lenient : read_strictly(dialect_, frame);
    remember(frame);
    if (!tag_is_good(p, frame) || !by_mac(p.src)) {
        frames_dropped++;
        return;
    }
    switch (p.type) {
    case host_query:
    case host_reply: on_host(p); break;
    case connect: on_connect(p); break;
    case tiny:
    case small:
    case medium:
    case rndv:
    case notify: on_message(p); break;
    case truc:
    case nack_lib:
        if (Endpoint *e = endpoint(p.to); e && (p.type == nack_lib || p.session == e->session()))
            queue(*e, p);
        break;
    case pull: on_pull(p, frame); break;
    case pull_reply: on_pull_reply(p, frame); break;
    case nack_mcp: on_nack_mcp(p, frame); break;
    default: break; // the beacon is for a daemon
    }
}

void Host::on_host(const Packet &p)
{
    Peer *peer = by_mac(p.src);
    if (p.type == host_reply) {
        if (p.magic != query_magic)
            return;
        peer->name = p.name;
        peer->tag = p.index;
        return;
    }
    peer->tag = p.index;
    Packet r;
    r.type = host_reply;
    r.dst = p.src;
    r.index = peer->index;
    r.magic = p.magic;
    r.name = name_;
    transmit(r);
}

void Host::refuse(const Packet &p, uint8_t reason)
{
    Packet n;
    n.type = p.type == pull ? nack_mcp : nack_lib;
    n.dst = p.src;
    n.to = p.from;
    n.from = p.to;
    n.reason = reason;
    n.seq = p.seq;
    n.handle = p.handle;
    n.magic = p.magic;
    transmit(n);
}

void Host::queue(Endpoint &e, const Packet &p)
{
    if (e.waiting() >= quirks_.queue) {
        frames_dropped++;
        return;
    }
    e.take(p);
    ground_.stirred();
}

void Host::on_connect(const Packet &p)
{
    by_mac(p.src)->tag = p.index;
    if (Endpoint *e = endpoint(p.to))
        queue(*e, p);
    else
        refuse(p, p.to >= endpoints_per_board ? 1 : 2);
}

void Host::on_message(const Packet &p)
{
    Endpoint *e = endpoint(p.to);
    if (!e)
        refuse(p, p.to >= endpoints_per_board ? 1 : 2);
    else if (p.session != e->session())
        refuse(p, 3);
    else
        queue(*e, p);
}

void Host::tick()
{
    if (now() >= next_query_) {
        next_query_ = never;
        for (Peer &p : peers_)
            if (p.name.empty())
                query(p);
    }
    tick_pulls();
}

} // namespace emx::model

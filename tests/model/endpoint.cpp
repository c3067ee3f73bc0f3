// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer's library: sending, repeating, acknowledging, connecting. Receiving: receive.cpp.
// See endpoint.hpp.
#include "endpoint.hpp"

#include "numbers.hpp"

#include <algorithm>

namespace emx::model {

namespace {

constexpr uint64_t repeat_interval = 500 * ms;
constexpr uint16_t unacked_max = 8191;

} // namespace

Endpoint::Endpoint(Host &host, uint8_t number, uint32_t session, uint32_t key)
    : host_(host), number_(number), session_(session), key_(key)
{
    for (Window &w : windows_)
        w.tag = static_cast<uint8_t>(host.rng().next());
}

bool Endpoint::knows(Address to) const
{
    auto it = partners_.find(to);
    return it != partners_.end() && it->second.message_session != no_session;
}

uint32_t Endpoint::session_of(Address whom) const
{
    auto it = partners_.find(whom);
    return it == partners_.end() ? no_session : it->second.message_session;
}

bool Endpoint::was_asked_by(Address from) const
{
    auto it = partners_.find(from);
    return it != partners_.end() && it->second.ack_session != no_session;
}

void Endpoint::connect(Address to, uint32_t key, std::function<void(End)> done)
{
    Partner &p = partners_[to];
    p.connects.push_back({p.connect_number++, key, 0, 0, std::move(done)});
    request(to, p, p.connects.back());
}

void Endpoint::request(Address to, Partner &partner, Connecting &c)
{
    Packet p;
    p.type = model::connect;
    p.dst = to.mac;
    p.to = to.endpoint;
    p.from = number_;
    p.index = host_.index_of(to.mac);
    p.own_session = session_;
    p.key = c.key;
    p.start = partner.rx_match;
    p.connect_number = c.number;
    host_.transmit(p);
    c.last = host_.now();
    c.times++;
}

void Endpoint::send(Address to, uint64_t match, Bytes data, bool synchronous,
                    std::function<void(End, uint32_t)> done)
{
    Sending s;
    s.data = std::make_shared<const Bytes>(std::move(data));
    auto length = static_cast<uint32_t>(s.data->size());
    s.packet.match = match;
    s.packet.length = length;
    const Quirks &q = host_.quirks();
    bool odd = q.odd_classes && host_.rng().coin();
    uint32_t eager_max = static_cast<uint32_t>(std::min<uint64_t>(q.threshold, host_.dialect().medium_max()));
    if (synchronous || length > eager_max) {
        while (windows_[next_window_].used)
            next_window_++;
        Window &w = windows_[next_window_];
        w.used = true;
        w.tag++;
        w.offset = q.window_offsets ? (q.window_offset + windows_opened_++) % 4096 : 0;
        w.message = s.data;
        s.packet.type = rndv;
        s.packet.window = next_window_;
        s.packet.window_tag = w.tag;
        s.packet.window_offset = w.offset;
        large_[next_window_++] = {to, std::move(done), false, false, 0};
        done = nullptr;
    } else if (length > 128 || (odd && length && host_.rng().coin())) {
        s.packet.type = medium;
        if (odd && !host_.dialect().native)
            while (s.exponent > 9 && length <= 8u << (s.exponent - 1) && host_.rng().coin())
                s.exponent--;
    } else {
        s.packet.type = length > 32 || odd ? small : tiny;
    }
    s.done = std::move(done);
    enqueue(to, partners_[to], std::move(s));
}

void Endpoint::enqueue(Address to, Partner &partner, Sending s)
{
    partner.throttled.push_back(std::move(s));
    release(to, partner);
}

/// Numbers are given when a message is really sent.
void Endpoint::release(Address to, Partner &partner)
{
    while (!partner.throttled.empty() && distance(partner.tx_oldest, partner.tx_next) < unacked_max) {
        partner.unacked.push_back(std::move(partner.throttled.front()));
        partner.throttled.pop_front();
        partner.unacked.back().packet.seq = partner.tx_next;
        partner.tx_next = next(partner.tx_next);
        transmit(to, partner, partner.unacked.back());
    }
}

void Endpoint::transmit(Address to, Partner &partner, Sending &s)
{
    Packet p = s.packet;
    p.dst = to.mac;
    p.to = to.endpoint;
    p.from = number_;
    if (!s.times) // a repeat differs in the ack alone (8.4)
        s.packet.session = p.type == notify ? partner.ack_session : partner.message_session;
    p.session = s.packet.session;
    p.ack = partner.rx_acked = partner.rx_done;
    partner.ack_due = never;
    partner.ack_now = false;
    s.last = host_.now();
    s.times++;
    if (p.type == tiny || p.type == small)
        p.data = *s.data;
    if (p.type != medium)
        return host_.transmit(p);
    size_t size = host_.dialect().native ? host_.dialect().fragment : size_t{1} << s.exponent;
    p.exponent = s.exponent;
    for (size_t at = 0; at < s.data->size(); at += size, p.fragment++) {
        size_t end = std::min(at + size, s.data->size());
        p.data.assign(s.data->begin() + static_cast<long>(at), s.data->begin() + static_cast<long>(end));
        host_.transmit(p);
    }
}

void Endpoint::take_ack(Partner &partner, uint16_t ack)
{
    uint16_t n = distance(partner.tx_oldest, ack);
    uint16_t out = distance(partner.tx_oldest, partner.tx_next);
    if (n < 1)
        return;
    if (n > out) {
        if (n < half && !host_.may_be_refused)
            throw Violation("wire.md 8.2: an ack of numbers that were never sent");
        return;
    }
    for (; partner.tx_oldest != ack; partner.tx_oldest = next(partner.tx_oldest)) {
        // A number that was refused is outstanding no more.
        if (partner.unacked.empty() || partner.unacked.front().packet.seq != partner.tx_oldest)
            continue;
        acked(partner.unacked.front());
        partner.unacked.pop_front();
    }
}

void Endpoint::acked(Sending &s)
{
    if (s.packet.type == rndv) {
        large_[static_cast<uint8_t>(s.packet.window)].acked = true;
        try_finish_large(static_cast<uint8_t>(s.packet.window));
    } else if (s.done) {
        callbacks_.push_back([done = std::move(s.done), n = s.packet.length] { done(End::good, n); });
    }
}

void Endpoint::on_notify(const Packet &p)
{
    auto id = static_cast<uint8_t>(p.window);
    auto it = large_.find(id);
    if (it == large_.end() || windows_[id].tag != p.window_tag || it->second.to != Address{p.src, p.from})
        return; // a leftover
    if (p.length > windows_[id].message->size())
        throw Violation("wire.md 4.9: NOTIFY of more bytes than the message has");
    it->second.notified = true;
    it->second.taken = p.length;
    try_finish_large(id);
}

void Endpoint::try_finish_large(uint8_t id)
{
    auto it = large_.find(id);
    if (it == large_.end() || !it->second.acked || !it->second.notified)
        return;
    windows_[id].used = false;
    callbacks_.push_back([l = std::move(it->second)] {
        if (l.done)
            l.done(End::good, l.taken);
    });
    large_.erase(it);
}

void Endpoint::send_ack(Address to, Partner &partner)
{
    Packet p;
    p.type = truc;
    p.dst = to.mac;
    p.to = to.endpoint;
    p.from = number_;
    p.session = partner.ack_session;
    p.ack = partner.rx_acked = partner.rx_done;
    p.counter = ++partner.counter_tx;
    partner.ack_due = never;
    partner.ack_now = false;
    host_.transmit(p);
}

void Endpoint::flush_acks()
{
    for (auto &[to, partner] : partners_)
        if (partner.ack_due != never || partner.ack_now)
            send_ack(to, partner);
}

/// The partner is a new instance, or given up: all that was under way with the old one fails.
void Endpoint::reset(Address whom, Partner &partner, End why)
{
    for (auto *list : {&partner.unacked, &partner.throttled})
        for (Sending &s : *list)
            if (s.done)
                callbacks_.push_back([done = std::move(s.done), why] { done(why, 0); });
    for (auto it = large_.begin(); it != large_.end();) {
        if (it->second.to != whom) {
            ++it;
            continue;
        }
        windows_[it->first].used = false;
        if (it->second.done)
            callbacks_.push_back([done = std::move(it->second.done), why] { done(why, 0); });
        it = large_.erase(it);
    }
    for (Connecting &c : partner.connects)
        if (c.done)
            callbacks_.push_back([done = std::move(c.done), why] { done(why); });
    for (auto &[seq, message] : partner.partial)
        if (message->receive)
            callbacks_.push_back([done = message->receive->done, m = message] {
                done({m->from, m->first.match, m->first.length, {}, false});
            });
    std::erase_if(unexpected_, [&](const IncomingPtr &m) { return m->from == whom; });
    uint16_t bits = static_cast<uint16_t>(partner.rx_match & session_bits);
    uint8_t connect_number = partner.connect_number;
    partner = Partner{};
    partner.connect_number = connect_number;
    partner.rx_match = partner.rx_done = partner.rx_acked = static_cast<uint16_t>(bits | 1);
}

void Endpoint::give_up(Address whom, Partner &partner)
{
    uint16_t bits = static_cast<uint16_t>((partner.rx_match & session_bits) + 0x4000);
    times_given_up_++;
    reset(whom, partner, End::failed);
    partner.rx_match = static_cast<uint16_t>(bits | (1 ^ 0x30f0));
    partner.rx_done = static_cast<uint16_t>(bits | (1 ^ 0x0f0f));
    partner.rx_acked = partner.rx_done;
}

void Endpoint::tick(Address to, Partner &partner)
{
    uint64_t now = host_.now();
    for (Connecting &c : partner.connects) {
        if (now < c.last + repeat_interval)
            continue;
        if (c.times >= host_.quirks().transmissions)
            return give_up(to, partner);
        request(to, partner, c);
    }
    for (Sending &s : partner.unacked) {
        if (now < s.last + repeat_interval)
            continue;
        if (s.times >= host_.quirks().transmissions)
            return give_up(to, partner);
        transmit(to, partner, s);
    }
    if (partner.ack_now || now >= partner.ack_due)
        send_ack(to, partner);
}

void Endpoint::progress()
{
    while (!queue_.empty() || !pull_ends_.empty()) {
        if (!pull_ends_.empty()) {
            PullEnd e = std::move(pull_ends_.front());
            pull_ends_.pop_front();
            auto node = pulls_.extract(e.handle);
            Incoming &m = *node.mapped();
            m.data = std::move(e.data);
            m.good = e.good;
            m.complete = true;
            announce_end(m, e.good ? static_cast<uint32_t>(m.data.size()) : 0);
            finish_if_complete(m);
            continue;
        }
        Packet p = std::move(queue_.front());
        queue_.pop_front();
        handle(p);
    }
    for (auto &[to, partner] : partners_)
        tick(to, partner);
    std::vector<std::function<void()>> calls;
    calls.swap(callbacks_);
    for (auto &call : calls)
        call();
}

uint64_t Endpoint::deadline() const
{
    if (!queue_.empty() || !pull_ends_.empty() || !callbacks_.empty())
        return 0;
    uint64_t first = never;
    for (auto &[to, partner] : partners_) {
        first = std::min(first, partner.ack_now ? 0 : partner.ack_due);
        for (const Connecting &c : partner.connects)
            first = std::min(first, c.last + repeat_interval);
        for (const Sending &s : partner.unacked)
            first = std::min(first, s.last + repeat_interval);
    }
    return first;
}

bool Endpoint::idle() const
{
    if (!large_.empty() || !pulls_.empty() || !queue_.empty() || !pull_ends_.empty() || !unexpected_.empty())
        return false;
    return std::all_of(partners_.begin(), partners_.end(), [](auto &e) {
        const Partner &p = e.second;
        return p.unacked.empty() && p.throttled.empty() && p.partial.empty() && p.early.empty();
    });
}

} // namespace emx::model

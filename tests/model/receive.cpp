// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer's library: what it does with packets, and matching. See endpoint.hpp.
#include "endpoint.hpp"

#include "numbers.hpp"

#include <algorithm>

namespace emx::model {

namespace {

constexpr uint16_t early_window = 255;
constexpr uint16_t not_acked_max = 4;
constexpr uint64_t ack_delay = sec / 64;

} // namespace

void Endpoint::handle(const Packet &p)
{
    Address from{p.src, p.from};
    // Only a connect makes a partner.
    if (p.type != model::connect && !partners_.count(from))
        return;
    Partner &partner = partners_[from];
    switch (p.type) {
    case model::connect: p.is_reply ? on_connect_reply(p, partner) : on_connect_request(p, partner); break;
    case truc: on_truc(p, partner); break;
    case nack_lib: on_nack(p, partner); break;
    default: on_sequenced(p, partner); break;
    }
    if (partners_.count(from))
        release(from, partner);
}

/// Section 7.3.
void Endpoint::on_connect_request(const Packet &p, Partner &partner)
{
    Address from{p.src, p.from};
    if (partner.ack_session != no_session && partner.ack_session != p.own_session)
        reset(from, partner, End::reset);
    if (partner.ack_session != p.own_session) {
        uint16_t bits = static_cast<uint16_t>(partner.rx_match & session_bits);
        partner.rx_match = partner.rx_done = partner.rx_acked = static_cast<uint16_t>(bits | 1);
        partner.seen.clear();
    }
    if (partner.message_session != p.own_session)
        partner.tx_next = partner.tx_oldest = p.start;
    partner.message_session = partner.ack_session = p.own_session;
    Packet r;
    r.type = model::connect;
    r.is_reply = true;
    r.dst = p.src;
    r.to = p.from;
    r.from = number_;
    r.index = host_.index_of(p.src);
    r.session = p.own_session;
    r.own_session = session_;
    r.start = partner.rx_match;
    r.connect_number = p.connect_number;
    r.status = p.key == key_ ? 0 : 11;
    host_.transmit(r);
}

/// Section 7.4.
void Endpoint::on_connect_reply(const Packet &p, Partner &partner)
{
    auto it = std::find_if(partner.connects.begin(), partner.connects.end(),
                           [&](Connecting &c) { return c.number == p.connect_number; });
    if (it == partner.connects.end() || p.session != session_)
        return;
    auto done = std::move(it->done);
    partner.connects.erase(it);
    End end = p.status ? End::bad_key : End::good;
    if (done)
        callbacks_.push_back([done = std::move(done), end] { done(end); });
    if (p.status)
        return;
    if (partner.ack_session != no_session && partner.ack_session != p.own_session)
        reset({p.src, p.from}, partner, End::reset);
    if (partner.message_session != p.own_session)
        partner.tx_next = partner.tx_oldest = p.start;
    partner.message_session = p.own_session;
}

void Endpoint::on_truc(const Packet &p, Partner &partner)
{
    if (partner.message_session == no_session || ((p.ack ^ partner.tx_next) & session_bits) ||
        p.counter <= partner.counter_rx)
        return;
    partner.counter_rx = p.counter;
    take_ack(partner, p.ack);
}

/// Section 11.2.
void Endpoint::on_nack(const Packet &p, Partner &partner)
{
    auto it = std::find_if(partner.unacked.begin(), partner.unacked.end(),
                           [&](Sending &s) { return s.packet.seq == p.seq; });
    if (it == partner.unacked.end() && partner.connects.empty())
        return;
    if (!host_.may_be_refused)
        throw Violation("wire.md 11.2: a live message or connect is refused, which kills the application");
    End why = p.reason == 1 ? End::impossible : p.reason == 3 ? End::stale : End::refused;
    if (it == partner.unacked.end()) {
        auto done = std::move(partner.connects.front().done);
        partner.connects.pop_front();
        if (done)
            callbacks_.push_back([done = std::move(done), why] { done(why); });
        return;
    }
    auto done = std::move(it->done);
    if (it->packet.type == rndv) {
        auto id = static_cast<uint8_t>(it->packet.window);
        windows_[id].used = false;
        done = std::move(large_[id].done);
        large_.erase(id);
    }
    partner.unacked.erase(it);
    if (done)
        callbacks_.push_back([done = std::move(done), why] { done(why, 0); });
}

/// A number names one message for good: repeats must say the same.
void Endpoint::hold_against_repeat(const Packet &p, Partner &partner)
{
    auto [it, fresh] = partner.seen.try_emplace(p.seq, p);
    it->second.data.clear();
    const Packet &first = it->second;
    if (!fresh && (first.type != p.type || first.match != p.match || first.length != p.length ||
                   first.window != p.window || first.window_tag != p.window_tag))
        throw Violation(std::string("wire.md 8.4: a number is used for another message: ") +
                        type_name(p.type) + " behind " + type_name(first.type) + ", number " +
                        std::to_string(p.seq));
    // Numbers come round again.
    partner.seen.erase(static_cast<uint16_t>((p.seq & session_bits) | ((p.seq + half) & 0x3fff)));
}

/// Section 8.3.
void Endpoint::on_sequenced(const Packet &p, Partner &partner)
{
    if (((p.seq ^ partner.rx_done) & session_bits) || ((p.ack ^ partner.tx_next) & session_bits)) {
        if (!host_.may_be_refused)
            throw Violation("wire.md 8.1: session bits of a number or an ack");
        return;
    }
    if (partner.ack_session == no_session)
        throw Violation("wire.md 7.5: messages before a connect request of one's own");
    take_ack(partner, p.ack);
    uint16_t d = distance(partner.rx_done, p.seq);
    uint16_t w = distance(partner.rx_done, partner.rx_match);
    if (!host_.may_be_refused)
        hold_against_repeat(p, partner);
    if (p.type == notify && d == w && !host_.dialect().native && host_.quirks().notify_acks &&
        partner.partial.empty())
        partner.ack_now = true;
    if (d == w) {
        deliver(p, partner);
        while (!partner.early.empty()) {
            auto it = partner.early.find(partner.rx_match);
            if (it == partner.early.end())
                break;
            std::vector<Packet> packets = std::move(it->second);
            partner.early.erase(it);
            uint16_t seq = packets.front().seq;
            deliver(packets.front(), partner);
            for (size_t i = 1; i < packets.size(); i++)
                if (auto open = partner.partial.find(seq); open != partner.partial.end())
                    add_fragment(packets[i], *open->second);
        }
    } else if (d < w) {
        if (auto open = partner.partial.find(p.seq); p.type == medium && open != partner.partial.end())
            add_fragment(p, *open->second);
    } else if (d <= w + early_window) {
        auto &stored = partner.early[p.seq];
        if (std::none_of(stored.begin(), stored.end(), [&](Packet &s) { return s.fragment == p.fragment; }))
            stored.push_back(p);
    } else if (d == 0x3fff) {
        partner.ack_now = true;
    } else if (d < half && !host_.may_be_refused) {
        throw Violation("wire.md 8.5: more than 255 numbers beyond what is acknowledged");
    }
    settle_rx(partner);
}

/// Moves rx_done to the oldest incomplete message, and owes the ack.
void Endpoint::settle_rx(Partner &partner)
{
    uint16_t before = partner.rx_done;
    std::erase_if(partner.partial, [](auto &e) { return e.second->complete; });
    uint16_t oldest = partner.rx_match;
    for (auto &[seq, message] : partner.partial)
        if (distance(before, seq) < distance(before, oldest))
            oldest = seq;
    partner.rx_done = oldest;
    if (partner.rx_done == before)
        return;
    if (distance(partner.rx_acked, partner.rx_done) >= not_acked_max)
        partner.ack_now = true;
    else if (partner.ack_due == never)
        partner.ack_due = host_.now() + ack_delay;
}

void Endpoint::deliver(const Packet &p, Partner &partner)
{
    partner.rx_match = next(partner.rx_match);
    if (p.type == notify)
        return on_notify(p);
    auto message = std::make_shared<Incoming>();
    message->first = p;
    message->first.data.clear();
    message->from = {p.src, p.from};
    if (p.type == medium) {
        message->data.resize(p.length);
        partner.partial[p.seq] = message;
        add_fragment(p, *message);
    } else if (p.type != rndv) {
        message->data = p.data;
        message->complete = true;
    }
    match(message);
}

void Endpoint::add_fragment(const Packet &p, Incoming &m)
{
    if (!m.fragments.insert(p.fragment).second)
        return;
    std::copy(p.data.begin(), p.data.end(), m.data.begin() + p.position);
    m.have += p.data.size();
    m.complete = m.have == m.data.size();
    finish_if_complete(m);
}

void Endpoint::match(const IncomingPtr &message)
{
    auto it = std::find_if(receives_.begin(), receives_.end(),
                           [&](Receive &r) { return (message->first.match & r.mask) == r.match; });
    if (it == receives_.end()) {
        unexpected_.push_back(message);
        return;
    }
    message->receive = std::move(*it);
    receives_.erase(it);
    matched(message);
}

void Endpoint::post(Receive receive)
{
    auto it = std::find_if(unexpected_.begin(), unexpected_.end(),
                           [&](IncomingPtr &m) { return (m->first.match & receive.mask) == receive.match; });
    if (it == unexpected_.end()) {
        receives_.push_back(std::move(receive));
        return;
    }
    IncomingPtr message = *it;
    unexpected_.erase(it);
    message->receive = std::move(receive);
    matched(message);
}

bool Endpoint::withdraw(const void *token)
{
    return std::erase_if(receives_, [token](const Receive &r) { return r.token == token; }) > 0;
}

std::optional<Unexpected> Endpoint::look(uint64_t match, uint64_t mask) const
{
    for (const IncomingPtr &m : unexpected_)
        if ((m->first.match & mask) == match)
            return Unexpected{m->from, m->first.match, m->first.length};
    return std::nullopt;
}

void Endpoint::matched(const IncomingPtr &message)
{
    Incoming &m = *message;
    if (m.first.type != rndv)
        return finish_if_complete(m);
    uint32_t total = std::min(m.first.length, m.receive->length);
    if (total) {
        pulls_[host_.start_pull(*this, m.first, partners_[m.from].ack_session, total)] = message;
        return;
    }
    m.complete = true;
    announce_end(m, 0);
    finish_if_complete(m);
}

void Endpoint::pull_ended(uint32_t handle, bool good, Bytes data)
{
    pull_ends_.push_back({handle, good, std::move(data)});
}

void Endpoint::announce_end(const Incoming &m, uint32_t taken)
{
    Sending s;
    s.packet.type = notify;
    s.packet.length = taken;
    s.packet.window = m.first.window;
    s.packet.window_tag = m.first.window_tag;
    Partner &partner = partners_[m.from];
    if (partner.message_session != no_session)
        enqueue(m.from, partner, std::move(s));
}

void Endpoint::finish_if_complete(Incoming &m)
{
    if (!m.complete || !m.receive)
        return;
    Received r{m.from, m.first.match, m.first.length, std::move(m.data), m.good};
    if (m.good)
        r.data.resize(std::min<size_t>(r.data.size(), m.receive->length));
    callbacks_.push_back([done = std::move(m.receive->done), r = std::move(r)] { done(r); });
    m.receive.reset();
}

} // namespace emx::model

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The node: its slots, packets and credits. The protocol stands in label.hpp.
#include "api.hpp"

#include <algorithm>

namespace fm {

namespace {

constexpr uint32_t used_most = 8; ///< slots

uint32_t window_for(uint32_t memory, std::size_t nodes)
{
    const uint64_t slots = memory / packet_bytes / nodes;
    const uint64_t packets = slots > spare_slots ? slots - spare_slots : 0;
    return static_cast<uint32_t>(std::clamp<uint64_t>(packets, window_least, window_most)) / 4 * 4;
}

} // namespace

Node::Node(const Options &options)
    : options_(options), count_(static_cast<uint32_t>(options.places.size())), peers_(count_),
      handlers_(options.handlers_max)
{
    window_ = window_for(options.memory, options.places.size());
    half_ = window_ / 2;
    quarter_ = window_ / 4;
    used_most_ = std::min(quarter_ / 2, used_most);
    for (uint32_t i = 0; i < count(); i++) {
        peers_[i].node = i;
        peers_[i].place = options.places[i];
        peers_[i].ping_context = &peers_[i].ping;
    }
    slot_count_ = count() * (window_ + spare_slots);
    slots_ = std::make_unique<Slot[]>(slot_count_);
    memory_.reset(new std::byte[std::size_t{slot_count_} * packet_bytes]); // not touched before it is used
    for (uint32_t i = 0; i < slot_count_; i++)
        slots_[i].data = &memory_[std::size_t{i} * packet_bytes];
}

Node::~Node() = default;

uint32_t Node::held() const
{
    const Lock lock(mutex_);
    uint32_t packets = 0;
    for (const Peer &peer : peers_)
        packets += peer.held;
    return packets;
}

void Node::fail(int code) { set_error(this, code); }

// ---- slots

void Node::post(Slot *slot)
{
    mx_segment_t segment{slot->data, packet_bytes};
    mx_request_t request; // found again by its context
    if (mx_irecv(endpoint_, &segment, 1, 0, bulk_bit, static_cast<Event *>(slot), &request) != MX_SUCCESS)
        news_ = FM_E_MX;
}

bool Node::pump() { return pump_inline(); }

void Node::take_other(Event *event, const mx_status_t &status)
{
    const bool good = status.code == MX_STATUS_SUCCESS;
    switch (event->what) {
    case What::slot: return post(static_cast<Slot *>(event)); // a good one went to arrive()
    case What::send: {
        auto *stream = static_cast<SendStream *>(event);
        --stream->bulk_out;
        if (!good && status.code != MX_STATUS_TRUNCATED) // cut: the handler did not want all of it
            stream->failed = true;
        return;
    }
    case What::receive: {
        auto *stream = static_cast<ReceiveStream *>(event);
        if (!good) {
            stream->broken = true;
            stream->rest_end = 0;
        }
        if (--stream->bulk_out == 0) {
            stream->bulk_posted = 0;
            wake(stream);
        }
        return;
    }
    case What::ping: {
        // The only member of a peer that MX knows.
        for (Peer &peer : peers_)
            if (&peer.ping == event)
                take_pong(peer, status);
    }
    }
}

void Node::arrive_otherwise(Slot *slot)
{
    const uint64_t label = slot->label;
    const uint32_t node = node_of(label);
    if (node >= count()) [[unlikely]]
        return post(slot);
    Peer &peer = peers_[node];
    take_freed(peer, label);
    const Kind kind = kind_of(label);
    if (kind <= Kind::notice) [[likely]] {
        hold(peer);
        if (number_of(label) == peer.expected) [[likely]] {
            admit(peer, slot);
            if (peer.early) [[unlikely]]
                admit_early(peer);
            return;
        }
        slot->next = peer.early;
        peer.early = slot;
        return;
    }
    if (kind == Kind::hello)
        take_hello(peer, *slot);
    else if (kind == Kind::bye)
        peer.left = true;
    post(slot);
}

void Node::admit(Peer &peer, Slot *slot)
{
    ++peer.expected;
    if (closing_) [[unlikely]]
        return discard(slot);
    ready_.push(slot);
}

void Node::admit_early(Peer &peer)
{
    for (Slot **at = &peer.early; *at;) {
        Slot *slot = *at;
        if (number_of(slot->label) != peer.expected) {
            at = &slot->next;
            continue;
        }
        *at = slot->next;
        admit(peer, slot);
        at = &peer.early;
    }
}

// ---- credits

/// Posts the slots that are used up. Their senders hear of it from here on.
void Node::post_used()
{
    used_count_ = 0;
    while (Slot *slot = used_.pop()) {
        Peer &peer = peers_[node_of(slot->label)];
        ++peer.freed;
        post(slot);
        if (static_cast<uint16_t>(peer.freed - peer.told) >= quarter_) [[unlikely]]
            tell_credit(peer);
    }
}

void Node::tell_credit(Peer &peer)
{
    if (!peer.dead && !peer.left)
        transmit(peer, label(Kind::credit, true, options_.node, 0), nullptr, 0);
}

void Node::lose(Peer &peer, mx_return_t code)
{
    bury(peer, mx_strerror(code)); // a hole in the row of its packets: none can follow
}

bool Node::visits_handler() const
{
    const uintptr_t self = emx::Lock::this_thread();
    for (const Visit *visit = visits_; visit; visit = visit->next)
        if (visit->in_handler && visit->thread == self)
            return true;
    return false;
}

uint32_t Node::register_handler(uint32_t id, FM_handler *streams, FM_handler_1 *whole)
{
    const Lock lock(mutex_);
    if (id == FM_ANY_ID)
        for (id = 1; id < handlers_.size() && (handlers_[id].streams || handlers_[id].whole);)
            ++id;
    if (id >= handlers_.size()) {
        fail(FM_E_HANDLER);
        return FM_ANY_ID;
    }
    handlers_[id] = {streams, whole};
    return id;
}

} // namespace fm

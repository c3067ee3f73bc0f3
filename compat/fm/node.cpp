// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The node: its slots, packets and credits. The protocol stands in label.hpp.
#include "api.hpp"

#include <algorithm>

namespace fm {

namespace {

/// Half of the memory is for wide slots.
uint32_t window_for(uint32_t memory, std::size_t nodes)
{
    const uint64_t slots = memory / 2 / packet_bytes / nodes;
    const uint64_t packets = slots > spare_slots ? slots - spare_slots : 0;
    return static_cast<uint32_t>(std::clamp<uint64_t>(packets, window_least, window_most)) / 4 * 4;
}

} // namespace

Node::Node(const Options &options)
    : options_(options), count_(static_cast<uint32_t>(options.places.size())), peers_(count_),
      handlers_(options.handlers_max)
{
    window_ = window_for(options.memory, options.places.size());
    quarter_ = window_ / 4;
    for (uint32_t i = 0; i < count(); i++) {
        peers_[i].node = i;
        peers_[i].place = options.places[i];
        peers_[i].ping_context = &peers_[i].ping;
    }
    short_ = {.bytes = packet_bytes, .units = 1, .match = 0, .wanted = wanted_least};
    wide_ = {.bytes = wide_bytes, .units = wide_units, .match = wide_bit, .wanted = wide_wanted_least};
    const uint32_t shorts = count() * (window_ + spare_slots);
    const uint32_t wides = window_ < wide_window_least ? 0 : count() * (window_ / wide_units);
    const std::size_t short_memory = std::size_t{shorts} * packet_bytes;
    slots_ = std::make_unique<Slot[]>(shorts + wides);
    memory_.reset(new std::byte[short_memory + std::size_t{wides} * wide_bytes]); // touched once it is used
    add_slots(short_, shorts, &slots_[0], &memory_[0]);
    add_slots(wide_, wides, &slots_[shorts], &memory_[short_memory]);
}

Node::~Node() = default;

uint32_t Node::held() const
{
    const Lock lock(mutex_);
    uint32_t units = 0;
    for (const Peer &peer : peers_)
        units += peer.held;
    return units;
}

uint32_t Node::posted() const
{
    const Lock lock(mutex_);
    return short_.posted;
}

uint32_t Node::copies_out() const
{
    const Lock lock(mutex_);
    auto count = static_cast<uint32_t>(copies_.size());
    for (const Copy *copy = spare_copies_; copy; copy = copy->next)
        --count;
    return count;
}

void Node::fail(int code) { set_error(this, code); }

// ---- slots

void Node::add_slots(Pool &pool, uint32_t count, Slot *slots, std::byte *memory)
{
    for (uint32_t i = count; i-- > 0;) {
        slots[i].pool = &pool;
        slots[i].data = memory + std::size_t{i} * pool.bytes;
        slots[i].next = pool.free;
        pool.free = &slots[i];
    }
}

void Node::post(Slot *slot)
{
    Pool &pool = *slot->pool;
    mx_segment_t segment{slot->data, pool.bytes};
    mx_request_t request; // found again by its context
    ++pool.posted;
    if (mx_irecv(endpoint_, &segment, 1, pool.match, bulk_bit | wide_bit, static_cast<Event *>(slot),
                 &request) != MX_SUCCESS)
        news_ = FM_E_MX;
}

void Node::refill(Pool &pool)
{
    while (pool.posted < pool.wanted && pool.free) {
        Slot *slot = pool.free;
        pool.free = slot->next;
        post(slot);
    }
}

/// All that were posted came in one burst.
void Node::refill_more(Pool &pool)
{
    constexpr uint32_t most = window_most;
    pool.wanted = std::min(2 * pool.wanted, most);
    refill(pool);
}

bool Node::pump() { return pump_inline(); }

void Node::take_other(Event *event, const mx_status_t &status)
{
    const bool good = status.code == MX_STATUS_SUCCESS;
    switch (event->what) {
    case What::slot: // a good one went to arrive()
        --static_cast<Slot *>(event)->pool->posted;
        return post(static_cast<Slot *>(event));
    case What::send: {
        auto *stream = static_cast<SendStream *>(event);
        --stream->bulk_out;
        if (!good && status.code != MX_STATUS_TRUNCATED) // cut: the handler did not want all of it
            stream->failed = true;
        return;
    }
    case What::copy: return give_back(static_cast<Copy *>(event));
    case What::receive: {
        auto *stream = static_cast<ReceiveStream *>(event);
        if (!good) {
            stream->broken = stream->holed = true;
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
    if (kind != Kind::word) [[likely]] {
        hold(peer, static_cast<int>(slot->pool->units));
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
    if (const auto word = static_cast<Word>(name_of(label)); word == Word::hello)
        take_hello(peer, *slot);
    else if (word == Word::bye)
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

void Node::tell_credit(Peer &peer)
{
    if (!peer.dead && !peer.left)
        say(peer, Word::credit, nullptr, 0);
}

/// Sends a packet that needs no credit.
bool Node::say(Peer &peer, Word word, mx_segment_t *segments, uint32_t count)
{
    peer.told = peer.freed;
    const uint64_t bits = label(word, options_.node) | uint64_t{peer.freed & freed_mask} << 16;
    const mx_return_t code = mx_isend(endpoint_, segments, count, peer.address, bits, nullptr, nullptr);
    if (code == MX_SUCCESS)
        return true;
    lose(peer, code);
    return false;
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

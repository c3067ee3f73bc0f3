// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Extraction: packets find their handlers, which run here, wait for more, and go on.
#include "api.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace fm {

namespace {

/// Takes what a packet has not given yet.
uint32_t copy_from(Slot &slot, std::byte *buffer, uint32_t room)
{
    const uint32_t part = std::min(room, slot.length - slot.at);
    std::memcpy(buffer, slot.data + slot.at, part);
    slot.at += part;
    return part;
}

bool is_notice(const Slot &slot) { return kind_of(slot.label) == Kind::notice; }

uint64_t eight_bytes(const Slot &slot)
{
    uint64_t value = 0;
    if (slot.length >= sizeof value)
        std::memcpy(&value, slot.data, sizeof value);
    return value;
}

uint64_t bulk_size(const Slot &notice) { return std::min<uint64_t>(eight_bytes(notice), bulk_bytes); }

} // namespace

uint32_t Node::extract(uint32_t limit)
{
    const Lock lock(mutex_);
    if (!ready_for_use_ || inside_handler()) [[unlikely]]
        return refuse_extract();
    if (short_.posted <= short_.wanted / 2 && short_.free) [[unlikely]]
        refill(short_);
    if (wide_.posted <= wide_.wanted / 2 && wide_.free) [[unlikely]]
        refill(wide_);
    Visit visit{emx::Lock::this_thread(), false, visits_};
    visits_ = &visit;
    uint64_t spent = 0, taken = 0; // an empty packet counts as a byte of the limit
    for (bool more = true; more && spent < limit;) {
        if (woken_) [[unlikely]] {
            more = resume_next(woken_, visit);
        } else if (Slot *slot = ready_.pop()) {
            const uint64_t bytes = is_notice(*slot) ? bulk_size(*slot) : slot->length;
            taken += bytes;
            spent += std::max<uint64_t>(bytes, 1);
            more = process(slot, visit);
        } else if (pump_inline()) {
            continue;
        } else if (broken_) [[unlikely]] { // only now: what the dead one sent before is of use
            more = resume_next(broken_, visit);
        } else {
            constexpr uint32_t looks_between = 16384;
            if (++idle_ % looks_between == 0 || in_trouble()) [[unlikely]]
                rest();
            break;
        }
    }
    if (limit == 0) [[unlikely]]
        drain();
    if (visits_ == &visit) [[likely]]
        visits_ = visit.next;
    else
        end_among_others(visit);
    if (news_) [[unlikely]]
        fail(std::exchange(news_, 0));
    return static_cast<uint32_t>(std::min<uint64_t>(taken, FM_ALL));
}

/// Nothing has come for a while: few receives will do again.
void Node::rest()
{
    short_.wanted = std::max(short_.wanted / 2, wanted_least);
    wide_.wanted = std::max(wide_.wanted / 2, wide_wanted_least);
    look_after(nullptr);
}

uint32_t Node::refuse_extract()
{
    fail(ready_for_use_ ? FM_E_IN_HANDLER : FM_E_INIT);
    return 0;
}

void Node::drain()
{
    while (pump()) {
    }
}

/// Other threads entered FM_extract later.
void Node::end_among_others(Visit &visit)
{
    Visit **at = &visits_;
    while (*at != &visit)
        at = &(*at)->next;
    *at = visit.next;
}

/// The first handler of a list goes on.
bool Node::resume_next(ReceiveStream *&list, Visit &visit)
{
    ReceiveStream *stream = list;
    list = stream->next_woken;
    stream->woken = false;
    return resume(stream, visit);
}

/// Gives a packet to its message. False: a handler wants this FM_extract to end.
inline bool Node::process(Slot *slot, Visit &visit)
{
    const uint32_t handler = name_of(slot->label);
    if (kind_of(slot->label) != Kind::first || !is_last(slot->label)) [[unlikely]]
        return process_part(slot, visit);
    if (handler >= handlers_.size() || !handlers_[handler].is_known()) [[unlikely]]
        return drop_unknown(slot);
    return run_whole(slot, handlers_[handler], visit);
}

/// Gives a packet to its message of several.
bool Node::process_part(Slot *slot, Visit &visit)
{
    if (kind_of(slot->label) == Kind::first)
        return start(slot, visit);
    ReceiveStream *stream = find(peers_[node_of(slot->label)], name_of(slot->label));
    const bool last = is_last(slot->label);
    if (!stream || stream->dropping) {
        discard(slot);
        if (stream) {
            stream->ended = last;
            if (last)
                remove(stream);
        }
        return true;
    }
    stream->queue.push(slot);
    stream->ended = last;
    return !stream->waiting || stream->woken || stream->bulk_out || resume(stream, visit);
}

bool Node::start(Slot *slot, Visit &visit)
{
    Peer &peer = peers_[node_of(slot->label)];
    const uint32_t handler = name_of(slot->label);
    ReceiveStream *stream = new_receive(peer, handler);
    stream->number = peer.streams_in++;
    stream->announced = eight_bytes(*slot);
    slot->at = std::min(announce_bytes, slot->length);
    stream->next = peer.streams;
    peer.streams = stream;
    if (handler >= handlers_.size() || !handlers_[handler].is_known()) {
        stream->dropping = true;
        return drop_unknown(slot);
    }
    stream->current = slot;
    if (!(stream->coroutine = coroutine())) {
        news_ = FM_E_MX;
        warn("no memory for the stack of a handler: its message is dropped; lower FM_STACK");
        stream->returned = true;
        finish(stream);
        return true;
    }
    return resume(stream, visit);
}

/// A message of one packet never waits for more: its handler runs on the stack of the caller, without the
/// lock.
inline bool Node::run_whole(Slot *slot, const Entry &entry, Visit &visit)
{
    const uint32_t node = node_of(slot->label);
    ReceiveStream *stream = nullptr;
    if (entry.streams) {
        stream = spare_receive(peers_[node]);
        stream->current = slot;
        stream->whole = true;
    }
    visit.in_handler = true;
    const Entry copy = entry; // others may register handlers meanwhile
    mutex_.unlock();
    const int result = [&]() noexcept {
        return stream ? copy.streams(stream, node) : copy.whole(slot->data, slot->length, node);
    }();
    mutex_.lock();
    visit.in_handler = false;
    if (stream) {
        stream->current = nullptr;
        remove(stream);
    }
    free_slot(slot);
    return result != FM_QUIT;
}

bool Node::drop_unknown(Slot *slot)
{
    news_ = FM_E_HANDLER;
    warn("a message of node " + std::to_string(node_of(slot->label)) + " for handler " +
         std::to_string(name_of(slot->label)) +
         ", which is not registered here, is dropped; register it before the first FM_extract");
    discard(slot);
    return true;
}

/// A packet that no handler wants; the sender of a long piece is not left waiting.
void Node::discard(Slot *slot)
{
    if (is_notice(*slot))
        mx_irecv(endpoint_, nullptr, 0, bulk_label(slot->label), MX_MATCH_MASK_NONE, nullptr, nullptr);
    free_slot(slot);
}

// ---- handlers with stacks of their own. The lock is held at each switch.

Coroutine *Node::coroutine()
{
    Coroutine *spare = spare_coroutines_;
    if (spare) {
        spare_coroutines_ = spare->next;
        return spare;
    }
    try {
        coroutines_.push_back(std::make_unique<Coroutine>(options_.stack, body));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
    ++stacks_;
    return coroutines_.back().get();
}

void Node::body(void *argument)
{
    auto *stream = static_cast<ReceiveStream *>(argument);
    stream->node.run_handler(stream);
}

/// Not inlined: the handler may have come back on another thread, and compilers take a function's thread for
/// one and the same.
[[gnu::noinline]] void Node::lock_again() { mutex_.lock(); }

void Node::run_handler(ReceiveStream *stream)
{
    const Entry entry = handlers_[stream->handler];
    mutex_.unlock();
    const int result = [&]() noexcept {
        return entry.streams ? entry.streams(stream, stream->from->node) : assemble(stream, entry.whole);
    }();
    lock_again();
    stream->result = result;
    stream->returned = true;
}

/// A long message for a handler of FM 1.x.
int Node::assemble(ReceiveStream *stream, FM_handler_1 *handler)
{
    std::unique_ptr<uint64_t[]> buffer;
    if (stream->announced < FM_ALL)
        buffer.reset(new (std::nothrow) uint64_t[stream->announced / 8 + 1]);
    if (!buffer) {
        const Lock lock(mutex_);
        news_ = FM_E_MX;
        warn("no memory for a message of " + std::to_string(stream->announced) + " bytes: it is dropped");
        return FM_CONTINUE;
    }
    int code = 0;
    const uint32_t got = receive_more(*stream, reinterpret_cast<std::byte *>(buffer.get()),
                                      static_cast<uint32_t>(stream->announced), 0, code);
    if (code == FM_E_PEER)
        return FM_CONTINUE;
    return handler(buffer.get(), got, stream->from->node);
}

bool Node::resume(ReceiveStream *stream, Visit &visit)
{
    visit.in_handler = true;
    stream->waiting = false;
    stream->coroutine->enter(stream);
    visit.in_handler = false;
    if (!stream->returned)
        return true;
    const int result = stream->result;
    finish(stream);
    return result != FM_QUIT;
}

/// A handler returned: what it did not receive is dropped, now and later.
void Node::finish(ReceiveStream *stream)
{
    if (stream->coroutine) {
        stream->coroutine->next = spare_coroutines_;
        spare_coroutines_ = stream->coroutine;
        stream->coroutine = nullptr;
    }
    if (stream->current)
        discard(std::exchange(stream->current, nullptr));
    while (Slot *slot = stream->queue.pop())
        discard(slot);
    stream->open = false;
    if (stream->ended || stream->broken || stream->from->dead)
        remove(stream);
    else
        stream->dropping = true;
}

/// A stream with what all have, which is all that a message of one packet needs.
inline ReceiveStream *Node::spare_receive(Peer &peer)
{
    ReceiveStream *stream = spare_receives_;
    if (!stream) [[unlikely]]
        stream = add_receive();
    else if (!(spare_receives_ = stream->next))
        last_spare_receive_ = nullptr;
    stream->from = &peer;
    stream->waiting = false;
    stream->open = true;
    return stream;
}

ReceiveStream *Node::add_receive()
{
    receives_.push_back(std::make_unique<ReceiveStream>(*this));
    return receives_.back().get();
}

ReceiveStream *Node::new_receive(Peer &peer, uint32_t handler)
{
    ReceiveStream *stream = spare_receive(peer);
    stream->handler = handler;
    stream->whole = stream->ended = stream->broken = stream->holed = stream->dropping = stream->returned =
        false;
    stream->bulk_posted = stream->rest_at = stream->rest_end = 0;
    return stream;
}

ReceiveStream *Node::find(const Peer &peer, uint32_t number) const
{
    for (ReceiveStream *stream = peer.streams; stream; stream = stream->next)
        if (stream->number == (number & 0xffff))
            return stream;
    return nullptr;
}

void Node::remove(ReceiveStream *stream)
{
    if (!stream->whole) {
        ReceiveStream **at = &stream->from->streams;
        while (*at != stream)
            at = &(*at)->next;
        *at = stream->next;
    }
    stream->open = false;
    stream->next = nullptr;
    (last_spare_receive_ ? last_spare_receive_->next : spare_receives_) = stream;
    last_spare_receive_ = stream;
}

/// The handler goes on in the next FM_extract.
void Node::wake(ReceiveStream *stream)
{
    if (!stream->waiting || stream->woken)
        return;
    ReceiveStream *&list = stream->broken ? broken_ : woken_;
    stream->woken = true;
    stream->next_woken = list;
    list = stream;
}

/// The handler goes on when there is more. Packets of a sender that is gone may still wait to be looked at:
/// the end of the message comes behind them.
void Node::suspend(ReceiveStream &stream)
{
    stream.waiting = true;
    if (!stream.bulk_out && (stream.from->dead || stream.from->left)) {
        stream.broken = true;
        wake(&stream);
    }
    stream.coroutine->leave();
}

// ---- FM_receive

uint32_t Node::receive(FM_stream *handle, void *buffer, uint32_t length)
{
    if (!handle || handle->what != What::receive || !handle->open ||
        static_cast<ReceiveStream *>(handle)->waiting) [[unlikely]] {
        fail(FM_E_STREAM);
        return 0;
    }
    auto &stream = static_cast<ReceiveStream &>(*handle);
    auto *to = static_cast<std::byte *>(buffer);
    uint32_t got = 0;
    if (stream.current) [[likely]] // the handler's alone
        got = copy_from(*stream.current, to, length);
    if (got == length) [[likely]]
        return got;
    int code = FM_E_END;
    if (!stream.whole)
        got = receive_more(stream, to, length, got, code = 0);
    if (code)
        fail(code);
    return got;
}

uint32_t Node::receive_more(ReceiveStream &stream, std::byte *buffer, uint32_t length, uint32_t got,
                            int &code)
{
    const Lock lock(mutex_);
    uint32_t sure = got; // what is here, and not under way as part of a long piece
    while (got < length && !code) {
        if (stream.holed) {
            code = FM_E_PEER;
        } else if (Slot *slot = stream.current; slot && slot->at < slot->length) {
            got += copy_from(*slot, buffer + got, length - got);
        } else if (slot) {
            free_slot(std::exchange(stream.current, nullptr));
        } else if (stream.rest_at < stream.rest_end) {
            const uint32_t part = std::min(length - got, stream.rest_end - stream.rest_at);
            std::memcpy(buffer + got, &stream.rest[stream.rest_at], part);
            stream.rest_at += part;
            got += part;
        } else if (stream.queue.head && is_notice(*stream.queue.head)) {
            if (stream.broken || stream.from->dead)
                code = FM_E_PEER; // it will not come any more
            else if (stream.bulk_posted == stream.bulk.size())
                suspend(stream);
            else
                got += take_bulk(stream, buffer + got, length - got);
        } else if (stream.queue.head) {
            stream.current = stream.queue.pop();
        } else if (stream.ended) {
            code = FM_E_END;
        } else if (stream.broken) {
            code = FM_E_PEER;
        } else {
            suspend(stream);
        }
        if (!stream.bulk_out && !stream.holed)
            sure = got;
    }
    while (stream.bulk_out)
        suspend(stream);
    if (!stream.holed)
        return got;
    if (stream.current)
        free_slot(std::exchange(stream.current, nullptr)); // nothing behind the hole is of use
    code = FM_E_PEER;
    return sure;
}

/// A long piece is received into the handler's memory, and what is beyond it into memory of the stream.
uint32_t Node::take_bulk(ReceiveStream &stream, std::byte *buffer, uint32_t length)
{
    Slot *notice = stream.queue.pop();
    const uint64_t size = bulk_size(*notice);
    const auto here = static_cast<uint32_t>(std::min<uint64_t>(size, length));
    const auto beyond = static_cast<uint32_t>(size - here);
    if (stream.rest.size() < beyond)
        stream.rest.resize(beyond);
    mx_segment_t segments[] = {{buffer, here}, {stream.rest.data(), beyond}};
    if (mx_irecv(endpoint_, segments, 2, bulk_label(notice->label), MX_MATCH_MASK_NONE,
                 static_cast<Event *>(&stream), &stream.bulk[stream.bulk_posted]) != MX_SUCCESS) {
        stream.broken = stream.holed = true;
    } else {
        ++stream.bulk_posted;
        ++stream.bulk_out;
    }
    stream.rest_at = 0;
    stream.rest_end = beyond;
    free_slot(notice);
    return here;
}

} // namespace fm

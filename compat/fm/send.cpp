// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sending: room for a message, its pieces, its packets.
#include "api.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace fm {

namespace {

constexpr uint32_t open_most = 16; ///< streams of a node to one other: each may keep a handler waiting there
/// The peer tells streams apart by 16 bits of their number: none may be so far behind.
constexpr uint32_t behind_most = 60000;

/// Credits of a message that is cut into short packets. Wide ones take no more, but for the last.
uint32_t units_of_message(uint64_t length)
{
    if (length <= packet_bytes)
        return 1;
    return static_cast<uint32_t>(
        std::min<uint64_t>((length + announce_bytes + packet_bytes - 1) / packet_bytes, 1 << 30));
}

} // namespace

inline int Node::check_send(uint32_t dest, uint32_t handler) const
{
    if (!ready_for_use_) [[unlikely]]
        return FM_E_INIT;
    if (dest >= count()) [[unlikely]]
        return FM_E_NODE;
    if (handler >= handlers_.size()) [[unlikely]]
        return FM_E_HANDLER;
    return 0;
}

/// Takes in packets while a thread waits outside of handlers; runs none.
void Node::pause(Lock &lock, Peer *awaited)
{
    if (pump())
        return;
    constexpr uint32_t looks_between = 1024;
    if (++idle_ % looks_between == 0 || in_trouble())
        look_after(awaited);
    lock.unlock(); // others may extract
    lock.lock();
}

/// Waits for credits. False with a code: for no such wait is there a promise that it ends.
bool Node::room_by_waiting(Peer &peer, uint32_t units, Lock &lock, int &code)
{
    for (;;) {
        if (peer.dead || peer.left)
            code = FM_E_PEER;
        else if (peer.free_credits() >= units)
            return true;
        // Credits that our own open streams have reserved come free by our own doing alone.
        else if (crowded_ || peer.reserved || &peer == &peers_[options_.node])
            code = FM_E_FULL;
        else {
            pause(lock, &peer);
            continue;
        }
        // Packets that lie in MX may have credits for us.
        if (code != FM_E_FULL || !pump())
            return false;
    }
}

/// Credits for so many units; 0 or an error.
inline int Node::reserve(Lock &lock, Peer &peer, uint32_t units)
{
    if (peer.dead || peer.left) [[unlikely]]
        return FM_E_PEER;
    if (peer.free_credits() >= units) [[likely]]
        return 0;
    return reserve_later(lock, peer, units);
}

int Node::reserve_later(Lock &lock, Peer &peer, uint32_t units)
{
    int code = FM_E_FULL;
    if (inside_handler()) {
        while (pump())
            if (peer.free_credits() >= units)
                return 0;
        return peer.dead ? FM_E_PEER : FM_E_FULL;
    }
    return room_by_waiting(peer, units, lock, code) ? 0 : code;
}

SendStream *Node::add_send()
{
    sends_.push_back(std::make_unique<SendStream>(*this));
    return sends_.back().get();
}

inline SendStream *Node::new_send(Peer &peer, uint64_t length, uint32_t handler, uint32_t credits)
{
    SendStream *stream = spare_sends_;
    if (!stream) [[unlikely]]
        stream = add_send();
    else if (!(spare_sends_ = stream->next))
        last_spare_send_ = nullptr;
    stream->to = &peer;
    stream->handler = handler;
    stream->announced = length;
    stream->given = 0;
    stream->started = stream->finished = stream->failed = false;
    stream->bulk_out = 0;
    stream->count = stream->bytes = stream->gathered_bytes = 0;
    stream->room = length <= packet_bytes ? packet_bytes : packet_bytes - announce_bytes;
    stream->waits = false;
    stream->open = true;
    stream->credits = credits;
    peer.reserved += credits;
    ++peer.open;
    ++open_;
    sender_ = emx::Lock::this_thread();
    return stream;
}

/// 0, or the error of another stream to that node while some are open.
int Node::check_open(const Peer &peer) const
{
    if (sender_ != emx::Lock::this_thread() || peer.open >= open_most)
        return FM_E_BUSY;
    for (const auto &other : sends_)
        if (other->open && other->to == &peer && other->started &&
            static_cast<uint16_t>(peer.streams_out - other->number) > behind_most)
            return FM_E_BUSY;
    return 0;
}

inline int Node::begin_locked(Lock &lock, uint32_t dest, uint64_t length, uint32_t handler,
                              SendStream *&stream)
{
    Peer &peer = peers_[dest];
    if (const int code = open_ ? check_open(peer) : 0) [[unlikely]]
        return code;
    uint32_t units = units_of_message(length);
    const bool waits = units > peer.whole;
    if (waits) [[unlikely]] {
        if (inside_handler() || &peer == &peers_[options_.node]) // nobody extracts while we wait
            return FM_E_TOO_LONG;
        units = 1;
    }
    if (const int code = reserve(lock, peer, units)) [[unlikely]]
        return code;
    if (open_ && sender_ != emx::Lock::this_thread()) [[unlikely]] // begun while we waited
        return FM_E_BUSY;
    stream = new_send(peer, length, handler, units);
    stream->waits = waits;
    return 0;
}

/// A short message with credit while no other is open; or nullptr.
inline SendStream *Node::begin_short(uint32_t dest, uint64_t length, uint32_t handler)
{
    if (length > packet_bytes || open_ || check_send(dest, handler)) [[unlikely]]
        return nullptr;
    Peer &peer = peers_[dest];
    if (peer.dead || peer.left || !peer.free_credits()) [[unlikely]]
        return nullptr;
    return new_send(peer, length, handler, 1);
}

SendStream *Node::begin(uint32_t dest, uint64_t length, uint32_t handler)
{
    {
        const std::lock_guard<emx::Lock> lock(mutex_);
        if (SendStream *stream = begin_short(dest, length, handler)) [[likely]]
            return stream;
    }
    return begin_otherwise(dest, length, handler);
}

SendStream *Node::begin_otherwise(uint32_t dest, uint64_t length, uint32_t handler)
{
    Lock lock(mutex_);
    SendStream *stream = nullptr;
    int code = check_send(dest, handler);
    if (!code) [[likely]]
        code = begin_locked(lock, dest, length, handler, stream);
    if (code) [[unlikely]]
        fail(code);
    return stream;
}

inline SendStream *Node::sending(FM_stream *stream)
{
    if (stream && stream->what == What::send && stream->open) [[likely]]
        return static_cast<SendStream *>(stream);
    fail(FM_E_STREAM);
    return nullptr;
}

/// Takes credits of the stream; one that waits may have to wait for them.
inline bool Node::credit(Lock &lock, SendStream &stream, uint32_t units)
{
    Peer &peer = *stream.to;
    if (stream.credits < units && !credit_later(lock, stream, units)) [[unlikely]]
        return false;
    stream.credits -= units;
    peer.reserved -= units;
    return !peer.dead && !peer.left;
}

bool Node::credit_later(Lock &lock, SendStream &stream, uint32_t units)
{
    Peer &peer = *stream.to;
    while (stream.credits < units) {
        if (peer.dead || peer.left)
            return false;
        if (peer.free_credits()) {
            ++stream.credits;
            ++peer.reserved;
        } else {
            pause(lock, &peer);
        }
    }
    return true;
}

/// Sends the packet that is gathered.
bool Node::flush(Lock &lock, SendStream &stream, bool last)
{
    Peer &peer = *stream.to;
    mx_segment_t *segments = &stream.segments[1];
    uint32_t count = stream.count;
    Kind kind = Kind::body;
    uint32_t name = stream.number;
    uint64_t announced = stream.announced;
    const bool announces = !stream.started && !last;
    const uint32_t units = units_of(stream.bytes + (announces ? announce_bytes : 0));
    if (!credit(lock, stream, units))
        return !(stream.failed = true);
    if (!stream.started) {
        kind = Kind::first;
        name = stream.handler;
        stream.started = true;
        if (announces) {
            stream.segments[0] = {&announced, announce_bytes};
            --segments;
            ++count;
            stream.number = peer.streams_out++;
        }
    }
    stream.room = packet_bytes;
    stream.count = stream.bytes = stream.gathered_bytes = 0;
    stream.finished = last;
    if (!transmit(peer, label(kind, last, options_.node, name), segments, count, units))
        stream.failed = true;
    return !stream.failed;
}

/// Many small pieces: copied together, since MX takes so many segments only.
void Node::gather(SendStream &stream)
{
    if (!stream.gathered)
        stream.gathered.reset(new std::byte[wide_bytes]);
    uint32_t at = stream.gathered_bytes; // the first segment lies there already, if any does
    for (uint32_t i = at ? 2 : 1; i <= stream.count; i++) {
        const mx_segment_t &piece = stream.segments[i];
        std::memcpy(&stream.gathered[at], piece.segment_ptr, piece.segment_length);
        at += piece.segment_length;
    }
    stream.gathered_bytes = at;
    stream.count = 1;
    stream.segments[1] = {stream.gathered.get(), at};
}

/// Makes room in the packet for bytes at hand that a short one cannot take: all that is left of the message,
/// or as many as a wide packet holds. Fewer leave in short packets, so that nothing at hand waits for more.
void Node::widen(SendStream &stream, uint64_t at_hand, bool all)
{
    Peer &peer = *stream.to;
    if (all && at_hand <= peer.longest && peer.longest > packet_bytes) {
        const uint32_t more = stream.waits || stream.credits >= wide_units ? 0 : wide_units - stream.credits;
        if (more && peer.free_credits() < more)
            return;
        stream.credits += more;
        peer.reserved += more;
        stream.room = peer.longest;
    } else if (const uint32_t room = peer.longest - (stream.started ? 0 : announce_bytes); at_hand >= room) {
        stream.room = room;
    }
}

/// Adds bytes; a full packet leaves when more bytes follow it, so that the last one is known as such.
inline void Node::add(Lock &lock, SendStream &stream, const std::byte *data, uint64_t length)
{
    const uint64_t later = stream.announced - stream.given - length;
    while (length) {
        if (stream.bytes + length > stream.room) [[unlikely]] {
            if (stream.room <= packet_bytes)
                widen(stream, stream.bytes + length, later == 0);
            if (stream.bytes == stream.room && !flush(lock, stream, false))
                return;
        }
        if (stream.count == stream.segments.size() - 1) [[unlikely]]
            gather(stream);
        const auto part = static_cast<uint32_t>(std::min<uint64_t>(length, stream.room - stream.bytes));
        stream.segments[++stream.count] = {const_cast<std::byte *>(data), part};
        stream.bytes += part;
        data += part;
        length -= part;
    }
}

void Node::give_back(Copy *copy)
{
    copy->next = spare_copies_;
    spare_copies_ = copy;
}

/// Memory for a long piece, or null.
Copy *Node::take_copy()
{
    while (!spare_copies_ && pump()) { // it is free once MX has said so
    }
    if (Copy *copy = spare_copies_) {
        spare_copies_ = copy->next;
        return copy;
    }
    if (copies_.size() == copies_most)
        return nullptr;
    try {
        copies_.push_back(std::make_unique<Copy>());
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
    return copies_.back().get();
}

/// Sends a part of a long piece as an MX message of its own, behind its notice.
bool Node::send_part(Lock &lock, SendStream &stream, const std::byte *data, uint64_t length, bool last,
                     Event *event)
{
    Peer &peer = *stream.to;
    if (!credit(lock, stream, 1))
        return false;
    const uint64_t notice = label(Kind::notice, last, options_.node, stream.number) | peer.sent;
    mx_segment_t size{&length, sizeof length};
    mx_segment_t piece{const_cast<std::byte *>(data), static_cast<uint32_t>(length)};
    mx_request_t request; // found again by its context
    stream.finished = last;
    return transmit(peer, label(Kind::notice, last, options_.node, stream.number), &size, 1, 1) &&
           mx_isend(endpoint_, &piece, 1, peer.address, bulk_label(notice), event, &request) == MX_SUCCESS;
}

/// Sends what it can of a long piece without packets, and returns how much that is: of a message that waits
/// for credits, from where it lies; of another, whose end must not wait, a copy, if there is memory for it.
uint32_t Node::add_bulk(Lock &lock, SendStream &stream, const std::byte *data, uint32_t length)
{
    const uint64_t left = stream.announced - stream.given;
    Copy *copy = stream.waits ? nullptr : take_copy();
    if (!copy && !stream.waits)
        return 0;
    if ((stream.bytes || !stream.started) && !flush(lock, stream, false)) {
        stream.failed = true;
    } else if (copy) {
        std::memcpy(copy->data.get(), data, length);
        stream.failed = !send_part(lock, stream, copy->data.get(), length, length == left, copy);
    }
    if (copy && stream.failed)
        give_back(copy);
    uint32_t sent = copy ? length : 0;
    while (length - sent >= bulk_min_ && !stream.failed) {
        const uint32_t part = std::min(length - sent, bulk_bytes);
        stream.failed =
            !send_part(lock, stream, data + sent, part, sent + part == left, static_cast<Event *>(&stream));
        stream.bulk_out += !stream.failed;
        sent += part;
    }
    return sent;
}

inline int Node::piece_locked(Lock &lock, SendStream &stream, const void *buffer, uint32_t length)
{
    if (length > stream.announced - stream.given) [[unlikely]]
        return FM_E_LENGTH;
    if (!stream.failed) [[likely]] {
        const auto *data = static_cast<const std::byte *>(buffer);
        if (length >= bulk_min_) [[unlikely]] {
            const uint32_t sent = add_bulk(lock, stream, data, length);
            stream.given += sent;
            data += sent;
            length -= sent;
        }
        if (!stream.failed) [[likely]]
            add(lock, stream, data, length);
        stream.given += length;
    }
    return stream.failed ? FM_E_PEER : 0;
}

/// Adds a piece that the packet has room for: nothing but the stream, which is the caller's, learns of it.
inline bool SendStream::fits(const void *buffer, uint32_t length)
{
    if (length == 0 || length > announced - given || uint64_t{length} + bytes > room ||
        count == segments.size() - 1 || failed) [[unlikely]]
        return false;
    segments[++count] = {const_cast<void *>(buffer), length};
    bytes += length;
    given += length;
    return true;
}

void Node::piece(FM_stream *handle, const void *buffer, uint32_t length)
{
    if (handle && handle->what == What::send && handle->open &&
        static_cast<SendStream *>(handle)->fits(buffer, length)) [[likely]]
        return;
    piece_otherwise(handle, buffer, length);
}

void Node::piece_otherwise(FM_stream *handle, const void *buffer, uint32_t length)
{
    Lock lock(mutex_);
    if (SendStream *stream = sending(handle))
        if (const int code = piece_locked(lock, *stream, buffer, length)) [[unlikely]]
            fail(code);
}

inline int Node::end_locked(Lock &lock, SendStream &stream)
{
    Peer &peer = *stream.to;
    if (!stream.failed && !stream.finished) [[likely]]
        flush(lock, stream, true);
    while (stream.bulk_out)
        [[unlikely]] // its memory is still read
        pause(lock, &peer);
    return close_send(stream);
}

inline int Node::close_send(SendStream &stream)
{
    Peer &peer = *stream.to;
    peer.reserved -= std::exchange(stream.credits, 0);
    --peer.open;
    --open_;
    stream.open = false;
    stream.next = nullptr;
    (last_spare_send_ ? last_spare_send_->next : spare_sends_) = &stream;
    last_spare_send_ = &stream;
    return stream.failed ? FM_E_PEER : 0;
}

/// Ends a message of which nothing has left, and that fits a short packet. False: it is none.
inline bool Node::end_short(SendStream &stream)
{
    Peer &peer = *stream.to;
    if (stream.started || stream.bytes > packet_bytes || stream.failed || peer.dead || peer.left) [[unlikely]]
        return false;
    stream.failed = !transmit(peer, label(Kind::first, true, options_.node, stream.handler),
                              &stream.segments[1], stream.count, 1);
    if (const int code = close_send(stream)) [[unlikely]]
        fail(code);
    return true;
}

void Node::end(FM_stream *handle)
{
    {
        const std::lock_guard<emx::Lock> lock(mutex_);
        if (handle && handle->what == What::send && handle->open &&
            end_short(static_cast<SendStream &>(*handle))) [[likely]]
            return;
    }
    end_otherwise(handle);
}

void Node::end_otherwise(FM_stream *handle)
{
    Lock lock(mutex_);
    if (SendStream *stream = sending(handle))
        if (const int code = end_locked(lock, *stream)) [[unlikely]]
            fail(code);
}

int Node::send_long(Lock &lock, uint32_t dest, uint32_t handler, const void *buffer, uint32_t size)
{
    SendStream *stream = nullptr;
    if (const int code = begin_locked(lock, dest, size, handler, stream))
        return code;
    if (stream->waits)
        piece_locked(lock, *stream, buffer, size);
    else // no copies that the next message could overtake: whole messages end in order
        add(lock, *stream, static_cast<const std::byte *>(buffer), size);
    return end_locked(lock, *stream);
}

/// A whole message of FM 1.x.
int Node::send(uint32_t dest, uint32_t handler, const void *buffer, uint32_t size)
{
    Lock lock(mutex_);
    int code = check_send(dest, handler);
    if (!code) [[likely]] {
        Peer &peer = peers_[dest];
        if (size > peer.longest) [[unlikely]] {
            code = send_long(lock, dest, handler, buffer, size);
        } else {
            const uint32_t units = units_of(size);
            mx_segment_t segment{const_cast<void *>(buffer), size};
            code = reserve(lock, peer, units);
            if (!code &&
                !transmit(peer, label(Kind::first, true, options_.node, handler), &segment, 1, units))
                code = FM_E_PEER;
        }
    }
    if (code) [[unlikely]]
        fail(code);
    return -code;
}

} // namespace fm

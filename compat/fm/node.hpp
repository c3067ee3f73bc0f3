// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One node of a job: everything that Fast Messages knows. The protocol stands in label.hpp.
#pragma once

#include "coroutine.hpp"
#include "fm.h"
#include "label.hpp"

#include <compat/job/fifo.hpp>
#include <compat/job/party.hpp>
#include <driver/base/lock.hpp>

#include <myriexpress.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fm {

class Node;
struct Peer;

/// Kinds of objects that the context of an MX request points to.
enum class What : uint8_t { slot, send, copy, receive, ping };
struct Event {
    explicit Event(What w) : what(w) {}
    What what;
};

struct Pool;

/// A packet, or room for one.
struct Slot : Event {
    Slot() : Event(What::slot) {}
    Pool *pool = nullptr;
    std::byte *data = nullptr;
    uint32_t length = 0;
    uint32_t at = 0; ///< bytes that are used up
    uint64_t label = 0;
    Slot *next = nullptr;
};

/// The slots of one size.
struct Pool {
    uint32_t bytes = 0, units = 0; ///< of each
    uint64_t match = 0; ///< of its packets
    Slot *free = nullptr; ///< the one used last comes first
    uint32_t posted = 0; ///< 0 only while none is free
    uint32_t wanted = 0; ///< posted, once the program has looked for packets
};

/// Memory of ours that a long piece leaves from.
struct Copy : Event {
    Copy() : Event(What::copy), data(new std::byte[copy_bytes]) {}
    std::unique_ptr<std::byte[]> data;
    Copy *next = nullptr;
};

using SlotQueue = job::Fifo<Slot>;

} // namespace fm

/// Never freed before the node: a stream that is used after its end is told from one that is open.
struct FM_stream : fm::Event {
    FM_stream(fm::What w, fm::Node &n) : Event(w), node(n) {}
    fm::Node &node;
    bool open = false;
};

namespace fm {

struct SendStream : FM_stream {
    explicit SendStream(Node &n) : FM_stream(What::send, n) {}
    bool fits(const void *buffer, uint32_t length);
    bool started = false; ///< the first packet has left
    bool waits = false; ///< longer than Peer::whole: its pieces wait for credits
    bool finished = false; ///< the last packet has left
    bool failed = false;
    uint32_t handler = 0;
    Peer *to = nullptr;
    uint32_t credits = 0; ///< reserved and not used yet
    uint32_t room = 0; ///< bytes, in the packet that is being gathered
    uint64_t announced = 0, given = 0; ///< bytes
    uint32_t count = 0, bytes = 0; ///< of that packet
    uint32_t gathered_bytes = 0; ///< of them, that lie in `gathered`
    uint32_t bulk_out = 0; ///< long pieces under way from the user's memory
    uint32_t number = 0; ///< of the stream, once its first packet has left
    SendStream *next = nullptr;
    std::unique_ptr<std::byte[]> gathered; ///< many small pieces
    std::array<mx_segment_t, MX_MAX_SEGMENTS> segments; ///< [0] is for what stands before the packet
};

struct ReceiveStream : FM_stream {
    explicit ReceiveStream(Node &n) : FM_stream(What::receive, n) {}
    Peer *from = nullptr;
    uint32_t number = 0;
    uint32_t handler = 0;
    uint64_t announced = 0;
    Slot *current = nullptr; ///< the handler reads from it
    SlotQueue queue; ///< what comes after it
    Coroutine *coroutine = nullptr;
    int result = FM_CONTINUE;
    bool whole = false; ///< current is all of it
    bool ended = false; ///< its last packet is in the queue, or used up
    bool broken = false; ///< the sender died
    bool holed = false; ///< and a long piece of it has not come
    bool waiting = false; ///< in FM_receive
    bool dropping = false; ///< its handler has returned
    bool returned = false;
    bool woken = false; ///< in one of the lists of those
    uint32_t bulk_out = 0; ///< receives of long pieces under way
    uint32_t bulk_posted = 0; ///< since there was none
    std::array<mx_request_t, 8> bulk{};
    std::vector<std::byte> rest; ///< of a long piece that did not fit into what the handler asked for
    uint32_t rest_at = 0, rest_end = 0;
    ReceiveStream *next = nullptr, *next_woken = nullptr;
};

struct Peer : job::Member {
    Event ping{What::ping};
    // Sending.
    uint32_t window = 0; ///< units, that it grants us
    uint32_t longest = packet_bytes; ///< bytes of a packet for it
    uint32_t whole = 0; ///< units of a message that waits for no credits once it has begun
    uint32_t reserved = 0; ///< by open streams
    uint32_t open = 0; ///< streams
    uint16_t sent = 0; ///< packets
    uint16_t spent = 0; ///< units of them
    uint16_t acked = 0; ///< of those, that it has freed
    uint16_t streams_out = 0;
    // Receiving.
    uint16_t expected = 0; ///< number of the next packet
    uint16_t freed = 0, told = 0; ///< units
    uint16_t streams_in = 0;
    uint32_t held = 0; ///< units of its packets here
    Slot *early = nullptr; ///< out of turn
    ReceiveStream *streams = nullptr; ///< those with more than one packet

    uint32_t out() const { return static_cast<uint16_t>(spent - acked); }
    uint32_t free_credits() const { return window - out() - reserved; }
};

struct Options : job::Options {
    Options() { key = 0x464d; }
    uint32_t memory = 8 << 20;
    uint32_t handlers_max = 1024;
    uint32_t stack = 256 << 10;
};

inline constexpr uint32_t wanted_least = 16, wide_wanted_least = 4; ///< slots posted

/// The layer in words for its users.
extern const job::Terms terms_of_fm;

class Node final : job::Party {
public:
    explicit Node(const Options &options);
    ~Node();
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;

    /// Opens the endpoint if need be and meets all others. Empty, or what went wrong and what to do.
    std::string open();
    bool close(); ///< false: not now

    uint32_t register_handler(uint32_t id, FM_handler *streams, FM_handler_1 *whole);
    SendStream *begin(uint32_t dest, uint64_t length, uint32_t handler);
    void piece(FM_stream *stream, const void *buffer, uint32_t length);
    void end(FM_stream *stream);
    int send(uint32_t dest, uint32_t handler, const void *buffer, uint32_t size);
    uint32_t extract(uint32_t limit);
    uint32_t receive(FM_stream *stream, void *buffer, uint32_t length);

    uint32_t number() const { return options_.node; }
    uint32_t count() const { return count_; }
    uint32_t window() const { return window_; }
    // For tests.
    uint32_t held() const; ///< units of all nodes here
    uint32_t stacks() const { return stacks_; } ///< made so far
    uint32_t posted() const; ///< of the short slots
    uint32_t copies_out() const; ///< long pieces that leave from memory of ours

    int error = 0; ///< where FM_errno is the node's (see api.hpp)

private:
    using Lock = std::unique_lock<emx::Lock>;
    struct Entry {
        FM_handler *streams = nullptr;
        FM_handler_1 *whole = nullptr;
        bool is_known() const { return streams || whole; }
    };
    /// A thread in FM_extract.
    struct Visit {
        uintptr_t thread;
        bool in_handler;
        Visit *next;
    };

    // node.cpp: the endpoint, slots, packets, credits
    void add_slots(Pool &pool, uint32_t count, Slot *slots, std::byte *memory);
    void post(Slot *slot);
    void refill(Pool &pool);
    [[gnu::noinline]] void refill_more(Pool &pool);
    bool pump();
    bool pump_inline();
    void take(Event *event, const mx_status_t &status);
    [[gnu::noinline]] void take_other(Event *event, const mx_status_t &status);
    void arrive(Slot *slot);
    [[gnu::noinline]] void arrive_otherwise(Slot *slot);
    void admit(Peer &peer, Slot *slot);
    void admit_early(Peer &peer);
    void take_freed(Peer &peer, uint64_t label);
    void hold(Peer &peer, int units);
    void free_slot(Slot *slot);
    bool transmit(Peer &peer, uint64_t label, mx_segment_t *segments, uint32_t count, uint32_t units);
    bool say(Peer &peer, Word word, mx_segment_t *segments, uint32_t count);
    [[gnu::cold]] void lose(Peer &peer, mx_return_t code);
    void tell_credit(Peer &peer);
    bool inside_handler() const { return visits_ && visits_handler(); }
    [[gnu::noinline]] bool visits_handler() const;
    void fail(int code);

    // meet.cpp: start, end, and death of nodes
    const job::Terms &terms() const override { return terms_of_fm; }
    const job::Options &job() const override { return options_; }
    job::Member &member(uint32_t node) override { return peers_[node]; }
    bool take_one(uint32_t timeout_ms) override;
    void greet(job::Member &member) override;
    bool mourn(job::Member &member) override;
    void take_hello(Peer &peer, const Slot &slot);
    void grant(Peer &peer, uint32_t window);
    void break_stream(ReceiveStream *stream);

    // send.cpp
    int check_send(uint32_t dest, uint32_t handler) const;
    int reserve(Lock &lock, Peer &peer, uint32_t units);
    [[gnu::noinline]] int reserve_later(Lock &lock, Peer &peer, uint32_t units);
    bool room_by_waiting(Peer &peer, uint32_t units, Lock &lock, int &code);
    SendStream *new_send(Peer &peer, uint64_t length, uint32_t handler, uint32_t credits);
    [[gnu::noinline]] SendStream *add_send();
    [[gnu::noinline]] int check_open(const Peer &peer) const;
    int begin_locked(Lock &lock, uint32_t dest, uint64_t length, uint32_t handler, SendStream *&stream);
    [[gnu::noinline]] void widen(SendStream &stream, uint64_t at_hand, bool all);
    void add(Lock &lock, SendStream &stream, const std::byte *data, uint64_t length);
    void give_back(Copy *copy);
    Copy *take_copy();
    bool send_part(Lock &lock, SendStream &stream, const std::byte *data, uint64_t length, bool last,
                   Event *event);
    [[gnu::noinline]] uint32_t add_bulk(Lock &lock, SendStream &stream, const std::byte *data,
                                        uint32_t length);
    [[gnu::noinline]] void gather(SendStream &stream);
    [[gnu::noinline]] bool flush(Lock &lock, SendStream &stream, bool last);
    bool credit(Lock &lock, SendStream &stream, uint32_t units);
    [[gnu::noinline]] bool credit_later(Lock &lock, SendStream &stream, uint32_t units);
    [[gnu::noinline]] void pause(Lock &lock, Peer *awaited);
    SendStream *sending(FM_stream *stream);
    [[gnu::noinline]] void piece_otherwise(FM_stream *stream, const void *buffer, uint32_t length);
    int piece_locked(Lock &lock, SendStream &stream, const void *buffer, uint32_t length);
    SendStream *begin_short(uint32_t dest, uint64_t length, uint32_t handler);
    [[gnu::noinline]] SendStream *begin_otherwise(uint32_t dest, uint64_t length, uint32_t handler);
    int end_locked(Lock &lock, SendStream &stream);
    int close_send(SendStream &stream);
    bool end_short(SendStream &stream);
    [[gnu::noinline]] void end_otherwise(FM_stream *handle);
    [[gnu::noinline]] int send_long(Lock &lock, uint32_t dest, uint32_t handler, const void *buffer,
                                    uint32_t size);

    // receive.cpp
    [[gnu::cold]] uint32_t refuse_extract();
    [[gnu::cold]] void rest();
    [[gnu::noinline]] void drain();
    bool process(Slot *slot, Visit &visit);
    [[gnu::noinline]] bool process_part(Slot *slot, Visit &visit);
    [[gnu::noinline]] bool start(Slot *slot, Visit &visit);
    bool run_whole(Slot *slot, const Entry &entry, Visit &visit);
    [[gnu::noinline]] bool resume_next(ReceiveStream *&list, Visit &visit);
    bool resume(ReceiveStream *stream, Visit &visit);
    [[gnu::cold]] void end_among_others(Visit &visit);
    void finish(ReceiveStream *stream);
    void discard(Slot *slot);
    [[gnu::cold]] bool drop_unknown(Slot *slot);
    static void body(void *stream);
    void lock_again();
    void run_handler(ReceiveStream *stream);
    int assemble(ReceiveStream *stream, FM_handler_1 *handler);
    uint32_t receive_more(ReceiveStream &stream, std::byte *buffer, uint32_t length, uint32_t got, int &code);
    uint32_t take_bulk(ReceiveStream &stream, std::byte *buffer, uint32_t length);
    void suspend(ReceiveStream &stream);
    ReceiveStream *find(const Peer &peer, uint32_t number) const;
    ReceiveStream *spare_receive(Peer &peer);
    ReceiveStream *new_receive(Peer &peer, uint32_t handler);
    [[gnu::noinline]] ReceiveStream *add_receive();
    void remove(ReceiveStream *stream);
    void wake(ReceiveStream *stream);
    Coroutine *coroutine();

    Options options_;
    uint32_t count_; ///< nodes
    mutable emx::Lock mutex_;
    std::vector<Peer> peers_;
    std::vector<Entry> handlers_;
    uint32_t window_ = 0, quarter_ = 0; ///< units
    uint32_t longest_ = 0; ///< bytes of a packet
    uint32_t bulk_min_ = 0; ///< pieces from here on are long
    Pool short_, wide_;
    std::unique_ptr<Slot[]> slots_;
    std::unique_ptr<std::byte[]> memory_;
    SlotQueue ready_; ///< in order of each sender
    ReceiveStream *woken_ = nullptr, *broken_ = nullptr;
    uint32_t crowded_ = 0; ///< nodes with more than a quarter of their window held here
    Visit *visits_ = nullptr;
    uint32_t open_ = 0; ///< send streams
    uintptr_t sender_ = 0; ///< the thread that has them open
    uint32_t idle_ = 0; ///< looks that found nothing
    int news_ = 0; ///< error for the next end of FM_extract
    bool closing_ = false, ready_for_use_ = false;
    uint32_t stacks_ = 0;
    Coroutine *spare_coroutines_ = nullptr;
    Copy *spare_copies_ = nullptr;
    SendStream *spare_sends_ = nullptr, *last_spare_send_ = nullptr;
    ReceiveStream *spare_receives_ = nullptr, *last_spare_receive_ = nullptr;
    std::vector<std::unique_ptr<Copy>> copies_;
    std::vector<std::unique_ptr<SendStream>> sends_;
    std::vector<std::unique_ptr<ReceiveStream>> receives_;
    std::vector<std::unique_ptr<Coroutine>> coroutines_;
};

/// Takes in one thing that MX has finished. Runs no handler.
[[gnu::always_inline]] inline bool Node::pump_inline()
{
    mx_status_t status;
    uint32_t found = 0;
    mx_test_any(endpoint_, 0, 0, &status, &found);
    if (!found)
        return false;
    take(static_cast<Event *>(status.context), status);
    return true;
}

[[gnu::always_inline]] inline void Node::take(Event *event, const mx_status_t &status)
{
    if (event->what != What::slot || status.code != MX_STATUS_SUCCESS) [[unlikely]]
        return take_other(event, status);
    auto *slot = static_cast<Slot *>(event);
    slot->length = status.xfer_length;
    slot->label = status.match_info;
    arrive(slot);
}

/// Nearly all packets come in their turn.
[[gnu::always_inline]] inline void Node::arrive(Slot *slot)
{
    const uint64_t label = slot->label;
    slot->at = 0;
    Peer *peer = node_of(label) < count_ ? &peers_[node_of(label)] : nullptr;
    if (--slot->pool->posted == 0) [[unlikely]]
        refill_more(*slot->pool);
    if (!peer || kind_of(label) == Kind::word || number_of(label) != peer->expected || peer->early ||
        closing_) [[unlikely]]
        return arrive_otherwise(slot);
    take_freed(*peer, label);
    hold(*peer, static_cast<int>(slot->pool->units));
    ++peer->expected;
    ready_.push(slot);
}

// ---- credits

/// Takes in what a packet says of ours. A packet that was overtaken says less than we know.
inline void Node::take_freed(Peer &peer, uint64_t label)
{
    const uint32_t more = (freed_of(label) - peer.acked) & freed_mask;
    if (more <= peer.out())
        peer.acked = static_cast<uint16_t>(peer.acked + more);
}

/// Counts units that a packet takes here, or gives back.
inline void Node::hold(Peer &peer, int units)
{
    const bool before = peer.held > quarter_;
    peer.held += static_cast<uint32_t>(units);
    crowded_ += (peer.held > quarter_) - before;
}

/// The bytes of a packet are used up. Posts nothing as long as it can wait: the program's answer goes first.
inline void Node::free_slot(Slot *slot)
{
    Peer &peer = peers_[node_of(slot->label)];
    Pool &pool = *slot->pool;
    hold(peer, -static_cast<int>(pool.units));
    slot->next = pool.free;
    pool.free = slot;
    if (pool.posted == 0) [[unlikely]]
        refill(pool);
    peer.freed = static_cast<uint16_t>(peer.freed + pool.units);
    if (static_cast<uint16_t>(peer.freed - peer.told) >= quarter_) [[unlikely]]
        tell_credit(peer);
}

/// Sends a packet of a message, which has its credit.
inline bool Node::transmit(Peer &peer, uint64_t label, mx_segment_t *segments, uint32_t count, uint32_t units)
{
    peer.told = peer.freed;
    label |= uint64_t{peer.freed & freed_mask} << 16 | peer.sent++;
    if (units > 1)
        label |= wide_bit;
    peer.spent = static_cast<uint16_t>(peer.spent + units);
    const mx_return_t code = mx_isend(endpoint_, segments, count, peer.address, label, nullptr, nullptr);
    if (code == MX_SUCCESS) [[likely]]
        return true;
    lose(peer, code);
    return false;
}

} // namespace fm

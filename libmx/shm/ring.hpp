// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets of one sender to one receiver through memory that both map: a ring of records without locks,
// and a table of the sender's windows (large messages that the receiver may fetch).
//
// A record is there once its first word is; that word is written last, after the word behind the record was
// cleared. So a short message costs one cache line, on which the receiver waits. The receiver tells now and
// then how far it is, and the sender looks only when it has no room left.
//
// Whatever lies in that memory may be written by the other side at any time: positions are masked, a
// record's head is read once, and only the copy is judged.
#pragma once

#include "driver/core/fw.h"

#include <emx/abi.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace emx::shm {

inline constexpr uint32_t ring_bytes = 2 * 1024 * 1024;
/// A process with many partners on its host goes round in this part of each ring: a window of 32 full frames
/// fits. With few partners all is used: lines that neither processor has in its own cache any more are
/// written and read in half of the time (docs/decisions/0035-rings-larger-than-caches.md).
inline constexpr uint32_t narrow_bytes = 512 * 1024;
inline constexpr uint32_t record_align = 64;
inline constexpr uint32_t record_data_max = 128 * 1024;

/// A window as its owner publishes it. stamp 0: closed; else unique in its channel, low byte = tag.
struct SharedWindow {
    std::atomic<uint64_t> stamp;
    std::atomic<uint64_t> length; ///< bytes of the message
    std::atomic<uint64_t> address; ///< one piece: its memory; more: an array of Segment, both in the owner
    std::atomic<uint64_t> pieces;
};

/// The memory that both sides map. All zero is the empty ring.
struct RingMemory {
    alignas(64) std::atomic<uint32_t> tail; ///< receiver; up to publish_bytes behind
    std::atomic<uint32_t> attached; ///< receiver: it reads the ring
    std::atomic<uint32_t> closed; ///< receiver: it never will again
    alignas(64) std::atomic<uint32_t> sleeping; ///< receiver: wants to be woken; cleared by who wakes it
    std::atomic<uint32_t>
        barriers; ///< receiver: before it sleeps, it has the kernel put a barrier into senders
    std::atomic<uint32_t> unused; ///< receiver: counts messages whose data came before they were wanted
    alignas(64) std::atomic<uint32_t> starving; ///< sender: wants to be woken when there is room
    alignas(64) SharedWindow window[FW_WINDOWS]; ///< by fw_window_slot
    alignas(64) std::byte data[ring_bytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// The receiver tells its position after so many bytes at the latest, and when it has taken everything.
inline constexpr uint32_t publish_bytes = 64 * 1024;

enum RecordKind : uint8_t {
    packet_record = 1, ///< PacketRecord: its sender keeps a copy until the ack comes
    filler_record = 2, ///< nothing up to the ring's end
    sure_packet = 3, ///< PacketRecord without ack
    sure_eager = 4, ///< EagerRecord, without ack
    data_piece = 5, ///< PieceRecord of the message that was announced before
};

/// First word of a record; all zero: there is none yet.
struct RecordWord {
    uint32_t bytes; ///< whole record, a multiple of record_align
    RecordKind kind;
    uint8_t type; ///< sure_eager: of the message; sure_packet: not 0 when all its data follow in pieces
    uint16_t seq; ///< sure_eager
};
static_assert(sizeof(RecordWord) == sizeof(uint64_t));

/// Heads of records; payload follows.
struct PacketRecord {
    RecordWord word;
    emx_msg msg;
};
struct EagerRecord {
    RecordWord word;
    uint64_t match;
    uint32_t length;
    uint16_t ack;
    uint16_t unused;
};
struct PieceRecord {
    RecordWord word;
    uint32_t position; ///< in the message
    uint32_t length;
};
static_assert(sizeof(PacketRecord) % sizeof(uint64_t) == 0 && sizeof(EagerRecord) == 24);
static_assert(sizeof(PieceRecord) <= record_align);

/// The data of a piece begin at a cache line.
inline constexpr uint32_t piece_head = record_align;
inline constexpr uint32_t piece_most = 8 * 1024;
/// Bytes of records that a message takes in pieces, at most.
inline constexpr uint32_t bytes_in_pieces(uint32_t length)
{
    const uint32_t pieces = (length + piece_most - 1) / piece_most;
    return length + pieces * (piece_head + record_align);
}

/// The kernel helps senders of this process: until then they put a barrier behind each record.
inline std::atomic<bool> barriers_allowed{false};
/// Has it do so.
void allow_barriers();
/// As a receiver: true if the stores of senders before and their looks at `sleeping` after are in order now.
bool put_barrier();

/// The sender's end. One thread at a time.
class RingWriter {
public:
    /// `wide`: all of the memory may be used.
    explicit RingWriter(RingMemory &memory, bool wide = true)
        : memory_(memory), extent_(wide ? ring_bytes : narrow_bytes)
    {
    }

    /// Appends a packet with msg.data_len payload bytes. False: no room. `type` as in RecordWord.
    bool write(const emx_msg &msg, const std::byte *payload, RecordKind kind = packet_record,
               uint8_t type = 0);
    /// Room for a record of so many bytes; nullptr: there is none. The record is the caller's to fill, but
    /// for its first word, until publish().
    std::byte *begin(uint32_t bytes)
    {
        const uint32_t need = rounded(bytes);
        if (need > room_) [[unlikely]]
            if (!make_room(need))
                return nullptr;
        return memory_.data + (head_ & mask);
    }
    /// Hands the record to the receiver. `word`.bytes: as in begin(), which gave the `record`.
    void publish(std::byte *record, RecordWord word)
    {
        word.bytes = rounded(word.bytes);
        const uint32_t head = head_ + word.bytes;
        head_ = head;
        room_ -= word.bytes;
        word_at(memory_.data + (head & mask)).store(0, std::memory_order_relaxed);
        word_at(record).store(std::bit_cast<uint64_t>(word), std::memory_order_release);
    }
    /// After a write: true when the receiver sleeps and this caller has to wake it.
    bool must_wake()
    {
        // Either the receiver sees the record before it sleeps, or we see that it sleeps. Where the receiver
        // has the kernel do that, the order of the instructions is enough.
        if (memory_.barriers.load(std::memory_order_relaxed) != 0 &&
            barriers_allowed.load(std::memory_order_relaxed)) [[likely]]
            std::atomic_signal_fence(std::memory_order_seq_cst);
        else
            std::atomic_thread_fence(std::memory_order_seq_cst);
        if (memory_.sleeping.load(std::memory_order_relaxed) == 0) [[likely]]
            return false;
        return memory_.sleeping.exchange(0, std::memory_order_relaxed) != 0;
    }
    /// Bytes of records that the receiver has not told to have taken.
    uint32_t held() const
    {
        const uint32_t bytes = used();
        const bool filler_too = head_ - filler_at_ <= bytes;
        return filler_too ? bytes - filler_bytes_ : bytes;
    }
    /// That much leaves room for what completes when it is written.
    uint32_t half() const { return extent_ / 2; }
    /// True when the receiver has told that it took everything.
    bool is_empty() const { return memory_.tail.load(std::memory_order_acquire) == head_; }
    /// From now on the receiver wakes this side when there is room. True: there is some already.
    bool starve();
    uint32_t head() const { return head_; }

private:
    static constexpr uint32_t mask = ring_bytes - 1;
    static_assert((ring_bytes & mask) == 0);
    static constexpr uint32_t rounded(uint32_t bytes)
    {
        return (bytes + record_align - 1) & ~(record_align - 1);
    }
    static std::atomic_ref<uint64_t> word_at(std::byte *place)
    {
        return std::atomic_ref(*reinterpret_cast<uint64_t *>(place));
    }
    [[gnu::noinline]] bool make_room(uint32_t need);
    /// Bytes that the receiver has not told to have passed.
    uint32_t used() const { return head_ - memory_.tail.load(std::memory_order_acquire); }

    RingMemory &memory_;
    const uint32_t extent_; ///< no record begins there or behind
    uint32_t filler_at_ = 0; ///< position of the newest filler
    uint32_t filler_bytes_ = 0;
    uint32_t head_ = 0;
    uint32_t room_ = 0; ///< bytes that may be written at the head
};

/// The receiver's end. One thread at a time.
class RingReader {
public:
    explicit RingReader(RingMemory &memory, uint32_t tail = 0) : memory_(memory), tail_(tail), told_(tail) {}

    /// Fields of the messages of sure_eager that no record has.
    void identify(uint32_t peer, uint8_t remote_ep, uint8_t local_ep, uint32_t session);
    /// The oldest packet or piece, or nullptr. Its msg.data points at the payload in the ring; both stay
    /// until release(). Of a packet's message nothing but the payload length is checked here. Of a piece,
    /// msg.data_len and msg.u.medium.position say which bytes of the message it has.
    emx_msg *front()
    {
        if (length_ != 0)
            return &msg_;
        const uint64_t word = first_word();
        if (word == 0) [[likely]] {
            if (told_ != tail_)
                tell();
            return nullptr;
        }
        return open(word);
    }
    /// The same where none is open and the next is a whole eager message; nullptr: front() has the answer.
    [[gnu::always_inline]] emx_msg *front_eager()
    {
        const auto word = std::bit_cast<RecordWord>(first_word());
        const uint32_t at = tail_ & (ring_bytes - 1);
        if (word.kind != sure_eager || !fits(word, at) || !open_eager(word, memory_.data + at)) [[unlikely]]
            return nullptr;
        kind_ = sure_eager;
        length_ = word.bytes;
        return &msg_;
    }
    /// The packet at the front.
    emx_msg &message() { return msg_; }
    RecordKind kind() const { return kind_; }
    /// True of a packet that announces a message, whose data follow.
    bool data_follow() const { return follow_; }
    /// True if the sender was told, which may wait for that.
    bool release()
    {
        tail_ += length_;
        length_ = 0;
        if (tail_ - told_ < publish_bytes) [[likely]]
            return false;
        tell();
        return true;
    }
    /// True if the sender has to be woken, after release() told it.
    bool must_feed();
    /// Tells the sender how far this side is.
    void tell()
    {
        told_ = tail_;
        memory_.tail.store(tail_, std::memory_order_release);
    }
    uint32_t tail() const { return tail_; }
    /// True if front() has something to look at.
    bool waiting() const { return first_word() != 0; }
    /// True when the ring holds what no honest sender writes; nothing more can be read from it.
    bool broken() const { return broken_; }

private:
    uint64_t first_word() const
    {
        auto *first = reinterpret_cast<uint64_t *>(memory_.data + (tail_ & (ring_bytes - 1)));
        return std::atomic_ref(*first).load(std::memory_order_acquire);
    }
    static bool fits(RecordWord word, uint32_t at)
    {
        return word.bytes >= record_align && word.bytes % record_align == 0 && word.bytes <= ring_bytes - at;
    }
    [[gnu::noinline]] emx_msg *open(uint64_t first);
    bool open_eager(RecordWord word, std::byte *at);
    bool open_packet(RecordWord word, std::byte *at);
    bool open_piece(RecordWord word, std::byte *at);

    RingMemory &memory_;
    uint32_t tail_;
    uint32_t told_; ///< tail_ as the sender knows it
    uint32_t length_ = 0; ///< of the record at the front; 0: none open
    RecordKind kind_ = filler_record;
    bool broken_ = false;
    bool follow_ = false;
    bool is_eager_ = false; ///< msg_ has what eager_ has, and no other fields than those of the records
    emx_msg msg_{};
    emx_msg eager_{}; ///< what identify() was told
};

/// Reads words so that each is read once, whatever the compiler likes.
template <class Head>
Head copy_head(std::byte *from)
{
    constexpr std::size_t count = sizeof(Head) / sizeof(uint64_t);
    std::array<uint64_t, count> words;
    auto *source = reinterpret_cast<uint64_t *>(from);
    for (std::size_t i = 1; i < count; ++i)
        words[i] = std::atomic_ref(source[i]).load(std::memory_order_relaxed);
    words[0] = 0;
    return std::bit_cast<Head>(words);
}

inline bool RingReader::open_eager(RecordWord word, std::byte *at)
{
    const auto head = copy_head<EagerRecord>(at);
    if (head.length > word.bytes - sizeof(EagerRecord)) [[unlikely]]
        return false;
    if (!is_eager_) [[unlikely]] {
        msg_ = eager_;
        is_eager_ = true;
    }
    msg_.type = word.type;
    msg_.seq = word.seq;
    msg_.ack = head.ack;
    msg_.match = head.match;
    msg_.msg_len = msg_.data_len = head.length;
    msg_.data = reinterpret_cast<uint64_t>(at + sizeof(EagerRecord));
    return true;
}

/// True if an attached ring holds something for its receiver. Any thread may ask.
bool holds_something(RingMemory &memory);

} // namespace emx::shm

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets of one sender to one receiver through memory that both map: a ring of records without locks,
// and a table of the sender's windows (large messages that the receiver may fetch).
//
// Whatever lies in that memory may be written by the other side at any time: positions are masked, a
// record's header is read once, and only the copy is judged.
#pragma once

#include "driver/core/fw.h"

#include <emx/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace emx::shm {

inline constexpr uint32_t ring_bytes = 512 * 1024; // a window of 32 full frames fits
inline constexpr uint32_t record_align = 64;

/// A window as its owner publishes it. stamp 0: closed; else unique in its channel, low byte = tag.
struct SharedWindow {
    std::atomic<uint64_t> stamp;
    std::atomic<uint64_t> length; ///< bytes of the message
    std::atomic<uint64_t> address; ///< one piece: its memory; more: an array of Segment, both in the owner
    std::atomic<uint64_t> pieces;
};

/// The memory that both sides map. All zero is the empty ring.
struct RingMemory {
    alignas(64) std::atomic<uint32_t> head; ///< sender
    alignas(64) std::atomic<uint32_t> tail; ///< receiver
    std::atomic<uint32_t> attached; ///< receiver: it reads the ring
    std::atomic<uint32_t> closed; ///< receiver: it never will again
    alignas(64) std::atomic<uint32_t> sleeping; ///< receiver: wants to be woken; cleared by who wakes it
    alignas(64) SharedWindow window[FW_WINDOWS]; ///< by fw_window_slot
    alignas(64) std::byte data[ring_bytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Head of a record; payload follows it.
struct RecordHeader {
    uint32_t bytes; ///< whole record, a multiple of record_align
    uint32_t kind; ///< enum RecordKind
    emx_msg msg;
};
enum RecordKind : uint32_t { packet_record = 1, filler_record = 2 };
static_assert(sizeof(RecordHeader) % sizeof(uint64_t) == 0);

/// The sender's end. One thread at a time.
class RingWriter {
public:
    explicit RingWriter(RingMemory &memory) : memory_(memory) {}

    /// Appends a packet with msg.data_len payload bytes. False: no room.
    bool write(const emx_msg &msg, const std::byte *payload);
    /// After a write: true when the receiver sleeps and this caller has to wake it.
    bool must_wake();
    /// Writes since the receiver last took something.
    uint32_t stalled_writes() const { return stalled_writes_; }

private:
    RingMemory &memory_;
    uint32_t head_ = 0;
    uint32_t last_tail_ = 0;
    uint32_t stalled_writes_ = 0;
};

/// The receiver's end. One thread at a time.
class RingReader {
public:
    explicit RingReader(RingMemory &memory) : memory_(memory) {}

    /// The oldest packet, or nullptr. Its msg.data points at the payload in the ring; both stay until
    /// release(). What the message says beyond its payload length is not checked here.
    const emx_msg *front();
    void release();
    /// True if front() has something to look at.
    bool waiting() const { return memory_.head.load(std::memory_order_relaxed) != tail_; }
    /// True when the ring holds what no honest sender writes; nothing more can be read from it.
    bool broken() const { return broken_; }

private:
    bool open_record(uint32_t used);

    RingMemory &memory_;
    uint32_t tail_ = 0;
    uint32_t length_ = 0; ///< of the record at the front; 0: none open
    bool broken_ = false;
    RecordHeader header_{};
};

} // namespace emx::shm

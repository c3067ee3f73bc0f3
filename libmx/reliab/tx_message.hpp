// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A sequenced message that we send: kept until acknowledged (RNDV: until the NOTIFY).
#pragma once

#include "driver/core/fw_pack.h"

#include <emx/abi.h>
#include <emx/wire.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace emx {

struct Partner;
struct Request;

/// Time in ns between a packet and its repeat, after so many repeats: doubled from `resend_ms` up to 500 ms.
constexpr uint64_t resend_interval_ns(uint64_t resend_ms, uint32_t resends)
{
    return std::min<uint64_t>(resend_ms << std::min<uint32_t>(resends, 10), 500) * 1000000;
}

/// A fragment of an eager message, of the dialect or the extension; the latter may be short messages, too.
inline bool is_medium(uint8_t type) { return type == EMX_MEDIUM || type == EMX_X_MEDIUM; }

/// Type of an eager message of that length in one piece.
inline uint8_t eager_type(uint32_t bytes)
{
    return bytes <= EMX_TINY_MAX ? EMX_TINY : bytes <= EMX_SMALL_MAX ? EMX_SMALL : EMX_MEDIUM;
}

struct TxMessage {
    TxMessage *next = nullptr; ///< in a TxQueue
    TxMessage *rndv_prev = nullptr, *rndv_next = nullptr; ///< partner's list of announced messages
    Partner *partner = nullptr;
    Request *request = nullptr; ///< to complete; nullptr when that is done
    std::byte *buffer = nullptr; ///< eager: frames, each behind send_headroom bytes
    uint32_t capacity = 0; ///< of buffer
    uint32_t size_class = 0; ///< of capacity, in the pool
    emx_msg header{};
    uint32_t frame_data = 0; ///< payload bytes of a full frame
    uint16_t frames = 1;
    uint16_t resends = 0;
    bool acked = false;
    bool notified = false; ///< RNDV: NOTIFY seen
    bool has_window = false;
    bool zombie = false; ///< completed before its ack, counted by the pool
    uint8_t hurried = 0; ///< repeats because a report showed that it was lost
    bool shares_frame = false; ///< it left in an X PACK, and another one in it counts as the frame
    uint64_t sent_ns = 0; ///< last transmission
    uint64_t first_ns = 0;

    uint64_t resend_due(uint64_t resend_ms) const { return sent_ns + resend_interval_ns(resend_ms, resends); }
    /// An eager message of one packet, and of at most so many bytes.
    bool is_short(uint32_t bytes) const
    {
        return frames == 1 && header.msg_len <= bytes &&
               (header.type <= EMX_MEDIUM || header.type == EMX_X_MEDIUM);
    }
    /// It is announced to nobody, and nobody waits for it any more.
    bool is_withdrawn() const { return header.type == EMX_RNDV && !request && notified; }
};

/// Bytes that a message takes of an X PACK.
inline uint32_t bytes_in_pack(const TxMessage *tx) { return FW_PACKED_HEADER + tx->header.msg_len; }

/// Messages in order, linked by TxMessage::next. Not thread-safe; owns nothing.
struct TxQueue {
    TxMessage *head = nullptr;
    TxMessage *tail = nullptr;

    bool empty() const { return head == nullptr; }
    void push_back(TxMessage *tx)
    {
        (tail ? tail->next : head) = tx;
        tail = tx;
    }
    /// The first one, unlinked. The queue must not be empty.
    TxMessage *pop_front()
    {
        TxMessage *tx = head;
        head = tx->next;
        if (!head) [[likely]]
            tail = nullptr;
        tx->next = nullptr;
        return tx;
    }
    /// Puts a message behind the leading ones of its type.
    void push_behind_own_type(TxMessage *tx);
    template <class F>
    void each(F f) const
    {
        for (TxMessage *tx = head; tx; tx = tx->next)
            f(tx);
    }
};

} // namespace emx

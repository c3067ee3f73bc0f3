// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The receiving direction of a partner: numbers, early packets, and the acks that we owe (wire
// specification, 8.2 and 8.3).
#pragma once

#include "libmx/reliab/early.hpp"
#include "libmx/reliab/sequence.hpp"

#include <cstdint>
#include <memory>

namespace emx {

struct Incoming;

struct Receiver {
    /// Acks that we owe for messages that came.
    enum class Debt : uint8_t { none = 0, ack = 1, ack_now = 3 };
    static constexpr uint8_t heard_frame = 1, heard_message = 2;

    uint16_t next = 1; ///< number of the message that comes next to the match stage
    uint16_t done = 1; ///< all before it is complete: the number of an ack
    uint16_t acked = 1; ///< the latest that an ack told
    uint8_t heard = 0; ///< heard_frame since the last probe timer, heard_message for ever
    Debt debt = Debt::none;
    bool owes_report = false; ///< the peer asked for one
    uint32_t frames_in = 0; ///< eager frames taken since the last ack
    uint64_t ack_since_ns = 0; ///< 0: not stamped yet
    Incoming *partial = nullptr; ///< the MEDIUM that lacks fragments; later packets wait in early
    std::unique_ptr<EarlyPackets> early;

    /// Counts from that number, as if all before had come.
    void count_from(uint16_t number) { next = done = acked = number; }
    bool owes_ack() const { return debt != Debt::none; }
    /// An ack or a report is to leave at the end of the pass.
    bool is_due() const { return debt == Debt::ack_now || owes_report; }
    /// An ack is owed; one that is owed at once stays so. Without a branch: each message comes by.
    void owe() { debt = static_cast<Debt>(static_cast<uint8_t>(debt) | static_cast<uint8_t>(Debt::ack)); }
    void owe_now() { debt = Debt::ack_now; }
    /// Nothing is owed for what has come until now.
    void acknowledged()
    {
        acked = done;
        debt = Debt::none;
        ack_since_ns = 0;
        frames_in = 0;
    }
    /// Its partner is dead: nothing is owed to it.
    void forget_debt()
    {
        debt = Debt::none;
        owes_report = false;
    }
    void heard_a_frame() { heard |= heard_frame; }
    bool has_heard_message() const { return heard & heard_message; }
    /// True once after a frame was heard.
    bool take_heard_frame()
    {
        const bool was = heard & heard_frame;
        heard &= heard_message;
        return was;
    }
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The sending direction of a partner: numbers, the window, messages that wait or are not acknowledged (wire
// specification, 8.1 to 8.5).
#pragma once

#include "libmx/reliab/flight.hpp"
#include "libmx/reliab/round_trip.hpp"
#include "libmx/reliab/sequence.hpp"
#include "libmx/reliab/tx_message.hpp"

#include <cstdint>

namespace emx {

/// Keeps the books; reliab/send.cpp decides when to send a message. Owns no message.
struct Sender {
    // Receivers keep 255 numbers beyond the next one; more in flight would be dropped after one loss (8.5).
    static constexpr uint16_t numbers_out_max = 250;

    /// Data may flow once a connect request of ours was answered (7.5).
    enum class State : uint8_t { closed, fresh, used };

    State state = State::closed;
    uint16_t next = 1, oldest = 1;
    uint16_t ack_seen = 1; ///< latest ack a message carried; oldest follows it, Endpoint::take_acks
    uint32_t frames_out = 0; ///< unacknowledged eager frames
    Flight flight;
    uint64_t patience_ns = 0; ///< after a message that is not acknowledged, until its timers are served
    TxQueue unacked;
    TxQueue waiting;
    // Here ends what each message touches.
    TxMessage *rndv = nullptr; ///< announced messages, the latest first
    RoundTrip round_trip;
    Question question;
    uint16_t first = 1; ///< of the numbers that this life has used
    bool holds = false; ///< messages wait for others to share a frame with: Endpoint::flush_held
    uint32_t held = 0, held_bytes = 0; ///< since messages were last sent from the queue

    bool is_open() const { return state != State::closed; }
    /// A sequenced packet went to this session.
    bool is_used() const { return state == State::used; }
    /// The peer answered our request.
    void open()
    {
        if (state == State::closed)
            state = State::fresh;
    }
    /// Counts from that number, nothing of which was sent.
    void count_from(uint16_t start)
    {
        next = oldest = ack_seen = first = start;
        if (state == State::used)
            state = State::fresh;
    }
    /// Numbers that messages may take until others are acknowledged.
    uint32_t numbers_left() const { return numbers_out_max - seq::distance(next, oldest); }
    bool has_room(uint16_t frames) const { return has_room(frames, flight.limit); }
    /// A message may leave as it is posted: there is room, and nothing to wait for.
    bool leaves_at_once(uint16_t frames) const { return has_room(frames, flight.at_once); }
    bool has_room(uint16_t frames, uint32_t limit) const
    {
        if (!is_open()) [[unlikely]]
            return false;
        if (seq::distance(next, oldest) >= numbers_out_max) [[unlikely]]
            return false;
        if (frames_out + frames <= limit) [[likely]]
            return true;
        return frames_out == 0;
    }
    /// Without a branch: each message comes by.
    static bool takes_window(const TxMessage *tx)
    {
        return static_cast<int>(tx->header.type != EMX_NOTIFY) & static_cast<int>(!tx->shares_frame);
    }
    /// Gives a message the next number; it stands among the unacknowledged ones from now on.
    void number(TxMessage *tx)
    {
        tx->header.seq = next;
        next = seq::next(next);
        state = State::used;
        if (takes_window(tx)) [[likely]]
            frames_out += tx->frames;
        unacked.push_back(tx);
        if (tx->header.type == EMX_RNDV) [[unlikely]]
            announce(tx);
    }
    /// Gives the next number to a packet that needs no ack, as if it had one. `tx`: nullptr, or a RNDV.
    void number_sure(TxMessage *tx)
    {
        next = seq::next(next);
        oldest = ack_seen = next;
        state = State::used;
        if (tx) [[unlikely]]
            announce(tx);
    }
    /// That packet, and all behind it, is acknowledged by nothing: it stands among the unacknowledged ones.
    void take_back(TxMessage *tx)
    {
        if (unacked.empty())
            oldest = ack_seen = tx->header.seq;
        if (takes_window(tx))
            frames_out += tx->frames;
        unacked.push_back(tx);
    }
    /// Everything before `ack` is there: calls `end` for each message of that, no longer in the queue. False:
    /// the ack tells nothing new.
    template <class End>
    bool acknowledge(uint16_t ack, End end)
    {
        if (!seq::acks(ack, oldest, next)) [[unlikely]]
            return false;
        oldest = ack;
        while (!unacked.empty()) {
            const uint16_t behind = seq::distance(ack, unacked.head->header.seq);
            if (behind == 0 || behind > seq::number_mask / 2)
                break;
            TxMessage *tx = unacked.pop_front();
            if (takes_window(tx)) [[likely]]
                frames_out -= tx->frames;
            end(tx);
        }
        return true;
    }
    /// The message has its end: it is announced no longer.
    void unannounce(TxMessage *tx);
    /// Takes everything that is queued, announced ones apart.
    void forget_queues()
    {
        unacked = waiting = TxQueue{};
        frames_out = 0;
    }
    /// True if throwing it away would leave a stranger waiting that counts on: for fragments of a message
    /// that it has begun, or for the end of one of its own.
    bool is_midway() const;
    /// The newest question came behind that message.
    bool asked_for(const TxMessage *tx) const { return tx->first_ns < question.sent_ns; }
    /// When the next question is due, of a partner with unacknowledged messages.
    uint64_t question_due() const
    {
        const uint64_t since =
            unacked.tail->sent_ns > question.since_ns ? unacked.tail->sent_ns : question.since_ns;
        return since + round_trip.patience_ns(in_vain());
    }
    /// A question leaves.
    void ask(uint64_t time_ns)
    {
        question.in_vain = in_vain() + 1;
        question.oldest = oldest;
        question.sent_ns = question.since_ns = time_ns;
    }

    /// When the question was asked that the peer's answer with that `echo` is to; 0: it answers none.
    uint64_t take_answer(uint32_t echo, uint64_t time_ns);

private:
    void announce(TxMessage *tx);
    /// Questions that brought nothing.
    unsigned in_vain() const
    {
        return asked_for(unacked.tail) && question.oldest == oldest ? question.in_vain : 0;
    }
};

} // namespace emx

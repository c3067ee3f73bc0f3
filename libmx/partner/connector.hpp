// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Our connect requests to a partner, and the meaning of its answers to them (wire specification, section 7).
#pragma once

#include "driver/core/fw.h"

#include <cstdint>
#include <utility>

namespace emx {

struct Request;

struct PendingConnect {
    PendingConnect *next = nullptr;
    Request *request = nullptr; ///< nullptr: our own (connect back, probe, inquiry)
    uint32_t key = 0;
    uint8_t number = 0;
    uint16_t resends = 0;
    uint64_t sent_ns = 0;
    uint64_t first_ns = 0;
    /// A frame that anyone may have sent says that this life of the partner is over: the answer decides.
    bool inquiry = false;
    uint16_t nonce = 0; ///< number that a refusal of its newest copy names; 0: none is believed
    int code = 0; ///< of what fails if that life is over
    emx_msg asked{}; ///< request, still unanswered, of what may be the next life; type 0: none
};

/// Why messages to a stranger that we gave up may be misunderstood: it counts on where we begin anew.
class Doubt {
public:
    /// It may hold messages of the old life, of that session and with numbers before `next`.
    void begin(uint32_t session, uint16_t next)
    {
        state_ = State::unknown;
        session_ = session;
        next_ = next;
    }
    /// Takes over the doubt about the life before it.
    void inherit(const Doubt &before)
    {
        if (before.state_ == State::unknown)
            *this = before;
    }
    /// It was told to count with other session bits. Until it gives up, too, it drops all that bears them.
    void tell_other_bits(uint32_t session)
    {
        state_ = State::deaf;
        session_ = session;
    }
    void inherit_deafness(const Doubt &before) { *this = before; }
    void end_doubt() { end(State::unknown); }
    void end_deafness() { end(State::deaf); }

    /// True if a stranger that answers may hold messages of the old life beyond a gap: it counts as then, and
    /// has not taken all of them. Then only other session bits keep new messages apart from those.
    bool remains(uint32_t session, uint16_t start) const;
    /// The session (EMX_SESSION_NONE: it never took one) is one that was told to count with other bits.
    bool is_deaf(uint32_t session) const;

private:
    enum class State : uint8_t { none, unknown, deaf };
    void end(State state)
    {
        if (state_ == state)
            state_ = State::none;
    }

    State state_ = State::none;
    uint16_t next_ = 0;
    uint32_t session_ = 0;
};

/// Owns the pending requests. Not thread-safe (the endpoint's lock).
class Connector {
public:
    Connector() = default;
    ~Connector();
    Connector(const Connector &) = delete;
    Connector &operator=(const Connector &) = delete;

    bool is_asking() const { return first_ != nullptr; }
    PendingConnect *first() const { return first_; }
    /// A new request behind the others, with the next number.
    PendingConnect *add(uint32_t key, Request *request, uint64_t time_ns);
    PendingConnect *find(uint8_t number) const;
    PendingConnect *find(const Request *request) const;
    /// The one request, if any, that asks whether this life is over.
    PendingConnect *inquiry() const;
    /// mx_status_code_t of what fails when another life of the partner answers.
    int code_of_end() const;
    void drop(PendingConnect *connect);
    /// Gives requests new numbers: answers to what was asked before do not count.
    void renumber(PendingConnect *connect) { connect->number = number_++; }
    void renumber_all();
    /// True if it is the number of one of our latest requests: a request that was repeated is answered twice.
    bool asked_before(uint8_t number) const;
    /// The next life of its endpoint takes the requests, if it wants them, and counts on.
    void succeed(const Connector &before) { number_ = before.number_; }
    void take_requests(Connector &before);
    /// One more inquiry may go out, of which any forged frame may want one.
    bool may_inquire(uint64_t time_ns);

    /// Refusals of nothing that we sent may be guesses at the number of an inquiry: after some, none is
    /// believed until they have ceased for a second. Numbers of later copies are no harder to guess.
    bool believes_refusals(uint64_t time_ns);
    void note_stray_refusal(uint64_t time_ns);
    /// True the first time: users are to be told that it does not answer.
    bool tells_silence() { return !std::exchange(told_silence_, true); }

    Doubt doubt;
    uint64_t probe_ns = 0; ///< when a partner that owes us something is asked whether it lives; 0: not yet

private:
    PendingConnect *first_ = nullptr;
    uint64_t stray_ns_ = 0; ///< the latest
    fw_bucket inquiries_{};
    uint8_t strays_ = 0; ///< refusals of nothing that we sent, until they have ceased for a while
    uint8_t number_ = 0;
    bool told_silence_ = false;
};

} // namespace emx

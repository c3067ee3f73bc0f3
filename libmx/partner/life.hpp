// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The state of one life (session) of a remote endpoint, as we see it.
#pragma once

#include <cstdint>
#include <utility>

namespace emx {

/// Goes from connecting to dead, and never back: a new session is another Partner.
class Life {
public:
    bool is_connecting() const { return state_ == State::connecting; }
    /// Its request was taken; nothing proves yet that it hears us, or comes from where it says.
    bool is_half_open() const { return state_ == State::half_open; }
    bool is_connected() const { return state_ == State::connected; }
    bool is_dead() const { return state_ == State::dead; }
    /// mx_status_code_t of sends to a dead partner.
    int dead_code() const { return code_; }
    /// When it was given up it waited for the end of a message of its own, or for the rest of one of ours.
    bool was_cut_short() const { return cut_short_; }
    /// True while the index of its board is ours to use, see KeptPeers.
    bool is_kept() const { return kept_; }

    /// It took a session. A partner whose index is not kept may be anyone.
    void open() { state_ = kept_ ? State::connected : State::half_open; }
    void open_to_self() { state_ = State::connected; }
    /// Keeps the index of its board: the partner hears us.
    void keep()
    {
        kept_ = true;
        if (is_half_open())
            state_ = State::connected;
    }
    /// Takes over the kept index of the life before it, if that had one.
    void inherit(bool kept) { kept_ = kept; }
    /// True if the index was kept.
    bool release() { return std::exchange(kept_, false); }
    void die(int code)
    {
        state_ = State::dead;
        code_ = code;
    }
    void cut_short(bool was) { cut_short_ |= was; }

    /// Leaves it to the next sweep: dead and no longer the latest of its endpoint, or blank. False: left
    /// already.
    bool retire()
    {
        if (place_ != Place::in_use)
            return false;
        place_ = Place::retired;
        return true;
    }
    /// A sweep begins: nothing is known to need it.
    void begin_sweep() { place_ = Place::retired; }
    /// Something points to it: the sweep leaves it.
    void need()
    {
        if (place_ == Place::retired)
            place_ = Place::needed;
    }
    bool is_needed() const { return place_ == Place::needed; }

private:
    enum class State : uint8_t { connecting, half_open, connected, dead };
    enum class Place : uint8_t { in_use, retired, needed };

    State state_ = State::connecting;
    Place place_ = Place::in_use;
    bool kept_ = false;
    bool cut_short_ = false;
    int code_ = 0;
};

} // namespace emx

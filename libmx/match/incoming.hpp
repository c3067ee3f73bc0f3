// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A message from its first packet until a receive has it all; lists of such, and their pool.
#pragma once

#include "libmx/indexed_fifo.hpp"

#include "driver/core/fw.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace emx {

struct Partner;
struct Request;

struct Incoming {
    FifoHook<Incoming> hook; ///< unexpected queue
    Incoming *next = nullptr; ///< in an IncomingList
    uint64_t match = 0;
    Partner *partner = nullptr;
    Request *recv = nullptr; ///< bound receive
    Request *self_send = nullptr; ///< a send to ourselves that completes when matched
    emx_msg msg{}; ///< header of its first packet
    const std::byte *view = nullptr; ///< whole message while still in the frame
    std::unique_ptr<std::byte[]> storage;
    uint64_t waiting_ns = 0; ///< partial: when the timers first saw it without a new fragment; 0: not yet
    fw_reasm reasm{};
    uint32_t held = 0; ///< bytes of it that count as unexpected; 0 where these are not bounded
    uint16_t seq = 0;
    bool rendezvous = false;
    bool complete = false; ///< all bytes of an eager message are here
    bool partial = false; ///< the partner's, a MEDIUM that lacks fragments
    bool by_datagrams = false; ///< partial: the port looks for its fragments there, too
    bool discard = false; ///< nobody wants the data
    bool pulling = false;
    uint64_t pull = 0; ///< its cookie, while pulling
    bool pull_waits = false; ///< in the list of pulls without a slot
    bool busy = false; ///< the unexpected handler is looking at it
    bool orphan = false; ///< its partner went away meanwhile

    /// Nothing but the rest of its sender's frames can complete it.
    bool unfinished() const { return rendezvous || !complete; }
    /// Copies a message that still lies in its frame: the frame goes back to the device.
    void own_data();
    /// The data that the unexpected handler may see: an eager message that came in one packet of the dialect,
    /// whose fragments have `fragment` bytes; else nullptr. Its way here and the time of the look make no
    /// difference.
    const std::byte *shown(uint32_t fragment) const;
    /// Copies a fragment to where the message is put together, into the bound receive if it can.
    void store(const emx_msg &fragment);
};

/// A queue of messages, linked by Incoming::next. Not thread-safe; owns nothing.
class IncomingList {
public:
    bool empty() const { return head_ == nullptr; }
    Incoming *front() const { return head_; }
    void push_back(Incoming *in)
    {
        in->next = nullptr;
        (tail_ ? tail_->next : head_) = in;
        tail_ = in;
    }
    /// The first one, unlinked. The list must not be empty.
    Incoming *pop_front()
    {
        Incoming *in = head_;
        if (!in)
            __builtin_unreachable(); // for clang-tidy, which forgets that callers have looked
        head_ = in->next;
        if (!head_)
            tail_ = nullptr;
        in->next = nullptr;
        return in;
    }
    /// All that is linked; this list is empty then.
    IncomingList take() { return std::exchange(*this, IncomingList{}); }
    /// Unlinks those for which `doomed` is true and gives each to `end`, which may free it.
    template <class Doomed, class End>
    void remove_if(Doomed doomed, End end)
    {
        IncomingList all = take();
        while (!all.empty()) {
            Incoming *in = all.pop_front();
            if (doomed(in))
                end(in);
            else
                push_back(in);
        }
    }
    void remove(const Incoming *one)
    {
        remove_if([one](const Incoming *in) { return in == one; }, [](Incoming *) {});
    }

private:
    Incoming *head_ = nullptr;
    Incoming *tail_ = nullptr;
};

/// Makes messages and takes them back, to be used again, and counts those alive. Not thread-safe (the
/// endpoint's lock).
class IncomingPool {
public:
    IncomingPool() = default;
    IncomingPool(const IncomingPool &) = delete;
    IncomingPool &operator=(const IncomingPool &) = delete;
    ~IncomingPool()
    {
        while (!spare_.empty())
            delete spare_.pop_front();
    }

    /// Never nullptr (throws std::bad_alloc). The caller hands it back by release().
    Incoming *make(Partner *partner, const emx_msg &msg)
    {
        Incoming *in = spare_.empty() ? new Incoming : reuse();
        in->partner = partner;
        in->msg = msg;
        in->match = msg.match;
        ++alive_;
        return in;
    }
    /// The message must stand in no list.
    void release(Incoming *in)
    {
        --alive_;
        if (spares_ >= spares_max) {
            delete in;
            return;
        }
        *in = Incoming{};
        spare_.push_back(in);
        ++spares_;
    }
    uint32_t alive() const { return alive_; }

private:
    // A sanitizer sees a use after the end only of memory that was freed.
#ifdef __SANITIZE_ADDRESS__
    static constexpr uint32_t spares_max = 0;
#else
    static constexpr uint32_t spares_max = 64;
#endif

    Incoming *reuse()
    {
        --spares_;
        return spare_.pop_front();
    }

    uint32_t alive_ = 0;
    uint32_t spares_ = 0;
    IncomingList spare_;
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One call of a C function on an endpoint: finds and locks it, words errors, keeps exceptions in.
#pragma once

#include "libmx/api/process.hpp"
#include "libmx/endpoint/endpoint.hpp"

#include <cxxabi.h>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>

namespace emx::api {

/// The endpoint of a call that each message makes, locked, for its usual way. It lives in registers, since
/// nobody takes its address: what is unusual is left to a Call, which has the same end.
class Visit {
public:
    [[gnu::always_inline]] explicit Visit(mx_endpoint_t handle)
    {
        Context *context = process().context.get();
        slot_ = context ? context->slot_of(handle) : nullptr;
        if (!slot_) [[unlikely]]
            return;
        slot_->mutex.lock();
        if (Context::enter(*slot_, handle)) [[likely]]
            return;
        slot_->mutex.unlock();
        slot_ = nullptr;
    }
    [[gnu::always_inline]] ~Visit()
    {
        if (!slot_) [[unlikely]]
            return;
        slot_->endpoint->leave(is_send_);
        slot_->mutex.unlock();
    }
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;

    void set_send(bool is_send) { is_send_ = is_send; }
    explicit operator bool() const { return slot_ != nullptr; }
    Endpoint *operator->() const { return slot_->endpoint.get(); }
    /// Normal end: reports failures of operations nobody will ask about.
    [[gnu::always_inline]] mx_return_t done(const char *function)
    {
        if (slot_->endpoint->completions().any_lost()) [[unlikely]]
            return report_lost(hand_over(), function);
        return MX_SUCCESS;
    }
    /// Leaves the endpoint, locked, to a Call. nullptr: the handle is refused.
    EndpointSlot *hand_over() { return std::exchange(slot_, nullptr); }

private:
    [[gnu::cold]] static mx_return_t report_lost(EndpointSlot *locked, const char *function);

    EndpointSlot *slot_;
    bool is_send_ = false;
};

class Call {
public:
    [[gnu::always_inline]] explicit Call(mx_endpoint_t handle, const char *function = "")
        : function_(function), slot_(slot_of(handle)),
          lock_(slot_ ? std::unique_lock(slot_->mutex) : std::unique_lock<Lock>())
    {
        if (slot_ && !Context::enter(*slot_, handle)) [[unlikely]]
            refuse();
    }
    /// Goes on with what a Visit handed over; nullptr: that was refused.
    Call(EndpointSlot *locked, const char *function)
        : function_(function), slot_(locked),
          lock_(locked ? std::unique_lock(locked->mutex, std::adopt_lock) : std::unique_lock<Lock>())
    {
    }

    ~Call()
    {
        if (!lock_.owns_lock() || !slot_->endpoint) [[unlikely]]
            return;
        slot_->endpoint->leave(is_send_);
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    /// Messages may be held back beyond the end of a call that sends, or deals with a send that is complete.
    void set_send(bool is_send) { is_send_ = is_send; }
    explicit operator bool() const { return slot_ != nullptr; }
    Endpoint *operator->() const { return slot_->endpoint.get(); }
    Endpoint &operator*() const { return *slot_->endpoint; }
    EndpointSlot &slot() { return *slot_; }
    std::unique_lock<Lock> &lock() { return lock_; }

    /// Why the handle is refused, through the global error handler.
    [[gnu::cold]] static mx_return_t refused(const char *function);
    /// Words an error of this endpoint, with the function's name, and calls its handler, unlocked.
    [[gnu::cold]] mx_return_t fail(mx_return_t code, const char *text);
    /// Tells the handler that a reaped request had failed; the call itself succeeds.
    [[gnu::cold]] void request_failed(int status);
    /// Normal end: reports failures of operations nobody will ask about.
    mx_return_t done()
    {
        slot_->endpoint->report_lost(lock_);
        return MX_SUCCESS;
    }

private:
    static EndpointSlot *slot_of(mx_endpoint_t handle)
    {
        Context *context = process().context.get();
        return context ? context->slot_of(handle) : nullptr;
    }
    [[gnu::cold]] void refuse()
    {
        slot_ = nullptr;
        lock_.unlock();
    }

    const char *function_;
    bool is_send_ = false;
    EndpointSlot *slot_;
    std::unique_lock<Lock> lock_;
};

/// Runs a body: nothing thrown leaves the library.
template <class Body>
[[gnu::always_inline]] inline mx_return_t guarded(const char *function, Body &&body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        ErrorHandler handler = process().handler.load();
        return handler ? handler(const_cast<char *>(function), MX_NO_RESOURCES) : MX_NO_RESOURCES;
    } catch (abi::__forced_unwind &) {
        throw; // the thread is cancelled in its sleep
    } catch (...) {
        return MX_BAD_BAD_BAD;
    }
}

/// Runs a call's body. `endpoint`: its handle, or what a Visit handed over. Inlined, since what the body
/// captures would otherwise go through memory.
template <class Handle, class Body>
[[gnu::always_inline]] inline mx_return_t on_endpoint(const char *function, Handle endpoint, Body &&body)
{
    return guarded(function, [&] {
        Call call(endpoint, function);
        if (!call) [[unlikely]]
            return Call::refused(function);
        return body(call);
    });
}

/// Deadline of a blocking call: MX timeouts are milliseconds, 0 is for ever.
uint64_t deadline_of(Endpoint &endpoint, uint32_t timeout_ms);

/// A caller's segment list, checked and translated. Long lists are kept outside: with room for 256 the frame
/// of every call would be too large for it to be inlined.
class Segments {
public:
    /// Sums the list up; MX_SUCCESS or the code to fail with.
    mx_return_t read(const mx_segment_t *segments, uint32_t count, uint64_t &length)
    {
        if (count != 1 || !segments || !segments->segment_ptr) [[unlikely]]
            return read_list(segments, count, length);
        length = segments->segment_length;
        few_[0] = {static_cast<std::byte *>(segments->segment_ptr), segments->segment_length};
        return MX_SUCCESS;
    }
    const Segment *data() const { return many_ ? many_.get() : few_; }

private:
    mx_return_t read_list(const mx_segment_t *segments, uint32_t count, uint64_t &length);

    Segment few_[4];
    std::unique_ptr<Segment[]> many_;
};

} // namespace emx::api

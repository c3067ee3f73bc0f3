// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One pending operation, and the pool that gives it a handle.
//
// A handle (mx_request_t) is not an address but 1 bit | generation | endpoint slot | index, so that a
// stale copy in a program's hands is recognised and never hits a recycled request (API, 1.8 and 3.5).
#pragma once

#include "driver/base/copy.hpp"
#include "driver/device.hpp"
#include "libmx/indexed_fifo.hpp"

#include "myriexpress.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace emx {

struct Partner;
struct TxMessage;
struct Incoming;

/// Segment list of a request; copied at posting, since the array is the caller's again afterwards.
class SegmentList {
public:
    /// The list must be empty.
    void assign(const Segment *segments, uint32_t count)
    {
        if (count != 1) [[unlikely]]
            return assign_many(segments, count);
        count_ = 1;
        single_ = segments[0];
    }
    void clear()
    {
        if (heap_) [[unlikely]]
            heap_.reset();
        count_ = 0;
    }
    /// Copies the first bytes of a message in.
    void fill(const std::byte *from, uint64_t length);
    std::span<const Segment> view() const { return {const_cast<SegmentList *>(this)->first(), count_}; }
    std::span<Segment> view() { return {first(), count_}; }

private:
    [[gnu::noinline]] void assign_many(const Segment *segments, uint32_t count);
    Segment *first()
    {
        if (heap_) [[unlikely]]
            return heap_.get();
        return &single_;
    }

    Segment single_;
    uint32_t count_ = 0;
    std::unique_ptr<Segment[]> heap_;
};

void scatter_pieces(std::span<const Segment> to, uint64_t offset, const std::byte *from, uint64_t length);
void gather_pieces(std::byte *to, std::span<const Segment> from, uint64_t offset, uint64_t length);

/// Copies `length` bytes into the message position `offset` of a scattered buffer; stops at its end.
inline void scatter(std::span<const Segment> to, uint64_t offset, const std::byte *from, uint64_t length)
{
    if (length == 0) [[unlikely]]
        return;
    if (to.size() != 1 || offset + length > to[0].length) [[unlikely]]
        return scatter_pieces(to, offset, from, length);
    copy_bytes(to[0].data + offset, from, length);
}

inline void SegmentList::fill(const std::byte *from, uint64_t length)
{
    if (count_ != 1 || length > single_.length) [[unlikely]]
        return scatter(view(), 0, from, length);
    copy_bytes(single_.data, from, length);
}

/// Copies `length` bytes of a gathered buffer, from message position `offset` on.
inline void gather(std::byte *to, std::span<const Segment> from, uint64_t offset, uint64_t length)
{
    if (length == 0) [[unlikely]]
        return;
    if (from.size() != 1 || offset + length > from[0].length) [[unlikely]]
        return gather_pieces(to, from, offset, length);
    copy_bytes(to, from[0].data + offset, length);
}

enum class RequestKind : uint8_t { unused, send, synchronous_send, receive, connect };

/// State that a request forgets when it is released. No initialisers: all zero, stored in a few wide words.
struct RequestState {
    RequestKind kind;
    bool complete;
    bool forgotten; ///< nobody holds the handle: frees itself when complete
    bool hidden; ///< a blocking call's own: not for those who ask what has finished
    bool buffered; ///< send: the library owns a copy of the data
    bool matched; ///< receive: bound to a message; send to self: taken
    int code; ///< mx_status_code_t
    void *context;
    Partner *partner; ///< source or destination
    uint32_t msg_length;
    uint32_t xfer_length;

    uint64_t budget_ns; ///< a time limit of its own; 0: the endpoint's
    uint64_t expires_ns; ///< 0: no own deadline

    TxMessage *tx; ///< send: while the library still works on it
    Incoming *incoming; ///< receive: message under way
};

struct Request : RequestState {
    Request() : RequestState{} {}

    uint64_t handle = 0; ///< as the program has it; of one that is free, what it will be next
    uint64_t match = 0; ///< receive: info until complete, then the message's bits
    uint64_t mask = 0;

    SegmentList segments;
    uint64_t room = 0; ///< receive: bytes of all segments

    // posted queue; free ones are linked by post_next
    uint64_t post_serial = 0;
    Request *post_prev = nullptr, *post_next = nullptr;
    Request *chain_prev = nullptr, *chain_next = nullptr;
    // queue of finished requests
    FifoHook<Request> done_hook;

    bool live() const { return kind != RequestKind::unused; }
};

/// True if a request that ended with this mx_status_code_t failed: then the error handler hears of it. Of a
/// request that the program cancelled it does not (API, 2.1 and 10.1).
inline bool is_failure(int code) { return code != MX_STATUS_SUCCESS && code != MX_STATUS_CANCELLED; }

/// Requests of one endpoint. Not thread-safe (the endpoint's lock). Slots are never given back to the
/// system before the pool dies, so that a stale handle always finds a slot to compare with.
class RequestPool {
public:
    explicit RequestPool(uint32_t endpoint_slot) : endpoint_slot_(endpoint_slot) {}

    /// nullptr when there are too many.
    Request *allocate(RequestKind kind)
    {
        if (!free_ && !grow()) [[unlikely]]
            return nullptr;
        Request *request = free_;
        free_ = request->post_next;
        request->kind = kind;
        ++live_;
        return request;
    }
    void release(Request *request)
    {
        request->segments.clear();
        static_cast<RequestState &>(*request) = RequestState{};
        request->handle = (request->handle + (uint64_t{1} << (slot_bits + index_bits))) | handle_bit;
        request->post_next = free_;
        free_ = request;
        --live_;
    }
    static void *handle(const Request *request)
    {
        return reinterpret_cast<void *>(request->handle); // NOLINT(performance-no-int-to-ptr): never followed
    }
    /// nullptr for a NULL, foreign or stale handle.
    [[gnu::always_inline]] Request *find(void *handle)
    {
        const auto value = reinterpret_cast<uint64_t>(handle);
        const uint32_t index = static_cast<uint32_t>(value) & ((1u << index_bits) - 1);
        if (index >= made_) [[unlikely]]
            return nullptr;
        Request *request = &chunks_[index / chunk_size][index % chunk_size];
        return request->handle == value && request->live() ? request : nullptr;
    }
    uint32_t live() const { return live_; }
    /// Calls f for every live request.
    template <class F>
    void each(F f)
    {
        for (auto &chunk : chunks_)
            for (uint32_t i = 0; i < chunk_size; ++i)
                if (chunk[i].live())
                    f(&chunk[i]);
    }

    static uint32_t endpoint_slot_of(void *handle)
    {
        return static_cast<uint32_t>(reinterpret_cast<uint64_t>(handle) >> index_bits) &
               ((1u << slot_bits) - 1);
    }

    static constexpr uint32_t slot_bits = 10;

private:
    static constexpr uint32_t chunk_size = 256;
    static constexpr uint32_t index_bits = 27;
    static constexpr uint64_t handle_bit = uint64_t{1} << 63; // above 26 bits of generation
    [[gnu::cold, gnu::noinline]] bool grow();

    uint32_t endpoint_slot_;
    uint32_t live_ = 0;
    uint32_t made_ = 0; ///< requests in all chunks
    std::vector<std::unique_ptr<Request[]>> chunks_;
    Request *free_ = nullptr; ///< the one used last first
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The life of a message that comes with its data.
#include "libmx/shm/arrival.hpp"

#include "driver/base/system_calls.hpp"

#include <algorithm>

namespace emx::shm {

bool is_there(std::span<const Segment> memory, bool write)
{
    return std::all_of(memory.begin(), memory.end(),
                       [write](const Segment &one) { return sys::is_resident(one.data, one.length, write); });
}

void Arrival::expect(const emx_msg &rndv)
{
    rndv_ = rndv;
    done_ = 0;
    state_ = State::expected;
}

bool Arrival::begin(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory, uint64_t cookie)
{
    if (state_ != State::expected || rndv.seq != rndv_.seq || rndv.u.window.id != rndv_.u.window.id ||
        rndv.u.window.tag != rndv_.u.window.tag)
        return false;
    target_.assign(memory);
    if (total == 0 || total > rndv_.msg_len || total > target_.length() ||
        (total > unchecked_most && !is_there(memory, true))) {
        cancel();
        return false;
    }
    rndv_ = rndv;
    total_ = total;
    cookie_ = cookie;
    waits_since_ns_ = 0;
    memory_.assign(memory.begin(), memory.end());
    state_ = State::wanted;
    return true;
}

bool Arrival::is_late(uint64_t now, uint64_t patience_ns)
{
    if (waits_since_ns_ == 0)
        waits_since_ns_ = now;
    return now - waits_since_ns_ > patience_ns;
}

Arrival::Result Arrival::take(const emx_msg &piece)
{
    if (state_ == State::skipped)
        return Result::more;
    if (state_ == State::expected) {
        cancel();
        return Result::unused;
    }
    if (piece.u.medium.position != done_) {
        cancel();
        return Result::broken;
    }
    if (piece.data_len == 0) {
        cancel();
        return Result::rest;
    }
    const uint32_t bytes = std::min(piece.data_len, total_ - done_);
    target_.copy_in(done_, reinterpret_cast<const std::byte *>(piece.data), bytes);
    done_ += bytes;
    waits_since_ns_ = 0;
    if (done_ < total_)
        return Result::more;
    cancel();
    return Result::done;
}

} // namespace emx::shm

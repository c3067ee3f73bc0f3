// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Copying from the window of another process.
#include "libmx/shm/pull.hpp"

#include "driver/base/system_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <sys/uio.h>

namespace emx::shm {
namespace {

constexpr uint32_t bytes_per_step = 512 * 1024; // other endpoints' packets wait no longer than that
constexpr uint32_t pieces_per_step = 256;
constexpr uint64_t pieces_max = 4096;

/// Describes the most of [position, position + length) that fits into `io`; cuts length to it.
uint32_t describe(const PieceList &list, uint64_t position, uint32_t &length, iovec *io)
{
    for (; length > 0; length /= 2)
        if (const uint32_t used = list.describe(position, length, io, pieces_per_step))
            return used;
    return 0;
}

} // namespace

bool Pull::begin(std::shared_ptr<Incoming> from, const emx_msg &rndv, uint32_t total,
                 std::span<const Segment> memory, uint64_t cookie, uint32_t done)
{
    SharedWindow &window = from->memory().window[fw_window_slot(rndv.u.window.id, rndv.u.window.tag)];
    from_ = std::move(from);
    rndv_ = rndv;
    total_ = total;
    done_ = done;
    cookie_ = cookie;
    memory_.assign(memory.begin(), memory.end());
    const uint64_t stamp = window.stamp.load(std::memory_order_acquire);
    if (stamp == 0 || (stamp & 0xff) != rndv.u.window.tag || !read_window(window, stamp))
        return false;
    target_.assign(memory);
    return source_.length() >= uint64_t{rndv.u.window.offset} + total && target_.length() >= total;
}

bool Pull::read_window(SharedWindow &window, uint64_t stamp)
{
    const uint64_t length = window.length.load(std::memory_order_relaxed);
    const uint64_t address = window.address.load(std::memory_order_relaxed);
    const uint64_t pieces = window.pieces.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (window.stamp.load(std::memory_order_relaxed) != stamp || length > 0xffffffff || pieces > pieces_max)
        return false;
    stamp_ = stamp;
    std::vector<Segment> list(pieces);
    if (pieces == 1) {
        list[0] = {reinterpret_cast<std::byte *>(address), static_cast<uint32_t>(length)};
    } else {
        const iovec here = {list.data(), list.size() * sizeof(Segment)};
        const iovec there = {reinterpret_cast<void *>(address), here.iov_len};
        if (::process_vm_readv(from_->link.pid(), &here, 1, &there, 1, 0) !=
            static_cast<ssize_t>(here.iov_len))
            return false;
    }
    source_.assign(list);
    return source_.length() == length;
}

bool Pull::still_open() const
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const SharedWindow &window =
        from_->memory().window[fw_window_slot(rndv_.u.window.id, rndv_.u.window.tag)];
    // A number of a process that ended may be another process's by now.
    return window.stamp.load(std::memory_order_acquire) == stamp_ && !from_->link.process_ended();
}

/// One cannot tell from the error at which end memory is gone.
bool Pull::is_writable() const
{
    return std::all_of(memory_.begin(), memory_.end(),
                       [](const Segment &one) { return sys::can_write(one.data, one.length); });
}

Pull::State Pull::step()
{
    iovec here[pieces_per_step], there[pieces_per_step];
    uint32_t length = std::min(total_ - done_, bytes_per_step);
    uint32_t pieces_there = describe(source_, uint64_t{rndv_.u.window.offset} + done_, length, there);
    const uint32_t before = length;
    const uint32_t pieces_here = describe(target_, done_, length, here);
    if (length != before)
        pieces_there = describe(source_, uint64_t{rndv_.u.window.offset} + done_, length, there);
    const ssize_t got = ::process_vm_readv(from_->link.pid(), here, pieces_here, there, pieces_there, 0);
    if (got <= 0) {
        if (got < 0 && errno == EFAULT && !is_writable())
            return State::aborted;
        if (got < 0 && (errno == EPERM || errno == ENOSYS))
            from_->readable = false;
        return State::failed;
    }
    done_ += static_cast<uint32_t>(got);
    if (done_ < total_)
        return State::running;
    return still_open() ? State::done : State::failed;
}

} // namespace emx::shm

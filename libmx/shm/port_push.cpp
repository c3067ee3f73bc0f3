// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Data behind their announcement: the sender copies a large message into the ring while the receiver copies
// it out, so that both processors work at once (docs/decisions/0034-data-behind-their-announcement.md).
#include "driver/base/clock.hpp"
#include "driver/base/relax.hpp"
#include "libmx/request.hpp"
#include "libmx/shm/port.hpp"

#include <algorithm>

namespace emx::shm {
namespace {

constexpr uint32_t push_most = 8 * 1024 * 1024; // from there on the caches hold less than the copies need
constexpr uint32_t ahead_most = 128 * 1024; // of what the receiver has told to have taken
constexpr uint64_t patience_ns = 3000; // with a receiver that takes nothing
constexpr uint32_t rests_most = 64;

} // namespace

/// A receiver that did not want data lets the next messages come without; the more often, the more of them.
bool ShmPort::may_push(Outgoing &to, uint32_t length)
{
    if (length > push_most || length == 0)
        return false;
    const uint32_t unused = to.memory().unused.load(std::memory_order_relaxed);
    if (unused != to.unused) {
        to.unused = unused;
        to.rests_next = std::clamp(to.rests_next * 2, 1u, rests_most);
        to.rests = to.rests_next;
    } else if (to.pushed) {
        to.rests_next /= 2;
    }
    to.pushed = false;
    if (to.rests > 0) {
        --to.rests;
        return false;
    }
    // Half of the ring stays for what completes when it is written.
    return to.writer.held() + bytes_in_pieces(std::min(length, ahead_most)) <= to.writer.half();
}

/// Waits until there is room for one more piece. False: the receiver has other things to do.
bool ShmPort::has_room(Outgoing &to)
{
    if (to.writer.held() <= ahead_most) [[likely]]
        return true;
    constexpr int looks_per_clock = 64;
    const uint64_t until = monotonic_ns() + patience_ns;
    for (int looks = 1; looks % looks_per_clock != 0 || monotonic_ns() < until; looks++) {
        if (to.memory().unused.load(std::memory_order_relaxed) != to.unused)
            return false;
        if (to.writer.held() <= ahead_most)
            return true;
        relax();
    }
    return false;
}

bool ShmPort::write_piece(Outgoing &to, uint32_t position, std::span<const Segment> data, uint32_t bytes)
{
    std::byte *record = to.writer.begin(piece_head + bytes);
    if (!record)
        return false; // a receiver that writes what it likes into its memory
    auto *head = reinterpret_cast<PieceRecord *>(record);
    head->position = position;
    head->length = bytes;
    gather(record + piece_head, data, position, bytes);
    to.writer.publish(record, {piece_head + bytes, data_piece, 0, 0});
    if (to.writer.must_wake())
        to.link.wake();
    return true;
}

void ShmPort::push(Outgoing &to, uint32_t length, std::span<const Segment> data)
{
    to.pushed = true;
    // The receiver hears of the message, and looks at its own memory meanwhile.
    if (length > unchecked_most && !is_there(data, false)) {
        write_piece(to, 0, data, 0);
        return;
    }
    for (uint32_t position = 0, bytes; position < length; position += bytes) {
        bytes = std::min(length - position, piece_most);
        if (position >= ahead_most && !has_room(to)) {
            write_piece(to, position, data, 0);
            return;
        }
        if (!write_piece(to, position, data, bytes))
            return;
    }
}

/// The piece at the front of the ring. True when its message is complete.
bool ShmPort::take_piece(Incoming &in)
{
    switch (in.arrival.take(in.reader.message())) {
    case Arrival::Result::more: return false;
    case Arrival::Result::unused:
        in.memory().unused.fetch_add(1, std::memory_order_relaxed);
        emx_count(counters_, EMX_CNT_SHM_UNUSED, 1);
        return false;
    case Arrival::Result::rest: fetch(in, in.arrival.done()); return false;
    case Arrival::Result::broken: fetch(in, 0); return false;
    case Arrival::Result::done: break;
    }
    --awaited_;
    emx_count(counters_, EMX_CNT_SHM_PUSH, 1);
    tell_pulled(in.arrival.rndv(), in.arrival.cookie(), in.arrival.total(), EMX_PULL_OK);
    return true;
}

/// A sender that was stopped between two pieces, or has lost its processor, is not waited for.
void ShmPort::look_for_late()
{
    const uint64_t now = monotonic_ns();
    for (const auto &in : in_)
        if (in->arrival.is_wanted() && in->arrival.is_late(now, late_ns))
            fetch(*in, in->arrival.done());
}

/// No more of the data comes: what is missing is fetched, or the reason comes why there is none.
void ShmPort::fetch(Incoming &in, uint32_t done)
{
    Arrival &from = in.arrival;
    from.cancel();
    --awaited_;
    Pull pull;
    const bool found =
        pull.begin(in.shared_from_this(), from.rndv(), from.total(), from.memory(), from.cookie(), done);
    pull.by_frames = !found || !in.readable;
    pulls_.push_back(std::move(pull));
}

} // namespace emx::shm

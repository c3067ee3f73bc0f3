// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests, their handles and their segment lists: see request.hpp.
#include "libmx/request.hpp"

namespace emx {

void SegmentList::assign_many(const Segment *segments, uint32_t count)
{
    if (count > 0) {
        heap_ = std::make_unique<Segment[]>(count);
        std::copy_n(segments, count, heap_.get());
    }
    count_ = count;
}

namespace {

/// Calls f(pointer, length) for the pieces of [offset, offset + length).
template <class F>
void for_pieces(std::span<const Segment> segments, uint64_t offset, uint64_t length, F f)
{
    for (const Segment &segment : segments) {
        if (length == 0)
            return;
        if (offset >= segment.length) {
            offset -= segment.length;
            continue;
        }
        uint64_t piece = std::min<uint64_t>(segment.length - offset, length);
        f(segment.data + offset, piece);
        length -= piece;
        offset = 0;
    }
}

} // namespace

void scatter_pieces(std::span<const Segment> to, uint64_t offset, const std::byte *from, uint64_t length)
{
    for_pieces(to, offset, length, [&](std::byte *piece, uint64_t size) {
        copy_bytes(piece, from, size);
        from += size;
    });
}

void gather_pieces(std::byte *to, std::span<const Segment> from, uint64_t offset, uint64_t length)
{
    for_pieces(from, offset, length, [&](const std::byte *piece, uint64_t size) {
        copy_bytes(to, piece, size);
        to += size;
    });
}

bool RequestPool::grow()
{
    if ((chunks_.size() + 1) * chunk_size >= (1u << index_bits))
        return false;
    Request *chunk = chunks_.emplace_back(std::make_unique<Request[]>(chunk_size)).get();
    for (uint32_t i = chunk_size; i-- > 0;) {
        chunk[i].handle = handle_bit | uint64_t{endpoint_slot_} << index_bits | (made_ + i);
        chunk[i].post_next = free_;
        free_ = &chunk[i];
    }
    made_ += chunk_size;
    return true;
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests, their handles and their segment lists: see request.hpp.
#include "libmx/request.hpp"

namespace emx {

void SegmentList::assign(const Segment *segments, uint32_t count)
{
    clear();
    count_ = count;
    if (count == 1) [[likely]] {
        single_ = segments[0];
    } else if (count > 1) {
        heap_ = std::make_unique<Segment[]>(count);
        std::copy_n(segments, count, heap_.get());
    }
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
        std::memcpy(piece, from, size);
        from += size;
    });
}

void gather_pieces(std::byte *to, std::span<const Segment> from, uint64_t offset, uint64_t length)
{
    for_pieces(from, offset, length, [&](const std::byte *piece, uint64_t size) {
        std::memcpy(to, piece, size);
        to += size;
    });
}

bool RequestPool::grow()
{
    if ((chunks_.size() + 1) * chunk_size >= (1u << index_bits))
        return false;
    auto chunk = std::make_unique<Request[]>(chunk_size);
    for (uint32_t i = chunk_size; i-- > 0;) {
        chunk[i].index = static_cast<uint32_t>(chunks_.size()) * chunk_size + i;
        chunk[i].next_free = free_;
        free_ = &chunk[i];
    }
    chunks_.push_back(std::move(chunk));
    return true;
}

} // namespace emx

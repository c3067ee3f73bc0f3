// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A message in memory, addressed by position.
#include "driver/segments.hpp"

#include "driver/base/copy.hpp"

#include <algorithm>
#include <cassert>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

uint32_t sum_pieces(const iovec *io, uint32_t pieces)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < pieces; i++)
        sum = fw_crc32c(sum, io[i].iov_base, io[i].iov_len);
    return sum;
}

void PieceList::assign(std::span<const Segment> segments)
{
    clear();
    for (const Segment &segment : segments) {
        if (segment.length == 0)
            continue;
        const Piece piece{length_, segment.data, segment.length};
        if (length_ == 0) {
            one_ = piece;
        } else {
            if (more_.empty())
                more_.push_back(one_);
            more_.push_back(piece);
        }
        length_ += segment.length;
    }
}

const PieceList::Piece *PieceList::find(uint64_t position) const
{
    if (position >= length_)
        return nullptr;
    if (more_.empty())
        return &one_;
    const auto after = std::upper_bound(more_.begin(), more_.end(), position,
                                        [](uint64_t p, const Piece &piece) { return p < piece.start; });
    return &*std::prev(after);
}

uint32_t PieceList::describe(uint64_t position, uint32_t length, iovec *io, uint32_t room) const
{
    if (position + length > length_)
        return 0;
    uint32_t used = 0;
    for (const Piece *piece = find(position); length > 0; piece++) {
        if (used == room)
            return 0;
        const auto inside = static_cast<uint32_t>(position - piece->start);
        const uint32_t part = std::min(length, piece->length - inside);
        io[used++] = {piece->data + inside, part};
        position += part;
        length -= part;
    }
    return used;
}

void PieceList::copy_in(uint64_t position, const std::byte *source, uint32_t length) const
{
    assert(position + length <= length_);
    for (const Piece *piece = find(position); length > 0; piece++) {
        const auto inside = static_cast<uint32_t>(position - piece->start);
        const uint32_t part = std::min(length, piece->length - inside);
        copy_bytes(piece->data + inside, source, part);
        source += part;
        position += part;
        length -= part;
    }
}

void PieceList::copy_out(uint64_t position, std::byte *target, uint32_t length) const
{
    assert(position + length <= length_);
    for (const Piece *piece = find(position); length > 0; piece++) {
        const auto inside = static_cast<uint32_t>(position - piece->start);
        const uint32_t part = std::min(length, piece->length - inside);
        copy_bytes(target, piece->data + inside, part);
        target += part;
        position += part;
        length -= part;
    }
}

} // namespace emx

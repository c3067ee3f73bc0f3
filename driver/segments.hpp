// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A message in memory: a list of pieces, addressed by position.
#pragma once

#include "driver/device.hpp"

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emx {

/// CRC-32C of what those pieces hold.
uint32_t sum_pieces(const iovec *io, uint32_t pieces);

/// A copy of a segment list with the position of each piece, so that a position is found by bisection.
/// Keeps its memory when it is assigned again; a list of one piece needs none.
class PieceList {
public:
    void assign(std::span<const Segment> segments);
    void clear() { more_.clear(), length_ = 0; }

    uint64_t length() const { return length_; }

    /// Describes [position, position + length) as at most `room` iovecs; returns how many, or 0 when it
    /// takes more or the list is shorter.
    uint32_t describe(uint64_t position, uint32_t length, iovec *io, uint32_t room) const;

    void copy_in(uint64_t position, const std::byte *source, uint32_t length) const;
    void copy_out(uint64_t position, std::byte *target, uint32_t length) const;

private:
    struct Piece {
        uint64_t start;
        std::byte *data;
        uint32_t length;
    };
    const Piece *find(uint64_t position) const;

    Piece one_{}; ///< the first piece
    std::vector<Piece> more_; ///< all pieces, the first too, where there are several
    uint64_t length_ = 0;
};

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A large message whose data lie in the ring behind its announcement
// (docs/decisions/0034-data-behind-their-announcement.md).
#pragma once

#include "driver/segments.hpp"

#include <emx/abi.h>

#include <span>
#include <vector>

namespace emx::shm {

/// So much is copied like an eager message: its memory is not looked at before.
inline constexpr uint32_t unchecked_most = 128 * 1024;
/// True if the memory seems to be there, as far as a quick look tells. `write`: it is a receive's.
bool is_there(std::span<const Segment> memory, bool write);

/// The data are wanted when the message has a receive before the first piece is read. Else they are skipped,
/// and fetched later as if they had not come. One per ring, since pieces follow their announcement at once.
class Arrival {
public:
    enum class Result {
        more,
        done, ///< all that the receive has room for is there
        unused, ///< nobody wants the data; told at the first piece
        rest, ///< no more comes: what is missing has to be fetched
        broken, ///< no honest sender writes that piece
    };

    /// The pieces to come are of this message.
    void expect(const emx_msg &rndv);
    /// True: they go into the memory, and take() tells when they are all there. False: fetch them. `rndv`,
    /// `total`, `memory` and `cookie` as in Port::start_pull.
    bool begin(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory, uint64_t cookie);
    /// A piece, as RingReader::front() describes it.
    Result take(const emx_msg &piece);
    /// Nobody wants what still comes.
    void cancel() { state_ = State::skipped; }

    /// True when no piece has come for `patience_ns`, as far as such calls tell.
    bool is_late(uint64_t now, uint64_t patience_ns);

    /// begin() said true, and nothing has ended it.
    bool is_wanted() const { return state_ == State::wanted; }
    const emx_msg &rndv() const { return rndv_; }
    uint32_t total() const { return total_; }
    /// Bytes that are there.
    uint32_t done() const { return done_; }
    uint64_t cookie() const { return cookie_; }
    std::span<const Segment> memory() const { return memory_; }

private:
    enum class State : uint8_t { skipped, expected, wanted };

    State state_ = State::skipped;
    emx_msg rndv_{};
    uint32_t total_ = 0;
    uint32_t done_ = 0;
    uint64_t cookie_ = 0;
    uint64_t waits_since_ns_ = 0; ///< 0: something has come since is_late() was asked
    std::vector<Segment> memory_;
    PieceList target_;
};

} // namespace emx::shm

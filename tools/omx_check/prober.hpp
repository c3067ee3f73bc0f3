// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames made by hand for an endpoint that nobody has open: whoever serves the board there must refuse them,
// and what it refuses, it has received and understood. So a path is measured without a partner.
#pragma once

#include "driver/base/fd.hpp"
#include "tools/board_view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace emx::check {

/// Outcome of a run of frames.
struct Burst {
    uint32_t sent = 0;
    uint32_t lost = 0; ///< not answered in time
    uint32_t late = 0; ///< answered after one that was sent later
};

class Prober {
public:
    /// Null when this user may not open raw sockets. `from` is an endpoint that this process has open:
    /// refusals go to it, and its library ignores them.
    static std::unique_ptr<Prober> open(const BoardFacts &board, uint64_t peer, uint8_t from);

    /// Asks the other side for its index of us, which every frame from now on bears: Open-MX drops those that
    /// do not (wire specification, 2.2). `index`: ours of it, which it learns. False: it does not answer.
    bool learn_tag(uint32_t index);
    /// Round trip in ns of a frame of that length, tried a few times; nothing when it is never answered.
    std::optional<uint64_t> round_trip(uint32_t bytes);
    /// 'W' or 'N', as which the other side reads a pull request that both dialects know; 0: it refuses none.
    char dialect();
    /// True if the other side, of dialect N, refuses a pull request that begins `skip` bytes into a frame for
    /// its endpoint. EtherMX does so while its own frames carry more than that, and drops the others as
    /// malformed; Open-MX looks at the endpoint first.
    bool takes_pull(uint32_t skip);
    /// Sends that many frames, of the lengths in turn, a few in flight at a time.
    Burst burst(uint32_t frames, const std::vector<uint32_t> &lengths);
    /// Answers to any frame so far beyond one for each time that it was sent: somebody else answers, too.
    /// Waits a moment for those of a slow one.
    uint32_t surplus();
    /// Frames sent so far.
    uint32_t sent() const { return sent_; }
    /// True when the interface here refused a frame as too long.
    bool too_long_here() const { return too_long_here_; }

private:
    Prober(const BoardFacts &board, uint64_t peer, uint8_t from, Fd socket);
    struct Flight;

    fw_pkt packet(uint8_t type);
    bool send(const fw_sizes &sizes, const fw_pkt &pkt, uint32_t bytes);
    /// Next refusal of our frames: the number of the frame; nothing at the deadline.
    std::optional<uint16_t> next_refusal(uint64_t deadline);
    uint16_t number_of(const fw_pkt &refusal);
    std::optional<uint64_t> ask(const fw_sizes &sizes, const fw_pkt &pkt, uint32_t bytes);
    std::optional<uint64_t> ask_pull(uint32_t skip, uint32_t bytes);
    void count_answer(uint16_t number);
    void take_refusals(Flight &flight, uint64_t deadline, Burst &burst);

    const BoardFacts board_;
    const uint64_t peer_;
    const uint8_t from_;
    const Fd socket_;
    uint16_t tag_ = EMX_TAG_NONE; ///< the other side's index of us
    char spoken_ = 0; ///< by the latest refusal of a pull request
    uint16_t number_ = 0;
    uint32_t sent_ = 0;
    uint32_t surplus_ = 0;
    /// By the number of a frame: answers that may still come, or never_sent.
    std::vector<int> owed_;
    bool too_long_here_ = false;
};

} // namespace emx::check

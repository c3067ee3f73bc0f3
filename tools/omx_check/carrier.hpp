// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Carrier of large messages: frames, UDP datagrams or TCP (docs/protocol.md, Datagrams and TCP), by what the
// counters of a board say of messages that have just come.
#pragma once

#include "tools/board_view.hpp"

#include <string>

namespace emx::check {

struct Carrier {
    std::string name; ///< "frames", "datagrams" or "tcp"
    std::string why; ///< not TCP, not datagrams, or whose; may be empty
};

/// view: that the board is of. before, after: counters of the board around some large messages that came to
/// it.
Carrier carrier_of(const BoardFacts &board, const BoardView &view, const emx_counters &before,
                   const emx_counters &after);

} // namespace emx::check

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What the administration tools see of a host: a connection to the board agent, and the board file.
#pragma once

#include "driver/engine/agent_client.hpp"
#include "driver/engine/board_file.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emx {

struct PeerView {
    uint32_t index;
    uint64_t mac;
    std::string name; ///< empty while unknown
};

/// One connection to the agent of this network namespace. Every failure is a cli::Failure.
class BoardView {
public:
    /// Connects; starts the agent, as opening an endpoint would, when none runs.
    BoardView();

    BoardFile &file() { return *file_; }
    /// True when this object had to start the agent: what it is told goes with it when it ends.
    bool started_agent() const { return started_; }

    /// Failure unless the number is that of a board.
    void check_board(uint32_t board);
    /// Failure with the agent's own words when it refuses.
    void tell(const AgentRequest &request);

    std::vector<PeerView> peers(uint32_t board);
    /// "node1:0"; "?" when nobody has named the board.
    std::string board_name(uint32_t board);
    /// "eth1:N=1500"-like words on the dialect: "N=1500" or "W".
    std::string dialect(uint32_t board);

private:
    void hello();

    std::unique_ptr<AgentConnection> connection_;
    std::unique_ptr<BoardFile> file_;
    bool started_ = false;
};

/// Fixed-size text of a request; Failure when it does not fit.
void set_text(AgentRequest &request, const std::string &text);
/// A sentence on stderr when settings will not outlive the agent that this tool started.
void warn_if_short_lived(const BoardView &view);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board agent in place of the kernel module: starting and ending it.
#pragma once

#include "tools/board_view.hpp"
#include "tools/setup/plan.hpp"

#include <map>
#include <string>

namespace emx {

/// Boards that are served, by their interfaces.
using ServedBoards = std::map<std::string, fw_sizes>;
ServedBoards served_by(BoardView &agent);

/// Tells that a running agent serves what the plan asks for; a cli::Failure when it serves something else.
void keep_agent(BoardView &agent, const Plan &plan);

/// Starts the agent of this network namespace, and tells that it serves and why it is not the module: the
/// unit omxd.service where systemd runs this host, else omxd itself. A cli::Failure names the remedy.
void start_agent_for(const Plan &plan);

/// Ends the agent likewise, and returns when it is gone. Nothing may have an endpoint open.
void end_agent(BoardView &agent);

} // namespace emx

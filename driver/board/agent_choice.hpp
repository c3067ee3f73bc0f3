// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agent that serves a program: the network namespace's, or that of this user's own UDP boards.
#pragma once

#include "driver/board/board_file.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/device.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace emx {

/// The abstract name of a user's own agent for these boards: it has the user and the first board in it. Empty
/// for root, and where not all are UDP boards: then the agent is the one of the network namespace.
std::string own_agent_name(const std::vector<BoardSpec> &boards, uid_t user);

/// The boards that a specification or, where it is empty, a configuration file (empty: the default) names;
/// none where neither is understood.
std::vector<BoardSpec> wanted_boards(const std::string &boards, const std::string &config);

/// True if an agent with that board file serves what a specification asks for; else with a sentence in error.
bool serves(BoardFile &file, const std::string &wanted, DeviceError &error);

/// The name of this user's own agent, or empty where that of the network namespace serves these boards
/// already, or is the one to start. Asks it.
std::string choose_agent(const std::string &boards, const std::string &config);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Starting the board agent from a process that opens the first board.
#pragma once

#include "driver/device.hpp"

#include <cstdint>
#include <string>

namespace emx {

/// The way to start an agent.
struct AgentStart {
    std::string program; ///< path of omxd; empty: EMX_OMXD is not set, search
    std::string boards; ///< specification; empty: omxd reads its configuration file
    std::string config; ///< empty: omxd's default
    std::string peers; ///< empty: omxd's default
    std::string group; ///< empty: omxd's default
    uint32_t endpoint_max = 32;
};

enum class AgentStarted : uint8_t {
    serves,
    failed,
    ended, ///< without a word: somebody killed it, or it crashed
};

/// Starts the agent as a process of its own and waits until it serves; unless it does, `error` tells why.
AgentStarted start_agent(const AgentStart &start, DeviceError &error);

} // namespace emx

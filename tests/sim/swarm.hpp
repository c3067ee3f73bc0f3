// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The run that a seed draws: hosts, sizes, kinds of faults and their rates, behaviour of the programs.
#pragma once

#include "host.hpp"
#include "network.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emx::sim {

enum class Mode { delivery, hostile };

struct Swarm {
    Swarm(uint64_t seed, Mode mode);

    // the network
    char dialect;
    uint32_t dialect_mtu;
    std::vector<HostOptions> hosts;
    Faults faults;
    uint32_t cuts = 0; ///< partitions in the run
    uint32_t kills = 0; ///< processes that die
    bool host_crash = false;

    // the programs
    uint32_t actors;
    uint32_t messages; ///< each actor sends about so many
    uint32_t length_max;
    uint32_t receives; ///< posted at once, at most
    uint32_t away_permille; ///< steps that are a long absence
    uint32_t cancel_permille;
    uint32_t forget_permille;
    uint32_t disconnect_permille;
    bool handler;
    std::map<std::string, std::string> environment;
    bool mixed; ///< every second actor has the extension turned off
    uint32_t checksum; ///< every actor, or every second, wishes checksums; 0: none

    std::string describe() const;
};

} // namespace emx::sim

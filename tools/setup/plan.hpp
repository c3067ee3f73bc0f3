// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The state of the kernel module that the configuration asks for, checked before anything is touched.
#pragma once

#include "driver/config/config_file.hpp"
#include "driver/config/peers_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace emx {

struct Plan {
    std::string path; ///< of the configuration file
    ConfigFile config;
    std::string peers_path; ///< empty: no list of peers
    std::vector<NamedPeer> peers;

    /// "/etc/ethermx/ethermx.conf, line 4", where the interfaces are named.
    std::string boards_place() const;
};

/// Reads the configuration and the peers it names. A cli::Failure names file, line and remedy; it is one
/// too when there is no file, or no interface in it.
Plan read_plan(const std::string &path);

/// The boards, as "eth1:N=9000" each. Failure unless every interface is there, is Ethernet, and has an MTU
/// for its dialect; waits for that at most so many seconds.
std::vector<std::string> check_interfaces(const Plan &plan, uint32_t patience_s);

} // namespace emx

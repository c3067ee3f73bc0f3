// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The configuration file of a host, which the board agent and the start program of the kernel module read.
#pragma once

#include "driver/config/board_spec.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emx {

inline constexpr const char *default_config_path = "/etc/ethermx/ethermx.conf";
inline constexpr uint32_t default_table = 1024;
inline constexpr const char *default_peers_paths[] = {"/etc/ethermx/peers", "/etc/open-mx/peers"};

/// The contents of a configuration file; empty or 0 where it says nothing.
struct ConfigFile {
    std::vector<BoardSpec> boards;
    int boards_line = 0; ///< for messages about them
    std::string group; ///< whose members the board agent serves
    std::string run_as; ///< user that root's board agent becomes
    std::string peers; ///< path of a peers file
    std::optional<uid_t> user; ///< whose board agent programs believe, besides root's and their own user's
    uint32_t endpoints = 0; ///< numbers per board
    uint32_t table = 0; ///< slots of a board's peer table
};

/// Reads a configuration file: lines KEY = VALUE with the keys of ConfigFile, each at most once; `#` starts
/// a comment. A missing file says nothing. False with a sentence in error, which names file, line and
/// remedy, for an unreadable file and for a line that is not understood.
bool read_config_file(const std::string &path, ConfigFile &config, std::string &error);

/// The peers file in use: `named` if it is not empty, else the first default that exists, else empty.
std::string choose_peers_path(const std::string &named);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// UDP boards as users write them: udp:INTERFACE, udp:ADDRESS, udp:[ADDRESS], each with :PORT and :N=SIZE
// behind it or not (docs/udp-boards.md).
#pragma once

#include "driver/config/board_spec.hpp"

#include <cstdint>
#include <string>

namespace emx {

inline constexpr const char *udp_prefix = "udp:";
/// The first port of a UDP board, behind those of datagrams between boards of raw frames.
inline constexpr uint32_t udp_port_default = 34783;
/// Frame size of dialect N, in bytes of UDP payload, where users give none: any IPv6 link carries it, so that
/// hosts of different networks agree.
inline constexpr uint32_t udp_frame_default = 1280 - 48;

/// The UDP port of the agent's socket is the board's first; that of endpoint e comes behind it.
constexpr uint32_t udp_port_of(uint32_t first, uint32_t endpoint) { return first + 1 + endpoint; }

/// Parses one board that begins with udp_prefix. False with a sentence in error.
bool parse_udp_board(const std::string &part, BoardSpec &spec, std::string &error);

/// A sentence about two boards that no host can have beside each other; empty: there is none.
std::string obstacle_between(const BoardSpec &a, const BoardSpec &b);

/// Bytes of IP and UDP in front of a frame.
constexpr uint32_t udp_overhead(bool v4) { return v4 ? 28 : 48; }

/// Sizes of the dialect of a UDP board on an interface of that MTU, and its longest frame of the extension.
/// False with a sentence that names the remedy when the MTU is too small.
bool choose_udp_sizes(const BoardSpec &spec, uint32_t interface_mtu, bool v4, fw_sizes &sizes,
                      uint32_t &x_frame, std::string &error);

} // namespace emx

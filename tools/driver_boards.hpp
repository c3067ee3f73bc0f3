// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Giving interfaces to the kernel module, and taking them back.
#pragma once

#include "driver/config/board_spec.hpp"
#include "driver/kernel_client/driver_file.hpp"

#include <cstdint>
#include <string>

namespace emx {

/// The module's file for the library and the tools; a cli::Failure when it is not loaded, or of
/// another release.
DriverFile open_driver();

/// Makes the interface a board of the caller's network namespace. endpoints, peers: 0 means the module's
/// parameters. A cli::Failure names the interface and the remedy.
emx_dev_board attach_board(const DriverFile &file, const BoardSpec &spec, uint32_t endpoints, uint32_t peers);
/// Ends the board of that interface; likewise.
void detach_board(const DriverFile &file, const std::string &interface);
/// Interfaces of this network namespace that have vanished are no boards when they come back.
void forget_vanished(const DriverFile &file);

/// "eth1:N=9000" of a board.
std::string describe_board(const emx_dev_board &board);

} // namespace emx

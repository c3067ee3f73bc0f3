// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Conformance over the kernel module: what the engine's agent does by itself when a rank starts it.
#pragma once

#include <string>

namespace emx::conform {

/// In the network namespace of that path and under that host name: makes the interfaces of `boards` (as in
/// EMX_BOARDS: INTERFACE:W or INTERFACE:N=SIZE, by commas) boards of the module, in that order. False with
/// a sentence in error. Boards end with their interfaces.
bool attach_boards(const std::string &path, const std::string &host_name, const std::string &boards,
                   std::string &error);

} // namespace emx::conform

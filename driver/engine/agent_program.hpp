// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where the program of the board agent is.
#pragma once

#include <string>

namespace emx {

/// True if a file is there and this process may run it.
bool runnable(const std::string &path);

/// Absolute path of omxd, for a process that names none itself; empty when there is none. The places, in this
/// order: the build tree that our own code was loaded from, the place of installation, the folders of PATH. A
/// program that has rights of another looks at the place of installation only. Any thread.
std::string find_agent_program();

} // namespace emx

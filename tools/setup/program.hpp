// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Running programs of the system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emx {

enum class Output : uint8_t {
    shown,
    dropped, ///< standard output and standard error
};

/// Runs the program of that name from the folders where systems have them (PATH is not asked, since root runs
/// this and another may have set it), or from a path, and waits for its end. Its exit status; 128 and the
/// signal that ended it; 127 when there is no such program. A cli::Failure when no process can be made.
int run_program(const std::string &name, std::vector<std::string> arguments, Output output = Output::shown);

} // namespace emx

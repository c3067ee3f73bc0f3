// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sentences for system calls that fail.
#pragma once

#include <string>

namespace emx {

/// The system's text for an error number and, where a limit or a filter of system calls is the likely
/// cause, which one to raise. Any thread.
std::string system_reason(int error);

/// Limits, and filters of system calls, of this process: nobody else is to blame.
bool is_own_shortage(int error);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sentences for system calls that fail.
#pragma once

#include "driver/engine/mx_codes.hpp"
#include "libmx/device.hpp"

#include <string>

namespace emx {

/// The system's text for an error number and, where a limit or a filter of system calls is the likely
/// cause, which one to raise. Any thread.
std::string system_reason(int error);

/// Limits, and filters of system calls, of this process: nobody else is to blame.
bool is_own_shortage(int error);

/// `what` failed with `errno`: "WHAT: system_reason(errno)", and MX_NO_RESOURCES where that
/// is_own_shortage(), else `otherwise`. Any thread.
DeviceError system_error(const std::string &what, int otherwise = mx_no_resources);

} // namespace emx

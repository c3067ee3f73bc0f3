// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sentences for system calls that fail.
#pragma once

#include "libmx/device.hpp"

#include <string>

namespace emx {

/// What the system says of an error number and, where a limit or a filter of system calls is the likely
/// cause, which one to raise. Any thread.
std::string system_reason(int error);

/// `what` failed with `errno`: MX_NO_RESOURCES and "WHAT: system_reason(errno)". Any thread.
DeviceError system_error(const std::string &what);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Errors of devices for system calls that fail.
#pragma once

#include "driver/base/reason.hpp"
#include "driver/device.hpp"
#include "driver/mx_codes.hpp"

#include <cerrno>
#include <string>

namespace emx {

/// `what` failed with `errno`: "WHAT: system_reason(errno)", and MX_NO_RESOURCES where that
/// is_own_shortage(), else `otherwise`. Any thread.
inline DeviceError system_error(const std::string &what, int otherwise = mx_no_resources)
{
    return {is_own_shortage(errno) ? int{mx_no_resources} : otherwise, what + ": " + system_reason(errno)};
}

} // namespace emx

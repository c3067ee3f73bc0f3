// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The kernel module as a Device: boards, names, counters, and opening of endpoints.
#pragma once

#include "driver/device.hpp"
#include "driver/kernel_client/command_path.hpp"

#include <memory>
#include <string>

namespace emx {

/// Uses the kernel module when it is loaded and has boards in this network namespace, and `boards`,
/// normally the value of EMX_BOARDS, is empty or names just those. Null with error.code 0 when it is not
/// so; null with an error when the module has such boards and cannot be used: MX_NO_PERM, MX_NO_DRIVER.
/// `required` makes an error of everything, for a user who wants nothing else.
/// The device may be used by several threads; it may go before its ports.
std::unique_ptr<Device> make_kernel_device(const std::string &boards, bool required, DeviceError &error,
                                           CommandWay way = CommandWay::automatic);

} // namespace emx

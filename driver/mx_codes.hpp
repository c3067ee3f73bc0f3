// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The values of mx_return_t that the platforms of the firmware report (API specification, section 1.6).
#pragma once

namespace emx {

enum MxCode : int {
    mx_success = 0,
    mx_no_dev = 5,
    mx_no_driver = 6,
    mx_no_perm = 7,
    mx_board_unknown = 8,
    mx_bad_endpoint = 9,
    mx_no_resources = 15,
    mx_busy = 20,
    mx_timeout = 30,
    mx_nic_not_found = 36,
};

} // namespace emx

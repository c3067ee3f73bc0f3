// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Facts without which a measurement cannot be compared with another one.
#pragma once

#include "report.hpp"

#include <cstdint>

namespace emx::perf {

/// version, date (UTC, ISO 8601), device ("engine" or "kernel"), interface, dialect and mtu of a board that
/// this process has open. Those of the board are empty where the firmware does not tell them.
Provenance provenance_of(uint32_t board);

} // namespace emx::perf

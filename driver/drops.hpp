// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The one place where engine and library drop a packet.
#pragma once

#include "driver/base/probe.hpp"
#include "driver/core/fw.h"

#include <emx/abi.h>

namespace emx {

/// Counts what is thrown away for the reason of that counter (EMX_CNT_DROP_*), and tells the probe `dropped`.
/// Apart from its callers, whose usual path it is not. Caller: the counters' writer.
[[gnu::cold, gnu::noinline]] inline void count_drop(emx_counters &counters, unsigned reason)
{
    emx_count(&counters, reason, 1);
    EMX_PROBE(2, dropped, reason, fw_counter_label(reason));
}

} // namespace emx

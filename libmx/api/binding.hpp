// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// OMX_PROCESS_BINDING: the processor on which the thread that opens an endpoint shall run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emx::api {

/// The processors that `spec` names for an endpoint: "all:CPU"; a list "CPU0,CPU1,..." by endpoint number;
/// "file" or "file:PATH", lines "board MAC ep NUMBER irq IRQ mask HEX". Empty: none, or nonsense.
std::vector<unsigned> processors_for(const std::string &spec, uint64_t nic_id, uint32_t endpoint);

/// Binds the calling thread, and the threads it starts from then on, to these. False with errno set.
bool bind_thread(const std::vector<unsigned> &processors);

} // namespace emx::api

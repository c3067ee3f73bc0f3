// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Loading and unloading of the kernel module.
#pragma once

#include <optional>

namespace emx {

bool module_loaded();
/// A cli::Failure tells how to build it when it is not there.
void load_module();
/// False when it stays, because it is in use or this process may not.
bool unload_module();
/// Boards of all network namespaces; empty when that cannot be read.
std::optional<unsigned> boards_everywhere();

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Loading and unloading of the kernel module.
#pragma once

#include <optional>
#include <string>

namespace emx {

bool module_loaded();
/// True if it is loaded, or modprobe finds it for this kernel.
bool module_installed();
/// Half a sentence: how it comes there.
std::string module_remedy();
/// A cli::Failure names the remedy.
void load_module();
/// False when it stays, because it is in use or this process may not.
bool unload_module();
/// Boards of all network namespaces; empty when that cannot be read.
std::optional<unsigned> boards_everywhere();

} // namespace emx

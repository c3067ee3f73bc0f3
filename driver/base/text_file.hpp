// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Small files that are read whole: configuration, and what the kernel tells in /proc and /sys.
#pragma once

#include <sstream>
#include <string>

namespace emx {

/// The contents of a file as a stream. One that cannot be read, or has more than 16 MiB, is a stream that has
/// failed, with errno set. The descriptor that it takes meanwhile lies above the standard streams. Any
/// thread.
std::istringstream read_text_file(const std::string &path);

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Diagnostics that a user asked for (OMX_VERBOSE): lines on stderr about endpoints that come and go, never
// about packets.
#pragma once

#include <cstdint>
#include <string>

namespace emx::api {

/// The subject of a line; for the escapes of the prefix.
struct About {
    uint32_t board = 0;
    uint32_t endpoint = 0;
    std::string board_name;
};

/// The text in front of a line as OMX_VERBOSE_PREFIX describes it: "1" is "OMX:HOST:PID: ", else %p process,
/// %e endpoint, %b board, %B its name, %H host, %% itself; "[FROM-TO]" behind one takes these characters.
std::string expand_prefix(const std::string &format, const About &about);

} // namespace emx::api

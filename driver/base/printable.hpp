// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Text of strangers as it is shown: names from the wire, of processes, interfaces and hosts.
#pragma once

#include <string>
#include <string_view>

namespace emx {

/// The text on one line, without power over a terminal or over those who read a log by lines: bytes that are
/// not printable ASCII become \xNN. Another pass changes nothing. Any thread; allocates.
inline std::string printable(std::string_view text)
{
    constexpr const char *digits = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && byte < 127)
            shown += c;
        else
            shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return shown;
}

} // namespace emx

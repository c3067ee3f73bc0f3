// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Texts in the CSV of the tools, as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>

namespace emx {

/// The text as a field: in quotes, doubled inside, where it has a comma, a quote or the end of a line. Any
/// thread.
inline std::string csv_text(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"')
            out += '"';
        out += c;
    }
    return out + '"';
}

} // namespace emx

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The prefix of diagnostics. See verbose.hpp.
#include "libmx/api/verbose.hpp"

#include <cstdio>
#include <unistd.h>

namespace emx::api {
namespace {

std::string host_name()
{
    char name[256] = {};
    return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "?";
}

std::string value_of(char escape, const About &about)
{
    switch (escape) {
    case 'p': return std::to_string(::getpid());
    case 'e': return std::to_string(about.endpoint);
    case 'b': return std::to_string(about.board);
    case 'B': return about.board_name;
    case 'H': return host_name();
    default: return std::string(1, escape);
    }
}

/// Cuts `value` by a "[FROM-TO]" at `at`, and moves behind it.
void cut(std::string &value, const std::string &format, std::size_t &at)
{
    unsigned from = 0, to = 0;
    int length = 0;
    if (std::sscanf(format.c_str() + at, "[%u-%u]%n", &from, &to, &length) != 2 || length == 0)
        return;
    at += static_cast<std::size_t>(length);
    value = from < value.size() && from <= to ? value.substr(from, to - from + 1) : "";
}

} // namespace

std::string expand_prefix(const std::string &format, const About &about)
{
    const std::string chosen = format == "1" ? "OMX:%H:%p: " : format;
    std::string text;
    for (std::size_t at = 0; at < chosen.size();) {
        const char c = chosen[at++];
        if (c != '%' || at == chosen.size()) {
            text += c;
            continue;
        }
        std::string value = value_of(chosen[at++], about);
        cut(value, chosen, at);
        text += value;
    }
    return text;
}

} // namespace emx::api

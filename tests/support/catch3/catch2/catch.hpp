// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Catch2 3 by the names of Catch2 2, which the tests use: its only header is found here.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {
using Matchers::EndsWith;

/// Matches a text that has `part` in it.
inline auto Contains(const std::string &part) { return Matchers::ContainsSubstring(part); }
} // namespace Catch

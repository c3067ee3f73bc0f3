// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The tests of a path, in their order, and the verdict.
#pragma once

#include "tools/omx_check/partner.hpp"

#include <string>

namespace emx::check {

struct Options {
    uint32_t board = 0;
    uint32_t endpoint = server_endpoint;
    uint32_t frames = 1000;
    uint32_t patience_s = 3;
    bool json = false; ///< the results as a document, at the end
};

/// Tests the path to that host, prints what it finds, and returns whether all is right.
bool test_path(const Options &options, const std::string &host);

} // namespace emx::check

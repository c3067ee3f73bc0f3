// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Catch2's main function for the tests that make network namespaces.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// main() of a unit test program.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

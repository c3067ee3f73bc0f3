#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A row: the tree as users build it, by a compiler and with options, and what is built passes its tests.
#   native.sh ROW CC CXX OPTION...     options of meson setup
cd "$(dirname "$0")/../.." || exit 1
. tests/release/common.sh
row "$1"
export CC="ccache $2" CXX="ccache $3"
shift 3
needs g++ clang libopenmpi-dev libpmix-dev
configures "$@"
builds unit seeds interop
suite unit seeds interop
finish

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The captures of a real MXoE peer, played against the module in the place of either host: tests/interop, with a
# board of the module instead of the engine's. What it sends is compared, and judged. The arguments are test cases (all).
. /check.sh
. /root.sh

begin_over_module veth

# Catch2 takes names with commas between them.
cases=$(echo "$*" | tr " " ,)
check "replay" in_root env EMX_WATCH="$BUILD/tests/watch/wirewatch" "$BUILD/tests/interop/replay_engine" ${cases:+"$cases"}
end_over_module

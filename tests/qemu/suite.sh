#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The suite qemu: tests of guest/ in one boot of a stock kernel. With EMX_FULL=1 programs and MPI at length, and every
# column of the conformance suite, one with commands by io_uring.
#
#   suite.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/items.sh"

[ $# = 1 ] || fail "usage: suite.sh DIR"
mkdir -p "$1"
items=()
add() { # TEST
	local item
	item=$(item_of "$1" "$dir") || exit
	items+=("$item")
}
dir=$(cd "$1" && pwd)
for test in smoke trespass tools admin offload links faults replay conform programs mpi; do
	add $test
done
if [ "${EMX_FULL:-0}" = 1 ]; then
	for column in N1500/2hosts W/2hosts N9000/1host W/1host 2boards; do
		items+=("conform,--config,$column")
	done
	items+=("conform,EMX_COMMANDS=uring,--config,N1500/2hosts")
fi
exec "$here/run.sh" "$dir" "${items[@]}"

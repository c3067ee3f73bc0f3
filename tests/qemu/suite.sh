#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The suite qemu: tests of guest/ in two boots of a stock kernel, side by side, since a guest keeps little more than one
# processor busy. With EMX_FULL=1 programs and MPI at length, every case and column of the conformance suite, one of them
# with commands by io_uring, and every capture.
#
#   suite.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/items.sh"

[ $# = 1 ] || fail "usage: suite.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
choose_kernel
"$here/prepare.sh" "$dir"

items=()
add() { # TEST...
	local test item
	items=()
	for test in "$@"; do
		item=$(item_of "$test" "$dir") || exit
		items+=("$item")
	done
}

# Those that need the files of this machine are in the second boot, whose machine has them.
start() { # NAME
	mkdir -p "$dir/$1"
	EMX_QEMU_LOGS=$dir/$1 "$here/run.sh" "$dir" "${items[@]}" >"$dir/$1.log" 2>&1 &
}
add smoke tools admin links offload trespass
start boot-a
first=$!
add faults conform programs mpi replay
if [ "${EMX_FULL:-0}" = 1 ]; then
	for column in N1500/2hosts W/2hosts N9000/1host W/1host 2boards; do
		items+=("conform,--config,$column")
	done
	items+=("conform,EMX_COMMANDS=uring,--config,N1500/2hosts")
fi
start boot-b
second=$!
# shellcheck disable=SC2064 # those processes
trap "kill $first $second 2>/dev/null" EXIT
wait $first || true
wait $second || true
trap - EXIT

# What failed is told by the logs; a boot whose log has no sum has failed, too.
passed=0 failed=0 skipped=0
for name in boot-a boot-b; do
	cat "$dir/$name.log"
	read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$dir/$name.log" | tail -n 1) || p=0 f=1 s=0
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]

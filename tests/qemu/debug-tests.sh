#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tests of this folder on a kernel that watches itself: builds it if need be (debug-kernel.sh), and runs all of
# them, or those that are named, one after the other. A test passes if its own verdict is good and the kernel has said
# nothing.
#
#   debug-tests.sh KERNEL-DIR DIR [TEST]...
#
# Logs go to DIR/TEST. Such a kernel is several times slower, emulated above all.
#
# EMX_USER_BUILD    as for run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/items.sh"

[ $# -ge 2 ] || fail "usage: debug-tests.sh KERNEL-DIR DIR [TEST]..."
[ -n "${EMX_USER_BUILD:-}" ] || fail "EMX_USER_BUILD is to name a Meson build"
kernel=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- smoke trespass stress storm faults links offload copies tools admin replay pair-e1000 pair-virtio-net-pci mutants conform programs mpi

"$here/debug-kernel.sh" "$kernel"
EMX_KDIR=$(cd "$kernel" && pwd)/build
export EMX_KDIR EMX_QEMU_TIMEOUT=${EMX_QEMU_TIMEOUT:-3000}

run_one() { # TEST
	local out=$dir/$1 item
	mkdir -p "$out"
	case $1 in
	pair-*) "$here/pair.sh" "$out" "${1#pair-}" ;;
	mutants) "$here/mutants.sh" "$kernel" "$out" 120 ;;
	# A million requests, an hour and a half: in parts, each of which has its own seed and its own limit.
	storm) "$here/run.sh" "$out" storm,100000,{1..10} ;;
	conform) "$here/run.sh" "$out" "$(item_of conform "$out"),--patience,50" ;;
	*)
		item=$(item_of "$1" "$out") || return
		"$here/run.sh" "$out" "$item"
		;;
	esac
}

passed=0 failed=0
for test in "$@"; do
	began=$SECONDS
	if run_one "$test" >"$dir/$test.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $test ($((SECONDS - began)) s)"
	else
		failed=$((failed + 1))
		echo "NOT OK  $test ($((SECONDS - began)) s): $dir/$test.log"
		tail -n 30 "$dir/$test.log" | sed 's/^/        | /'
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

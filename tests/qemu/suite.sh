#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The suite qemu: tests of guest/ in two boots of a stock kernel, side by side, since a guest keeps little more than one
# processor busy, and two guests that virtio-net joins. With EMX_FULL=1 also programs, captures, tracepoints and
# MPI, every case and column of the conformance suite, and one of them with commands by io_uring.
#
#   suite.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/items.sh"

[ $# = 1 ] || fail "usage: suite.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
need qemu-system-x86_64 setpriv ethtool
choose_kernel
"$here/prepare.sh" "$dir"
passed=0 failed=0 skipped=0

# items_of TEST...: leaves them in $items, without those that cannot run here
items_of() {
	local test item status
	items=()
	for test in "$@"; do
		status=0
		item=$(item_of "$test" "$dir") || status=$?
		case $status in
		0) items+=("$item") ;;
		77) skipped=$((skipped + 1)) ;;
		*) exit 1 ;;
		esac
	done
}

# They end with their starter, however that ends.
run_items() { # NAME ITEM...
	local name=$1
	shift
	mkdir -p "$dir/$name"
	EMX_QEMU_LOGS=$dir/$name setpriv --pdeathsig TERM "$here/run.sh" "$dir" "$@" >"$dir/$name.log" 2>&1
}
run_pair() {
	setpriv --pdeathsig TERM "$here/pair.sh" "$dir" virtio-net-pci >"$dir/pair.log" 2>&1 &&
		echo "1 passed, 0 failed, 0 skipped" >>"$dir/pair.log"
}

# Tests that need the files of this machine are in the second boot, and so is that which needs an account of the kernel's heap.
first_items=(smoke tools admin trespass)
rm -f "$dir"/{boot-a,boot-b,pair}.log
if [ "${EMX_FULL:-0}" = 1 ]; then
	items_of faults links conform programs mpi coll replay bpftrace
	first_items+=(offload copies probes)
	for column in N1500/2hosts W/2hosts N9000/1host W/1host 2boards; do
		first_items+=("conform,--config,$column")
	done
	first_items+=("conform,EMX_COMMANDS=uring,--config,N1500/2hosts")
else
	items_of faults links conform offload copies # about as long as the first boot and the pair
	items+=("conform,CASES=/conform.1host,--config,N9000/1host")
fi
{
	run_items boot-a "${first_items[@]}" || true
	run_pair
} &
first=$!
trap 'kill $first 2>/dev/null' EXIT
run_items boot-b "${items[@]}" || true
wait $first || true
trap - EXIT

# The logs tell what failed; a boot whose log has no sum has failed, too.
for name in boot-a pair boot-b; do
	cat "$dir/$name.log" || true
	read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$dir/$name.log" | tail -n 1) || p=0 f=1 s=0
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]

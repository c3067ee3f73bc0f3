#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds a kernel that watches itself, from Debian's linux-source-6.1, for the tests in this folder:
#
#   tests/qemu/debug-kernel.sh DIR
#   EMX_KDIR=DIR/build tests/qemu/run.sh OTHER-DIR TEST
#
# KASAN, UBSAN, lockdep with PROVE_RCU, KMEMLEAK, DEBUG_ATOMIC_SLEEP, fault injection, and little
# else: what the guests need is built in. Takes a while the first time (about 20 minutes on two
# processors) and 6 GB; a second call builds only what changed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 1 ] || fail "usage: debug-kernel.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tarball=/usr/src/linux-source-6.1.tar.xz
source=$dir/linux-source-6.1
log=$dir/build.log

need make gcc flex bison bc xz
[ -e "$tarball" ] || skip "no $tarball: apt-get install linux-source-6.1"

unpack() {
	[ -e "$source/.unpacked" ] && return
	rm -rf "$source"
	tar -C "$dir" -xf "$tarball"
	touch "$source/.unpacked"
}

# tinyconfig and what the file asks for; whatever Kconfig did not grant is an error, or a test
# would pass for want of the watcher that it names.
configure() {
	local option
	make -C "$source" O="$dir/build" tinyconfig >"$log" 2>&1
	grep '^CONFIG_' "$here/debug.config" >>"$dir/build/.config"
	make -C "$source" O="$dir/build" olddefconfig >>"$log" 2>&1
	while read -r option; do
		grep -qxF "$option" "$dir/build/.config" || fail "not granted by this kernel: $option"
	done < <(grep '^CONFIG_' "$here/debug.config")
}

unpack
mkdir -p "$dir/build"
cmp -s "$here/debug.config" "$dir/debug.config" || configure
cp "$here/debug.config" "$dir/debug.config"
make -C "$source" O="$dir/build" -j"${EMX_JOBS:-2}" bzImage modules >>"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	fail "the kernel does not build; all of it: $log"
}
echo "debug kernel $(cat "$dir/build/include/config/kernel.release"): EMX_KDIR=$dir/build"

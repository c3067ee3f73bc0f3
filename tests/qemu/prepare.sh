#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Prepares what guests need: the module and the initrd of a kernel, made only when something of them has changed.
#
#   prepare.sh DIR     leaves DIR/ethermx.ko, DIR/softdma.ko and DIR/initrd.gz for the kernel $EMX_KVER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || fail "usage: prepare.sh DIR"
dir=$1
sources=("$TOP/driver" "$TOP/include" "$here/softdma" "$here/build-module.sh")
inputs=("${sources[@]}" "$TOP/compat/wire" "$here")
[ -z "${EMX_USER_BUILD:-}" ] || inputs+=("$EMX_USER_BUILD"/{libmx/install,tools,tests/conform/conform_engine,tests/bench/tcp_pingpong,tests/watch/wirewatch,tests/qemu/sink})

# Tests that share a folder may start together.
exec 9>"$dir/prepare.lock"
flock 9
if [ -e "$dir/initrd.gz" ] && unchanged "$dir/prepared" "${inputs[@]}"; then
	echo "module and initrd for $EMX_KVER are up to date"
	exit
fi
rm -f "$dir/prepared"
if ! [ -e "$dir/ethermx.ko" ] || ! unchanged "$dir/module.stamp" "${sources[@]}"; then
	rm -f "$dir/module.stamp"
	"$here/build-module.sh" "$dir" 9>&-
	remember_inputs "$dir/module.stamp" "${sources[@]}"
fi
"$here/initrd.sh" "$dir" "$EMX_KVER" 9>&-
remember_inputs "$dir/prepared" "${inputs[@]}"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds ethermx.ko for a stock kernel, and the test's softdma.ko, out of tree, with W=1 and sparse; any
# warning fails.
#
#   build-module.sh DIR     objects go to DIR/module, the log to DIR/module.log, modules to DIR
#
# EMX_SOFTDMA=no leaves softdma.ko out, which kernels without DMA engines cannot have.
#
# Kbuild writes its objects beside the sources, so it is given a farm of symbolic links: nothing
# is ever written into the source tree.
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 1 ] || fail "usage: build-module.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
farm=$dir/module
log=$dir/module.log

need make gcc sparse
modules=(driver softdma)
[ "${EMX_SOFTDMA:-}" != no ] || modules=(driver)
kver=$(stock_kernel /lib/modules/%V/build)

# Links to files that were removed or renamed must go; objects of the others may stay.
refresh_farm() {
	[ "$(cat "$farm/kver" 2>/dev/null)" = "$kver" ] || rm -rf "$farm"
	mkdir -p "$farm/driver"
	find "$farm" -type l -delete
	cp -as "$TOP/include" "$farm/"
	cp -as "$TOP/driver/Kbuild" "$TOP/driver/core" "$TOP/driver/linux" "$farm/driver/"
	mkdir -p "$farm/softdma"
	cp -as "$TOP"/tests/qemu/softdma/* "$farm/softdma/"
	echo "$kver" >"$farm/kver"
}

# sparse only looks at what is compiled, so a warning must not hide behind an unchanged object.
build() {
	local module
	for module in "${modules[@]}"; do
		make -C "$(kernel_build "$kver")" M="$farm/$module" W=1 C=1 KBUILD_MODPOST_WARN= \
			-j"${EMX_JOBS:-2}" modules || return
	done >"$log" 2>&1
}

refresh_farm
if ! build || grep -Eq 'warning:|error:|WARNING' "$log"; then
	find "$farm" -name '*.o' -delete
	cat "$log" >&2
	fail "the module does not build cleanly for $kver"
fi
for module in "${modules[@]}"; do
	cp "$farm/$module"/*.ko "$dir/"
done
echo "ethermx.ko for $kver: $dir/ethermx.ko"

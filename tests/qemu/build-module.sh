#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds ethermx.ko for a stock kernel, out of tree, with W=1 and sparse; any warning fails.
#
#   build-module.sh DIR     objects and ethermx.ko go to DIR/module, the log to DIR/module.log
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
kver=$(stock_kernel /lib/modules/%V/build)

# Links to files that were removed or renamed must go; objects of the others may stay.
refresh_farm() {
	[ "$(cat "$farm/kver" 2>/dev/null)" = "$kver" ] || rm -rf "$farm"
	mkdir -p "$farm/driver"
	find "$farm" -type l -delete
	cp -as "$TOP/include" "$farm/"
	cp -as "$TOP/driver/Kbuild" "$TOP/driver/core" "$TOP/driver/linux" "$farm/driver/"
	echo "$kver" >"$farm/kver"
}

# sparse only looks at what is compiled, so a warning must not hide behind an unchanged object.
build() {
	make -C "$(kernel_build "$kver")" M="$farm/driver" W=1 C=1 KBUILD_MODPOST_WARN= \
		-j"${EMX_JOBS:-2}" modules >"$log" 2>&1
}

refresh_farm
if ! build || grep -Eq 'warning:|error:|WARNING' "$log"; then
	find "$farm" -name '*.o' -delete
	cat "$log" >&2
	fail "the module does not build cleanly for $kver"
fi
cp "$farm/driver/ethermx.ko" "$dir/ethermx.ko"
echo "ethermx.ko for $kver: $dir/ethermx.ko"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the module as a user's machine does: from the installed source, with dkms, against the installed kernel
# headers. Everything goes to DIR: nothing of this machine's own modules is touched.
#
#   dkms.sh [-i] DIR BUILD     BUILD: a Meson build of this source; -i: only looks whether all that the module is built from is installed
set -euo pipefail
. "$(dirname "$0")/common.sh"

install_only=no
[ "${1:-}" != -i ] || { install_only=yes && shift; }
[ $# = 2 ] || fail "usage: dkms.sh [-i] DIR BUILD"
PATH=$PATH:/usr/sbin:/sbin # an ordinary user's lacks them
need meson
rm -rf "$1"
mkdir -p "$1/tree" "$1/modules"
dir=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)

# Its own key, if it signs: not the machine's.
export mok_signing_key=$dir/mok.key mok_certificate=$dir/mok.pub

DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet --tags dkms
source=$(find "$dir/root" -name dkms.conf -printf '%h\n')
[ -n "$source" ] || fail "meson install leaves no dkms.conf"
name=$(basename "$source")
version=${name#ethermx-}

# Sources of the module, and headers of ours that they include.
module_sources() {
	cd "$TOP" && echo driver/Kbuild && find driver/core driver/linux -name '*.[ch]' &&
		grep -rho '#include [<"]emx/[^>"]*' driver/core driver/linux include/emx | sed 's,.*["<],include/,' | sort -u
}
if [ $install_only = yes ]; then
	module_sources | while read -r file; do
		[ ! -e "$TOP/$file" ] || cmp "$TOP/$file" "$source/$file" || fail "$file is not installed"
	done
	grep -qx "PACKAGE_VERSION=\"$version\"" "$source/dkms.conf" || fail "dkms.conf has another version than its folder, $version"
	echo "installed for dkms: $(module_sources | wc -l) sources"
	exit
fi
need dkms modinfo
kver=$(EMX_KDIR='' stock_kernel /lib/modules/%V/build)

# Away from the source tree: what is not installed is not found.
run_dkms() {
	dkms "$@" --sourcetree "$(dirname "$source")" --dkmstree "$dir/tree" --installtree "$dir/modules" \
		>>"$dir/dkms.log" 2>&1
}

cd "$dir"
for action in add build; do
	run_dkms "$action" -m ethermx -v "$version" -k "$kver" || {
		cat "$dir/dkms.log" >&2
		cat "$dir/tree/ethermx/$version/build/make.log" 2>/dev/null >&2 || true
		fail "dkms $action ethermx/$version"
	}
done
dkms status --sourcetree "$(dirname "$source")" --dkmstree "$dir/tree" | tee "$dir/status"
grep -q "^ethermx/$version, $kver, .*: built" "$dir/status" || fail "dkms does not say that it was built"
log=$(find "$dir/tree" -path "*$kver*" -name make.log)
if grep -E 'warning:|error:' "$log"; then fail "warnings of the build: $log"; fi
module=$(find "$dir/tree" -path "*$kver*" -name 'ethermx.ko*')
[ "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" = "$kver" ] || fail "$module is not for $kver"
[ "$(modinfo -F name "$module")" = ethermx ] || fail "$module is not ethermx"
echo "dkms built ${module#"$dir/"}"

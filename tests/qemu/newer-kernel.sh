#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The module on the newest kernel that Debian's backports suite has for this release: built against its
# headers, with W=1 and sparse as always, and booted.
#
#   newer-kernel.sh DIR [TEST]...     TEST: as for run.sh (default smoke); "none" alone builds only
#
# Everything goes to DIR, and nothing is installed. Where the suite cannot be reached nothing is tested.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# -ge 1 ] || fail "usage: newer-kernel.sh DIR [TEST]..."
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- smoke
need apt-get dpkg-deb unxz

. "$TOP/tests/support/debian_suite.sh"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
suite_lists "$dir/apt" "$release-backports" || skip "no $release-backports"

headers=$(suite_depends linux-headers-amd64 | grep '^linux-headers-.*-amd64$')
version=${headers#linux-headers-}
mapfile -t packages < <(
	echo "$headers"
	suite_depends "$headers" | grep -E '^linux-(headers-.*-common|kbuild-|image-.*-unsigned)'
)
[ ${#packages[@]} = 4 ] || fail "$headers is to need common headers, linux-kbuild and an image, but names ${packages[*]}"

root=$dir/$version
tree=$root/usr/src/$headers
if [ ! -e "$root/.complete" ]; then
	rm -rf "$root"
	suite_unpack "$root" "${packages[@]}" || fail "no packages"
	# They name one another by where they would be installed.
	sed -i -E "s#(include |KBUILD_OUTPUT=)/usr/src/#\1$root/usr/src/#" "$tree/Makefile"
	# Without it the module gets no type information, which pahole would make and no test needs.
	rm -f "$tree/vmlinux"
	# As a kernel built from source has them.
	mkdir -p "$tree/arch/x86/boot"
	cp "$root/boot/vmlinuz-$version" "$tree/arch/x86/boot/bzImage"
	for folder in drivers/net drivers/virtio net fs/9p fs/netfs fs/overlayfs; do
		mkdir -p "$tree/$folder"
		cp -a "$root/lib/modules/$version/kernel/$folder/." "$tree/$folder/"
		find "$tree/$folder" -name '*.ko.xz' -exec unxz -f {} +
	done
	cp "$root/lib/modules/$version/modules.builtin" "$tree/"
	rm -rf "$root/lib/modules"
	touch "$root/.complete"
fi

export EMX_KDIR=$tree
if [ "$1" = none ]; then
	exec "$here/build-module.sh" "$dir"
fi
exec "$here/run.sh" "$dir" "$@"

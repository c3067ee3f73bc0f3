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

# apt with lists of its own, of this suite only, from where this machine has its packages.
mkdir -p "$dir"/apt/{lists,cache,none}
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Codename: $release" | head -n 1)
[ -n "$mirror" ] || skip "no sources of Debian packages for $release on this machine"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release-backports main" >"$dir/apt/sources.list"
apt_of() {
	local program=$1
	shift
	"$program" -o Dir::Etc::SourceList="$dir/apt/sources.list" -o Dir::Etc::SourceParts="$dir/apt/none" \
		-o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=root "$@"
}
if ! apt_of apt-get -q update >"$dir/apt.log" 2>&1 || grep -q '^[WE]:' "$dir/apt.log"; then
	skip "Debian's $release-backports cannot be reached: $dir/apt.log"
fi

depends() { apt_of apt-cache depends "$1" | sed -n 's/^ *|*Depends: *//p'; }
headers=$(depends linux-headers-amd64 | grep '^linux-headers-.*-amd64$')
version=${headers#linux-headers-}
mapfile -t packages < <(
	echo "$headers"
	depends "$headers" | grep -E '^linux-(headers-.*-common|kbuild-|image-.*-unsigned)'
)
[ ${#packages[@]} = 4 ] || fail "$headers is to need common headers, linux-kbuild and an image, but names ${packages[*]}"

root=$dir/$version
tree=$root/usr/src/$headers
if [ ! -e "$root/.complete" ]; then
	rm -rf "$root"
	mkdir -p "$root/packages"
	(cd "$root/packages" && apt_of apt-get -q download "${packages[@]}") >>"$dir/apt.log" 2>&1 ||
		fail "${packages[*]} cannot be fetched: $dir/apt.log"
	for file in "$root"/packages/*.deb; do
		dpkg-deb -x "$file" "$root"
	done
	# They name one another by where they would be installed.
	sed -i "s#include /usr/src/#include $root/usr/src/#" "$tree/Makefile"
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
	rm -rf "$root/packages" "$root/lib/modules"
	touch "$root/.complete"
fi

export EMX_KDIR=$tree
if [ "$1" = none ]; then
	exec "$here/build-module.sh" "$dir"
fi
exec "$here/run.sh" "$dir" "$@"

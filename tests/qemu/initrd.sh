#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the guest's root: busybox, ip, the guest scripts, veth and our module, the test program.
#
#   initrd.sh DIR KVER     takes DIR/ethermx.ko, leaves DIR/initrd.gz
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 2 ] || fail "usage: initrd.sh DIR KVER"
dir=$1
kver=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$dir/root

need gcc cpio gzip ip
[ -x /bin/busybox ] || skip "no busybox: apt-get install busybox-static"
ldd /bin/busybox >/dev/null 2>&1 && skip "busybox is not static: apt-get install busybox-static"

# A program of this machine, with the shared libraries it asks for.
add_program() {
	local path library
	path=$(command -v "$1")
	cp -L "$path" "$root/bin/"
	ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -L "$library" "$root$library"
	done
}

add_module() {
	local file=/lib/modules/$kver/kernel/$1
	[ -e "$file" ] || fail "no $file"
	cp "$file" "$root/"
}

rm -rf "$root"
mkdir -p "$root"/{bin,sbin,proc,sys,dev}
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
rm -f "$root/bin/ip"
add_program ip
add_module drivers/net/veth.ko
cp "$dir/ethermx.ko" "$root/"
cp "$here"/guest/*.sh "$root/"
install -m 755 "$here/guest/init" "$root/init"
gcc -O2 -g -Wall -Wextra -Werror -static -I"$TOP/include" -o "$root/frames" "$here/guest/frames.c"
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$dir/initrd.gz"

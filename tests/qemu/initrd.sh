#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the guest's root: busybox, ip, the guest scripts, veth and our module, the test program.
#
#   initrd.sh DIR KVER     takes DIR/ethermx.ko, leaves DIR/initrd.gz
#
# EMX_USER_BUILD    a Meson build: its library, tools and conformance suite go to /emx, where they lie
#                   as in the build, without debugging information; and what guest/root.sh needs
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 2 ] || fail "usage: initrd.sh DIR KVER"
dir=$1
kver=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$dir/root

need gcc cpio gzip ip tc setpriv dash python3
[ -e /usr/include/liburing.h ] || skip "no liburing: apt-get install liburing-dev"
[ -x /bin/busybox ] || skip "no busybox: apt-get install busybox-static"
ldd /bin/busybox >/dev/null 2>&1 && skip "busybox is not static: apt-get install busybox-static"

# The shared libraries that a program asks for, but for our own.
add_libraries() {
	local library
	ldd "$1" | grep -o '/[^ ]*' | grep -vE 'myriexpress|libfm|libgamma' | while read -r library; do
		[ ! -e "$root$library" ] || continue
		mkdir -p "$root$(dirname "$library")"
		cp -L "$library" "$root$library"
	done
}

# A program of this machine.
add_program() {
	local path
	path=$(command -v "$1")
	cp -L "$path" "$root/bin/"
	add_libraries "$path"
}

add_user_build() {
	local build=$1 file
	[ -e "$build/libmx/install/libmyriexpress.so" ] || fail "no library in EMX_USER_BUILD=$build"
	for file in libmx/install/libmyriexpress.so tools/omxd/omxd tests/conform/conform_engine \
		tests/bench/tcp_pingpong tests/watch/wirewatch tests/qemu/sink \
		tools/omx_{attach,check,counters,endpoint_info,hostname,info,init_peers,perf} tools/setup/omx_init \
		$([ ! -e "$build/compat/fm/libfm.so.2" ] || echo compat/fm/libfm.so.2 tests/fm/fm_node) \
		$([ ! -e "$build/compat/gamma/libgamma.so.1" ] || echo compat/gamma/libgamma.so.1 tests/gamma/gamma_node); do
		[ -e "$build/$file" ] || fail "no $file in EMX_USER_BUILD=$build"
		mkdir -p "$root/emx/$(dirname "$file")"
		strip -g -o "$root/emx/$file" "$build/$file"
		add_libraries "$build/$file"
	done
}

add_module() {
	local file
	file=$(kernel_modules "$kver")/$1
	[ -e "$file" ] || fail "no $file"
	cp "$file" "$root/"
}

# A kernel built from source has of the cards what its configuration says.
add_card() {
	[ ! -e "$(kernel_modules "$kver")/$1" ] || add_module "$1"
}

# A module, or else a name in /built-in: what the kernel's own list says, and fscache, which is in netfs since Linux 6.8.
add_unless_built_in() {
	local list=${EMX_KDIR:-/lib/modules/$kver}/modules.builtin name=${1##*/}
	if [ ! -e "$(kernel_modules "$kver")/$1.ko" ] && { [ "$name" = fscache ] || grep -qsx "kernel/$1.ko" "$list"; }; then
		echo "$name" >>"$root/built-in"
	else
		add_module "$1.ko"
	fi
}

# The modules for the file system of this machine, and where things are in it.
add_outside() {
	local module
	for module in drivers/virtio/virtio{,_ring,_pci_modern_dev,_pci_legacy_dev,_pci} fs/fscache/fscache \
		fs/netfs/netfs net/9p/9pnet{,_virtio} fs/9p/9p fs/overlayfs/overlay; do
		add_unless_built_in "$module"
	done
	printf 'TOP=%q BUILD=%q\n' "$TOP" "$1" >"$root/paths"
}

# Those whose source or headers have changed.
programs="frames mark mutants namespaces scribble sleeps storm stuck trespass regions idle command_cost no_uring"
compile_programs() {
	local program
	mkdir -p "$dir/programs"
	for program in $programs; do
		unchanged "$dir/programs/$program.stamp" "$here/guest/$program.c" "$here"/guest/*.h "$TOP"/tests/support/*.h "$TOP/include" && continue
		gcc -O2 -g -Wall -Wextra -Werror -static -I"$TOP/include" -o "$dir/programs/$program" "$here/guest/$program.c" -luring
		remember_inputs "$dir/programs/$program.stamp" "$here/guest/$program.c" "$here"/guest/*.h "$TOP"/tests/support/*.h "$TOP/include"
	done
}

rm -rf "$root"
mkdir -p "$root"/{bin,sbin,proc,sys,dev}
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
rm -f "$root/bin/ip"
add_program ip
rm -f "$root/bin/tc"
add_program tc
rm -f "$root/bin/setpriv"
add_program setpriv
# Busybox's shell takes its own "ip", which knows no namespaces, whatever PATH says.
add_program dash
ln -sf dash "$root/bin/sh"
add_module drivers/net/veth.ko
add_module drivers/net/dummy.ko
for module in llc/llc 802/{stp,garp,mrp} 8021q/8021q; do
	add_module net/$module.ko
done
add_module net/bridge/bridge.ko
# For frames that are altered on their way.
for module in sch_ingress cls_u32 act_gact act_pedit; do
	add_module net/sched/$module.ko
done
# For two_guests.sh.
for file in net/ethernet/intel/e1000/e1000.ko virtio/virtio{,_ring,_pci_legacy_dev,_pci_modern_dev,_pci}.ko \
	net/{net_failover,virtio_net}.ko; do
	add_card "drivers/$file"
done
add_card net/core/failover.ko
[ -z "$(command -v ethtool)" ] || add_program ethtool
[ -z "${EMX_USER_BUILD:-}" ] || add_user_build "$(cd "$EMX_USER_BUILD" && pwd)"
if [ -n "${EMX_USER_BUILD:-}" ]; then
	add_outside "$(cd "$EMX_USER_BUILD" && pwd)"
fi
cp "$dir/ethermx.ko" "$dir/softdma.ko" "$root/"
cp "$here"/guest/*.sh "$here"/conform.{cases,1host} "$root/"
install -m 755 "$here/guest/init" "$root/init"
compile_programs
for program in $programs; do
	cp "$dir/programs/$program" "$root/"
done
"$here/mutant_seeds.py" "$TOP" "$root/seeds"
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$dir/initrd.gz"

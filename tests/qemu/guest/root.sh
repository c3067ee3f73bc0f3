# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder that run what is installed on the machine around the guest: its file
# system, read-only over 9p (run.sh shares it with tests that include this), beneath one in memory that takes
# what is written. Builds are found under the paths that they have outside.

. /paths # TOP, BUILD
root=/run/root

# The machine's file system itself stays mounted for the next test: nothing can be written to it.
mount_outside() {
	load virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci \
		netfs fscache 9pnet 9pnet_virtio 9p overlay && mkdir -p /run/outside || return
	grep -q ' /run/outside ' /proc/mounts ||
		mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 outside /run/outside
}

mount_root() {
	mount_outside && mkdir -p $root /run/written && mount -t tmpfs tmpfs /run/written &&
		mkdir /run/written/files /run/written/work &&
		mount -t overlay -o lowerdir=/run/outside,upperdir=/run/written/files,workdir=/run/written/work overlay $root &&
		mount -t proc proc $root/proc && mount -t sysfs sysfs $root/sys && mount -o bind /dev $root/dev &&
		mount -t tmpfs tmpfs $root/run && mount -t tmpfs tmpfs $root/dev/shm &&
		mount -t debugfs debugfs $root/sys/kernel/debug || return
	[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
}

# A process that is still in it keeps it. "ip netns" has left its folder a mount of its own.
unmount_root() {
	! grep -q " $root/run/netns " /proc/mounts || umount $root/run/netns || return
	for folder in dev/shm sys/kernel/debug run dev sys proc; do
		umount $root/$folder || return
	done
	umount $root && umount /run/written
}

in_root() { # COMMAND...: in the top folder of the source; of variables, only ours go along
	# shellcheck disable=SC2046 # words
	chroot $root /usr/bin/env -i -C "$TOP" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/tmp LANG=C $(env | grep '^EMX_[A-Z_]*=[^ ]*$') EMX_DEVICE=kernel "$@"
}

begin_over_module() { # MODULE...: that the network needs
	failed=0
	hostname emxguest
	load "$@" && insmod /ethermx.ko || exit 1
	check "the files of the machine around" mount_root
	[ "$failed" = 0 ] || exit 1
}

end_over_module() {
	check "nothing pinned" grep -qx '0 pages pinned' /sys/kernel/debug/ethermx/memory
	check "unload" rmmod ethermx
	check "nobody is left in the machine's files" unmount_root
	exit "$failed"
}

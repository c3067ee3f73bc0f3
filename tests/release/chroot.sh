# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it after common.sh. Debian 13 in a folder, EMX_BUILD/release/root-13, made once and used again.
#
#   chroot_make                 makes it; or again where what it is made of has changed
#   chroot_run COMMAND...       runs the command in it, in this folder, as root, in a network of its own with lo;
#                               the source is at the same place there, and nothing is left mounted
. tests/support/debian_suite.sh
CHROOT_ROOT=$EMX_BUILD/release/root-13
CHROOT_PACKAGES=(g++ pkg-config meson ninja-build ccache catch2 python3 iproute2 kmod make procps sparse libelf1t64 dpkg-dev
    libboost-context-dev liburing-dev libseccomp-dev openmpi-bin libopenmpi-dev libpmix-dev netpipe-openmpi)

chroot_make() {
    local mirror made_of="trixie ${CHROOT_PACKAGES[*]}"
    [ "$(cat "$CHROOT_ROOT/.made-of" 2>/dev/null)" != "$made_of" ] || return 0
    mirror=$(suite_mirror)
    [ -n "$mirror" ] || { echo "no sources of Debian packages on this machine"; return 1; }
    rm -rf --one-file-system "$CHROOT_ROOT"
    mmdebstrap --variant=minbase --aptopt='APT::Install-Recommends "false"' --include="$(IFS=,; echo "${CHROOT_PACKAGES[*]}")" \
        trixie "$CHROOT_ROOT" "$mirror" && echo "$made_of" >"$CHROOT_ROOT/.made-of"
}

chroot_run() {
    export CHROOT_ROOT
    unshare --mount --net --pid --fork --uts --ipc --mount-proc bash -ec '
        mkdir -p "$CHROOT_ROOT$PWD" "$CHROOT_ROOT/root/.cache/ccache" ~/.cache/ccache
        mount --bind "$CHROOT_ROOT" "$CHROOT_ROOT" # tools/netlab wants a place where something is mounted
        mount --bind "$PWD" "$CHROOT_ROOT$PWD"
        mount --bind ~/.cache/ccache "$CHROOT_ROOT/root/.cache/ccache"
        mount -t proc proc "$CHROOT_ROOT/proc"
        mount -t sysfs sysfs "$CHROOT_ROOT/sys"
        mount --rbind /dev "$CHROOT_ROOT/dev"
        for folder in tmp run dev/shm; do
            mount -t tmpfs tmpfs "$CHROOT_ROOT/$folder"
        done
        ip link set lo up
        exec chroot "$CHROOT_ROOT" env -i -C "$PWD" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            EMX_BUILD="$EMX_BUILD" CCACHE_NOHASHDIR=1 CCACHE_BASEDIR="$PWD" ${CC:+CC="$CC" CXX="$CXX"} "$@"' _ "$@"
}

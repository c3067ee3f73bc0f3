# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it after common.sh. A system of another release of Debian in a folder, made once and used again.
#
#   chroot_make ROOT SUITE PACKAGE...     makes it of these packages; or again where others were asked for
#   chroot_run ROOT COMMAND...            runs the command in it, in this folder, as root, in a network of its own with lo;
#                                         the source is at the same place there, and nothing is left mounted
. tests/support/debian_suite.sh

chroot_make() {
    local root=$1 suite=$2 mirror
    shift 2
    [ "$(cat "$root/.made-of" 2>/dev/null)" != "$suite $*" ] || return 0
    mirror=$(suite_mirror)
    [ -n "$mirror" ] || { echo "no sources of Debian packages on this machine"; return 1; }
    rm -rf --one-file-system "$root"
    mmdebstrap --variant=minbase --aptopt='APT::Install-Recommends "false"' --include="$(IFS=,; echo "$*")" \
        "$suite" "$root" "$mirror" && echo "$suite $*" >"$root/.made-of"
}

chroot_run() {
    CHROOT_ROOT=$1 unshare --mount --net --pid --fork --uts --ipc --mount-proc bash -ec '
        mkdir -p "$CHROOT_ROOT$PWD" "$CHROOT_ROOT/root/.cache/ccache" ~/.cache/ccache
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
            EMX_BUILD="$EMX_BUILD" CCACHE_NOHASHDIR=1 CCACHE_BASEDIR="$PWD" ${CC:+CC="$CC" CXX="$CXX"} "$@"' _ "${@:2}"
}

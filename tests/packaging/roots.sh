# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Systems of Debian in folders, and hosts made of them. Source it; root is needed, and mmdebstrap.
#
#   base_of CODENAME             a minimal system of that release as a tarball, kept: its path in $base
#   unpack TARBALL ROOT          a system as a folder
#   enter ROOT COMMAND...        runs it there as root, in this machine's network
#   hosts_make ROOT              two hosts, node1 and node2, that begin as copies of ROOT and lie beside it: network and
#                                UTS namespaces of their own, whose eth1 are joined; hosts_end
#   on_host I COMMAND...         runs it there as root; as_user I LINE: the shell of the user YOU, logged in anew
#   files_of ROOT                all files with checksums, but for lists, caches and logs of package tools, tables of depmod
#                                and the key of DKMS
. tests/support/debian_suite.sh
roots=${EMX_BUILD:-$PWD/build}/packaging
HOSTS=() # processes
PATH=$PATH:/usr/sbin:/sbin
root_environment=(env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
                  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)

base_of() {
    local mirror
    base=$roots/base-$1.tar
    [ ! -e "$base" ] || return 0
    mirror=$(suite_mirror)
    [ -n "$mirror" ] || { echo "no sources of Debian packages on this machine"; return 1; }
    mmdebstrap --variant=minbase --components=main --include=ca-certificates "$1" "$roots/new-$1.tar" "$mirror" && mv "$roots/new-$1.tar" "$base"
}

unpack() { rm -rf --one-file-system "$2" && mkdir -p "$2" && tar -x --numeric-owner -f "$1" -C "$2"; }

# Mounts are seen by the command alone. A ccache of the machine makes repeated builds short.
enter() {
    local root=$1
    shift
    mkdir -p "$roots/ccache"
    # shellcheck disable=SC2016 # the inner shell's
    unshare -m --propagation private sh -ec '
        root=$1 ccache=$2
        shift 2
        mount --bind "$root" "$root" # ip netns wants a mount
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t devpts devpts "$root/dev/pts"
        mount -t tmpfs tmpfs "$root/dev/shm"
        mkdir -p "$root/ccache"
        mount --bind "$ccache" "$root/ccache"
        cat /etc/resolv.conf >"$root/etc/resolv.conf"
        exec chroot "$root" "$@"' sh "$root" "$roots/ccache" "${root_environment[@]}" CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 "$@"
}

hosts_make() {
    local root=$1 i
    hosts_root=$root
    for i in 1 2; do
        ip netns add "emxpkg$$n$i" && ip -n "emxpkg$$n$i" link set lo up || return
    done
    ip -n "emxpkg$$n1" link add eth1 address 02:00:00:00:00:0a type veth \
        peer name eth1 netns "emxpkg$$n2" address 02:00:00:00:00:0b || return
    for i in 1 2; do
        ip -n "emxpkg$$n$i" addr add "10.78.0.$i/24" dev eth1 && ip -n "emxpkg$$n$i" link set eth1 up && host_start "$root" $i || return
    done
}

# A process whose namespaces are the host; its end, or this script's, is that of all that runs there.
host_start() {
    local root=$1 folder=$1-node$2
    rm -rf --one-file-system "$folder" && mkdir -p "$folder/changes" "$folder/work" "$folder/root" || return
    # shellcheck disable=SC2016 # the inner shell's
    ip netns exec "emxpkg$$n$2" unshare -u -m -i -p --fork --kill-child --propagation private sh -ec '
        hostname "$1"
        mount -t overlay -o "lowerdir=$2,upperdir=$3/changes,workdir=$3/work" overlay "$3/root"
        mount -t proc proc "$3/root/proc"
        mount -t sysfs sysfs "$3/root/sys"
        mount -t devpts devpts "$3/root/dev/pts"
        mount -t tmpfs -o mode=1777 tmpfs "$3/root/dev/shm"
        touch "$3/ready"
        exec sleep infinity' sh "node$2" "$root" "$folder" &
    HOSTS[$2]=$!
    until_ok 60 test -e "$folder/ready"
}

hosts_end() {
    local i
    for i in "${!HOSTS[@]}"; do
        kill -KILL "${HOSTS[i]}" && wait "${HOSTS[i]}" # unshare ignores others
        ip netns del "emxpkg$$n$i"
    done 2>/dev/null
    HOSTS=()
}

on_host() {
    local i=$1
    shift
    nsenter -t "$(ps -o pid= --ppid "${HOSTS[i]}" | tr -d ' ')" -m -u -n -i -p chroot "$hosts_root-node$i/root" "${root_environment[@]}" "$@"
}
as_user() { on_host "$1" su -l YOU -c "$2"; }

files_of() {
    (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./ccache -o -path ./var/lib/dpkg \
        -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./root -o -path ./guide -o -path ./srv \) -prune -o \
        ! -name '*-' ! -path ./etc/ld.so.cache ! -path './usr/lib/modules/*/modules.*' ! -path './var/lib/dkms/mok.*' ! -path ./etc/resolv.conf \( -type f -exec sha256sum {} + -o -printf '%y %p %l\n' \)) | sort -k 2
}

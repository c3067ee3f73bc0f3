#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A row: the module builds without a warning, W=1 and sparse, for the newest kernel of a suite of Debian, in each of its
# flavours.
#   kernels.sh ROW VERSION SUITE      VERSION: the kernel is to be one of these (6.1), or "newest"
# Headers are fetched and unpacked below the row's folder. Those of releases that are newer than this one's are used in
# a system of that release, as their programs want its libraries.
cd "$(dirname "$0")/../.." || exit 1
. tests/release/common.sh
. tests/release/chroot.sh
row "$1"
version=$2 suite=$3
needs sparse make mmdebstrap debian-archive-keyring

check "Debian has $suite" suite_lists "$FOLDER/apt" "$suite"
[ "$failed" = 0 ] || finish
INSIDE=
case $suite in
trixie*)
    INSIDE=chroot_run
    check "Debian 13 is there" kept_log root chroot_make
    ;;
esac

# headers PACKAGE: unpacked, ready to build with at $FOLDER/PACKAGE/usr/src/PACKAGE
headers() {
    local into=$FOLDER/$1 packages
    [ ! -e "$into/.complete" ] || return 0
    rm -rf "$into"
    mapfile -t packages < <(echo "$1"; suite_depends "$1" | grep -E '^linux-(headers-.*-common|kbuild-)')
    [ ${#packages[@]} = 3 ] || { echo "$1 is to need common headers and linux-kbuild: ${packages[*]}"; return 1; }
    suite_unpack "$into" "${packages[@]}" || return
    # They name one another by where they would be installed.
    sed -i -E "s#(include |KBUILD_OUTPUT=)/usr/src/#\1$into/usr/src/#" "$into/usr/src/$1/Makefile"
    # Without it the module gets no type information, which no build here needs.
    rm -f "$into/usr/src/$1/vmlinux"
    touch "$into/.complete"
}

module_builds() {
    headers "$1" && kept_log "$1" $INSIDE env EMX_SOFTDMA=no EMX_KDIR="$FOLDER/$1/usr/src/$1" tests/qemu/build-module.sh "$FOLDER/$1/module"
}

for flavour in amd64 cloud-amd64 rt-amd64; do
    package=$(suite_depends linux-headers-$flavour | grep "^linux-headers-[0-9].*-$flavour\$")
    case $package in
    linux-headers-"$version".*) ;;
    linux-headers-*) [ "$version" = newest ] || check "$suite has Linux $version: $package" false ;;
    *) check "$suite has headers of flavour $flavour" false ;;
    esac
    check "the module builds for ${package#linux-headers-}" module_builds "$package"
    echo "${package#linux-headers-}"
done
finish

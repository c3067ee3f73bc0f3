#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A row: the tree for another processor, by Debian's cross compiler and without any library of others; what is built
# passes its tests under qemu's emulation of a user's processes.
#   cross.sh ARCHITECTURE ENDIAN     ARCHITECTURE: as qemu and GCC name it
cd "$(dirname "$0")/../.." || exit 1
. tests/release/common.sh
architecture=$1 endian=$2
row "$architecture"
. tests/support/debian_suite.sh
needs qemu-user-static debian-archive-keyring

# Debian's cross compilers exclude gcc-multilib, which other tests need. So none is installed.
compiler_unpacked() {
    local into=$FOLDER/compiler packages
    [ ! -e "$into/.complete" ] || return 0
    suite_lists "$FOLDER/apt" bookworm || return
    mapfile -t packages < <(suite_apt apt-cache depends --recurse --no-{recommends,suggests,conflicts,breaks,replaces,enhances} \
        "g++-$architecture-linux-gnu" | grep -E '^[a-z].*-(cross|linux-gnu|linux-gnu-base)$' | sort -u)
    suite_unpack "$into" "${packages[@]}" && touch "$into/.complete"
}

# Runs a command that sees the compiler and its libraries in /usr.
with_compiler() {
    # shellcheck disable=SC2016 # the inner shell's
    unshare -m --propagation private sh -ec 'mount -t overlay -o "lowerdir=$0/usr:/usr" overlay /usr; exec "$@"' "$FOLDER/compiler" "$@"
}

check "the compiler is there" compiler_unpacked
[ "$failed" = 0 ] || finish
INSIDE=with_compiler
UNDER="qemu-$architecture-static -L /usr/$architecture-linux-gnu"

cat >"$FOLDER/cross.ini" <<END
[binaries]
c = ['ccache', '$architecture-linux-gnu-gcc']
cpp = ['ccache', '$architecture-linux-gnu-g++']
ar = '$architecture-linux-gnu-gcc-ar'
strip = '$architecture-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['${UNDER// /\', \'}']
[properties]
pkg_config_libdir = '/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$architecture'
cpu = '$architecture'
endian = '$endian'
END
# Several files are compiled as one, as for the other tests: another processor makes no difference to that.
configures --cross-file "$FOLDER/cross.ini" -Dunity=on -Dunity_size=10 -Ddebug=false -Dc_args=-g1 -Dcpp_args=-g1
builds unit seeds
check "it is of that processor" says "$architecture|S/390" \
    file -L "$FOLDER/build/libmx/install/libmyriexpress.so"
suite unit seeds
finish

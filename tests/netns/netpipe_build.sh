#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds NetPIPE's MX module, unmodified, against the library that BUILD installs:
#
#   tests/netns/netpipe_build.sh BUILD DIR     leaves DIR/NPmx, DIR/NPmx-static, and DIR/slow_clock.so
#
# Its source comes from the distribution's archive, kept in ${EMX_CACHE:-~/.cache/ethermx}.
set -u
[ $# = 2 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$2" && build=$(cd "$1" && pwd) && dir=$(cd "$2" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/debian_source.sh"
tarball=netpipe_3.7.2.orig.tar.gz
tarball_sha256=13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8

get_source() {
    debian_source netpipe "$tarball" "$tarball_sha256" "$dir" || return
    mkdir "$dir/source" || return
    tar -xzf "$DEBIAN_SOURCES/$tarball" -C "$dir/source"
    source=$(find "$dir/source" -maxdepth 1 -mindepth 1 -type d | head -n 1)
    [ -f "$source/src/mx.c" ]
}

# Its makefile knows where MX is from two variables; the flags that our .pc files give go into them.
build_netpipe() {
    local dest=$dir/dest pc
    DESTDIR=$dest meson install -C "$build" --no-rebuild || return
    pc=$(find "$dest" -name myriexpress.pc)
    libdir=$(dirname "$(dirname "$pc")")
    export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
    make -C "$source" mx \
        MX_INC="$(pkg-config --variable=includedir myriexpress)" \
        MX_LIB="$(pkg-config --libs --static myriexpress)" || return
    mv "$source/NPmx" "$dir/NPmx-static" || return
    # The makefile ends its command with -static; the shared library is what most programs use.
    make -C "$source" mx \
        MX_INC="$(pkg-config --variable=includedir myriexpress)" \
        MX_LIB="$(pkg-config --libs myriexpress) -Wl,-rpath,$libdir #" || return
    mv "$source/NPmx" "$dir/NPmx" && readelf -dW "$dir/NPmx" | grep "NEEDED.*libmyriexpress.so"
}

rm -rf "$dir"/{apt,source,dest}
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$dir/slow_clock.so" "$here/slow_clock.c" && get_source && build_netpipe

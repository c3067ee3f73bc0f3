#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# NetPIPE's MX module, unmodified, built against the installed library, between two hosts.
#
#   tests/netns/netpipe.sh BUILD_DIR [OUT_DIR]
#
# NetPIPE is an MX program that others wrote: it opens endpoint 0, finds its peer by name, connects
# in both directions, and sends every length up to 4 MiB, once timed and once checking each byte.
# Its source comes from the distribution's archive, kept in ${EMX_CACHE:-~/.cache/ethermx}.
# Prints "N passed, N failed, N skipped"; without a way to get the source the test fails.
# shellcheck disable=SC2317 # the functions are called through check
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/support/netlab.sh
. "$here/../support/netlab.sh"
[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
netlab_begin "$0" "$@"
build=$(cd "$1" && pwd) || exit 1
out=${2:-$NETLAB_TMP/out}
mkdir -p "$out"
cache=${EMX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ethermx}
tarball=netpipe_3.7.2.orig.tar.gz
tarball_sha256=13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8
length_max=4194304
length_end=4194307 # NetPIPE measures a few bytes beside its powers of two
time_limit=${EMX_NETPIPE_LIMIT:-100} # seconds for each of the two runs
passed=0 failed=0

have_tarball() {
    echo "$tarball_sha256  $cache/$tarball" | sha256sum --check --status 2>/dev/null
}

# The system's own package sources, with "deb" turned into "deb-src", in a folder of ours.
fetch() {
    local apt=$NETLAB_TMP/apt
    mkdir -p "$cache" "$apt/sources" "$apt/lists/partial" "$apt/archives/partial" || return
    find /etc/apt/sources.list.d -name '*.sources' -exec cp {} "$apt/sources/" \;
    sed -i 's/^Types:.*/Types: deb-src/' "$apt"/sources/*.sources 2>/dev/null
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n 's/^deb\(-src\)\? /deb-src /p' | sort -u >"$apt/sources/all.list"
    local options=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources"
                   -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update || return
    (cd "$cache" && apt-get "${options[@]}" source --download-only --tar-only netpipe)
}

get_source() {
    have_tarball || fetch
    have_tarball || { echo "no $cache/$tarball; put it there by hand where this host has no archive"; return 1; }
    tar -xzf "$cache/$tarball" -C "$NETLAB_TMP"
    source=$(find "$NETLAB_TMP" -maxdepth 1 -iname 'netpipe*' -type d | head -n 1)
    [ -f "$source/src/mx.c" ]
}

# Its makefile knows where MX is from two variables; the flags that our .pc files give go into them.
build_netpipe() {
    local dest=$NETLAB_TMP/dest pc
    DESTDIR=$dest meson install -C "$build" --no-rebuild || return
    pc=$(find "$dest" -name myriexpress.pc)
    libdir=$(dirname "$(dirname "$pc")")
    export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
    make -C "$source" mx \
        MX_INC="$(pkg-config --variable=includedir myriexpress)" \
        MX_LIB="$(pkg-config --libs --static myriexpress)" || return
    mv "$source/NPmx" "$NETLAB_TMP/NPmx-static" || return
    # The makefile ends its command with -static; the shared library is what most programs use.
    make -C "$source" mx \
        MX_INC="$(pkg-config --variable=includedir myriexpress)" \
        MX_LIB="$(pkg-config --libs myriexpress) -Wl,-rpath,$libdir #" || return
    mv "$source/NPmx" "$NETLAB_TMP/NPmx" && readelf -dW "$NETLAB_TMP/NPmx" | grep "NEEDED.*libmyriexpress.so"
}

make_hosts() {
    export EMX_BOARDS=$1 EMX_OMXD=$build/tools/omxd/omxd EMX_PEERS=$NETLAB_TMP/peers
    NETLAB_NAMES="npa npb" netlab_make 2 9000 || return
    printf '%s npa:0\n%s npb:0\n' "$(netlab_mac 1)" "$(netlab_mac 2)" >"$EMX_PEERS"
}

# pair PROGRAM LOG OPTION...: host npb waits, host npa transmits. Both must end well.
pair() {
    local program=$1 log=$2 status
    shift 2
    netlab_bg 2 "$log.receiver" timeout -k 5 "$time_limit" "$program" "$@" -u "$length_end" -o "$log.receiver.out"
    local receiver=$NETLAB_PID
    wait_for_open || { netlab_stop "$receiver"; return 1; }
    netlab_in 1 timeout -k 5 "$time_limit" "$program" "$@" -u "$length_end" -h npb -o "$log.out" >"$log" 2>&1
    status=$?
    [ "$status" = 0 ] || { echo "transmitter: exit status $status"; netlab_stop "$receiver"; return 1; }
    wait "$receiver" || { echo "receiver: exit status $?"; return 1; }
}

# What the receiver prints comes late through a file, so its host is asked.
wait_for_open() {
    local try
    for ((try = 0; try < 200; try++)); do
        netlab_in 2 "$build/tools/omx_endpoint_info" 2>/dev/null | grep -q 'open by pid' && return
        kill -0 "$NETLAB_PID" 2>/dev/null || break
        sleep 0.05 # tidy-allow(sleep): polls the host for the endpoint, at most 10 s
    done
    echo "the receiver has opened no endpoint"
    return 1
}

show() {
    tail -n 8 "$1" "$1.receiver" 2>/dev/null | sed 's/^/     | /'
}

# reached OUT: how many lengths were measured, and the longest.
reached() {
    awk -v want="$length_max" '$1 + 0 > longest { longest = $1 + 0 } { n++ }
        END { print n + 0, "measurements up to", longest, "bytes"; exit !(n >= 40 && longest >= want) }' "$1"
}

timed() {
    pair "$1" "$2" && reached "$2.out"
}

checked() {
    pair "$1" "$2" -i || return
    ! grep -i "integrity check failed" "$2" "$2.receiver" && reached "$2.out"
}

check() {
    local name=$1 log=$2
    shift 2
    if "$@" >"$log.check" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/     | /' "$log.check" | tail -n 20
        show "$log"
    fi
}

finish() {
    echo "$passed passed, $failed failed, 0 skipped"
    [ $failed = 0 ]
    exit
}

check "source" "$out/source" get_source
[ $failed = 0 ] || finish
check "builds unmodified" "$out/build" build_netpipe
[ $failed = 0 ] || finish
check "two hosts" "$out/hosts" make_hosts eth0:N=9000
[ $failed = 0 ] || finish
check "shared: every length to 4 MiB, timed" "$out/timed" timed "$NETLAB_TMP/NPmx" "$out/timed"
check "shared: every length to 4 MiB, each byte checked" "$out/checked" checked "$NETLAB_TMP/NPmx" "$out/checked"
check "static: every length to 4 MiB, each byte checked" "$out/static" checked "$NETLAB_TMP/NPmx-static" "$out/static"
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Configurations in which a library of others is missing, or cannot be used, go on without the part that needs it,
# and one line tells why; or stop with that line where the part was asked for.
# Usage: configures.sh SOURCE_ROOT. The last line is "N passed, N failed, N skipped".
cd "$1" || exit 1
. tests/support/check.sh
real=$(pkg-config --variable=includedir ompi-c) || { skip "no Open MPI: apt-get install libopenmpi-dev"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/emx-configures.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
check_dir "$work"
export PKG_CONFIG_PATH=$work

# package NAME VERSION INCLUDEDIR WORDS...: one that pkg-config finds first; WORDS are its other lines
package() {
    local name=$1 version=$2 include=$3
    shift 3
    printf '%s\n' "Name: $name" "Description: of a test" "Version: $version" "includedir=$include" "libdir=$work" \
        "Cflags: -I$include -I$include/openmpi" "$@" >"$work/$name.pc"
}

# configures STATUS PATTERN OPTIONS...: a new build
configures() {
    local status=$1 pattern=$2
    shift 2
    rm -rf "$work/build"
    ends "$status" "$pattern" meson setup "$work/build" "$@"
}

has_component() { grep -q mca_mtl_mx "$work/build/build.ninja"; }

# left_out STATUS PATTERN OPTIONS...: how the configuration ends, and its one line on the component
left_out() {
    local status=$1 pattern="component of Open MPI *: (left out|cannot be built): .*$2"
    shift 2
    configures "$status" "$pattern" "$@" && [ "$(grep -c 'component of Open MPI *:' "$said")" = 1 ] && ! has_component
}

without_coll() {
    configures 0 'one frame for all hosts *: left out: Open MPI .* does not take it' &&
        has_component && ! grep -q mca_coll_mx "$work/build/build.ninja"
}

built() { configures 0 '^Build targets' && has_component; }

without() { # PATTERN WHAT: of what there is, the component cannot be built
    check "$2: goes on without the component" left_out 0 "$1"
    check "$2: stops if the component was asked for" left_out 1 "$1" -Dopenmpi=enabled
}

headers=$work/headers
mkdir "$headers" && cp -rs "$real"/. "$headers" && rm "$headers/openmpi/ompi/mca/mtl/mtl.h"
package pmix 5 "$work" "Requires: nothing-of-the-kind"
package ompi-c 5.0.7 "$real" 'Libs: -lmpi'
without 'apt-get install libpmix-dev$' "Open MPI 5 without PMIx"
rm "$work/pmix.pc"
check "Open MPI 5 with PMIx: the component is built" built
package ompi-c 4.1.4 "$headers" 'Libs: -lmpi'
without 'fatal error: ompi/mca/mtl/mtl.h: No such file' "a header that is not shipped"
ln -s "$real/openmpi/ompi/mca/mtl/mtl.h" "$headers/openmpi/ompi/mca/mtl/mtl.h" && rm "$headers/openmpi/ompi/mca/coll/base/base.h"
package ompi-c 4.1.4 "$headers" 'Libs: -lmpi'
check "a header of collectives that is not shipped: their component alone is left out" without_coll
package ompi-c 4.1.4 "$real" 'Libs: -lmpi -lzebra'
without 'programs do not link' "a library that is not there"

# The other parts. Where pkg-config finds nothing, and Boost is looked for in an empty folder, all are left out.
mkdir "$work/empty"
nowhere=(env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/empty" BOOST_ROOT="$work/empty")
parts='commands to the kernel module by io_uring *: DEPENDS liburing: apt-get install liburing-dev$
filter of system calls of the agent *: DEPENDS libseccomp: apt-get install libseccomp-dev$
jobs of Fast Messages and GAMMA by PMIx *: DEPENDS pmix: apt-get install libpmix-dev$
Fast Messages *: DEPENDS boost: apt-get install libboost-context-dev$
component of Open MPI *: DEPENDS ompi-c: apt-get install libopenmpi-dev$'
missing() { # STATUS PATTERN OPTIONS...
    local status=$1 pattern=$2
    shift 2
    rm -rf "$work/build"
    ends "$status" "$pattern" "${nowhere[@]}" meson setup "$work/build" "$@"
}
check "without any library of others: each part has its line" missing 0 "${parts//DEPENDS/left out: no usable}
tests *: left out: no usable catch2: apt-get install catch2$
^Build targets"
for option in uring seccomp pmix fm openmpi; do
    check "a part that was asked for stops: $option" missing 1 "cannot be built: no usable .*: apt-get install lib" \
        -D$option=enabled -Dtests=false
done
check "parts that are not wanted" configures 0 "$(sed 's/: DEPENDS.*/: left out: -D.*=disabled$/' <<<"$parts")
tests *: left out: -Dtests=false$" -D{uring,seccomp,pmix,fm,openmpi}=disabled -Dtests=false

# Packages are found, and their headers or libraries are not. That of Boost has no file of pkg-config.
rm -f "$work"/*.pc
for name in liburing libseccomp pmix; do
    package $name 9 "$work/empty" 'Libs: -lzebra'
done
check "parts whose libraries no program links with" configures 0 "by io_uring *: left out: programs do not link with liburing
agent *: left out: programs do not link with libseccomp 9
by PMIx *: left out: programs do not link with pmix 9" -Dtests=false

# A warning of a newer compiler ends no build but the tests' own.
no_werror() { says '"name": "werror", "value": false' meson introspect --buildoptions "$work/build"; }
check "warnings are no errors unless that is asked for" no_werror
finish

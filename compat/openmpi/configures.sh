#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Configurations with an Open MPI of which something is missing go on without the component, and one line
# tells why; or stop with that line where the component was asked for.
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
    local status=$1 pattern="component of Open MPI .* left out: .*$2"
    shift 2
    configures "$status" "$pattern" "$@" && [ "$(grep -c 'left out' "$said")" = 1 ] && ! has_component
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
package ompi-c 4.1.4 "$real" 'Libs: -lmpi -lzebra'
without 'programs do not link' "a library that is not there"
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Compares the built library with what existing binaries expect, and with what we recorded.
#
#   check.sh SOURCE_ROOT BUILD_DIR            all checks
#   check.sh --record SOURCE_ROOT BUILD_DIR   records the interface of this build (recorded.abi.xml)
#
# The checks work on what "meson install" puts into a temporary folder, except the comparison of the
# debug information, for which that is stripped too late or never. Prints "N passed, N failed, N skipped".
set -u
record=0
[ "${1:-}" = --record ] && record=1 && shift
[ $# = 2 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$1 build=$2
abi=$root/compat/abi
# shellcheck source=compat/abi/stub.sh
. "$abi/stub.sh"
built=$build/libmx/install/libmyriexpress.so
recorded=$abi/recorded.abi.xml
public=(myriexpress.h mx_extensions.h mx_io.h mx_raw.h open-mx.h mx_internals)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/emx-abi.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# Only the public headers, so that what is private may change.
public_headers() {
    mkdir -p "$tmp/public"
    local header
    for header in "${public[@]}"; do
        cp -r "$root/include/$header" "$tmp/public/" || return
    done
}

record() {
    public_headers &&
        abidw --drop-private-types --headers-dir "$tmp/public" --no-corpus-path --no-comp-dir-path \
            --no-elf-needed --no-show-locs --type-id-style hash "$built" >"$recorded" || return
    # In the second line: abidiff knows the file by its first.
    sed -i '2i <!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->' "$recorded"
    echo "recorded: $recorded; look at the difference before you commit it"
}
if [ $record = 1 ]; then
    record
    exit
fi

# check NAME FUNCTION: runs it, counts it, shows what it said when it failed.
check() {
    if "$2" >"$tmp/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        sed 's/^/     | /' "$tmp/log"
    fi
}

install_here() {
    local pc
    DESTDIR=$tmp/dest meson install -C "$build" --no-rebuild || return
    pc=$(find "$tmp/dest" -name myriexpress.pc)
    [ -n "$pc" ] || { echo "no myriexpress.pc"; return 1; }
    libdir=$(dirname "$(dirname "$pc")")
    incdir=$(dirname "$(find "$tmp/dest" -name myriexpress.h | head -n 1)")
    lib=$libdir/libmyriexpress.so
    export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tmp/dest
}

# --- names and types of symbols

symbols_exact() {
    grep -v '^#' "$abi/symbols.txt" | grep . | sort >"$tmp/wanted"
    stub_exports "$lib" >"$tmp/got" || return
    nm -D --defined-only --with-symbol-versions "$lib" | grep '[^@]@MX_' &&
        echo "the above must be default versions (@@): see libmx/libmx.map" && return 1
    diff -u "$tmp/wanted" "$tmp/got" && return
    echo "Symbols differ from compat/abi/symbols.txt (- missing, + surplus). What is missing breaks programs:"
    echo "bring it back. What is surplus: hide it, or, if users shall have it from now on, add a line there."
    return 1
}

# Type, size, binding and place of every symbol.
symbols_kinds() {
    local relro
    relro=$(readelf -lW "$lib" | awk '$1 == "GNU_RELRO" { print $3, $6 }')
    [ -n "$relro" ] || { echo "no read-only relocations: link with -z relro"; return 1; }
    readelf --dyn-syms -W "$lib" | awk -v relro="$relro" '
        function hex(s,  i, v) { sub(/^0x/, "", s); for (i = 1; i <= length(s); i++)
            v = v * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1; return v }
        $7 == "UND" || $7 == "Ndx" || $7 == "ABS" || NF < 8 { next }
        { name = $8; sub(/@.*/, "", name); bad = "" }
        $5 != "GLOBAL" || $6 != "DEFAULT" { bad = "is not global with default visibility" }
        name ~ /^O?MX_ERRORS/ {
            split(relro, r, " ")
            if ($4 != "OBJECT" || $3 != 8) bad = "must be an object of 8 bytes"
            else if (hex($2) < hex(r[1]) || hex($2) + 8 > hex(r[1]) + hex(r[2])) bad = "must be read-only after relocation"
        }
        name !~ /^O?MX_ERRORS/ && $4 != "FUNC" { bad = "must be a function" }
        bad { print name, bad; n++ }
        { seen++ }
        END { if (!seen) print "no symbols"; exit n > 0 || !seen }'
}

# Chain of the nodes, the weak empty one, SONAME, other names of the file.
nodes_and_names() {
    local name
    readelf -VW "$lib" | awk '/definition section/ { on = 1 } /needs section/ { on = 0 } on' |
        sed -n 's/.*Flags: \([A-Z|a-z]*\).*Name: \(MX_[0-9.]*\)$/\2 \1/p; s/.*Parent [0-9]*: /  <- /p' >"$tmp/nodes"
    diff -u - "$tmp/nodes" <<-'END' || return
		MX_0.0 WEAK
		MX_0.9 none
		MX_0.91 none
		  <- MX_0.9
		MX_0.92 none
		  <- MX_0.91
	END
    readelf -dW "$lib" | grep -q 'SONAME.*\[libmyriexpress.so\]' || { echo "SONAME is not libmyriexpress.so"; return 1; }
    for name in libopen-mx.so libopen-mx.so.0; do
        [ "$libdir/$name" -ef "$lib" ] || { echo "$name is not the same file"; return 1; }
    done
}

# --- the recorded interface

recorded_interface() {
    public_headers || return
    abidiff --drop-private-types --headers-dir2 "$tmp/public" --no-show-locs "$recorded" "$built" && return
    echo "The interface differs from compat/abi/recorded.abi.xml. If existing binaries still work with it, record"
    echo "it with: compat/abi/check.sh --record SOURCE_ROOT BUILD_DIR  and commit the file with the change."
    return 1
}

# --- programs

program() {
    local output=$1
    shift
    gcc -Wall -Wextra -Werror -I"$incdir" -o "$tmp/$output" "$@"
}

run_codes() {
    local out
    out=$(LD_LIBRARY_PATH=$libdir "$tmp/$1" 2>&1)
    [ "$out" = "codes: ok" ] || { echo "$1: $out"; return 1; }
}

copy_relocation() {
    program copy -fno-pie -no-pie "$abi/programs/codes.c" -L"$libdir" -lmyriexpress || return
    readelf -rW "$tmp/copy" | grep -q 'COPY.*MX_ERRORS_RETURN' || { echo "the program has no copy relocation"; return 1; }
    readelf -dW "$tmp/copy" | grep -q 'NEEDED.*\[libmyriexpress.so\]' || { echo "NEEDED is not libmyriexpress.so"; return 1; }
    run_codes copy
}

pie_program() {
    # shellcheck disable=SC2046 # flags are words
    program pie -fPIE -pie "$abi/programs/codes.c" $(pkg-config --cflags --libs open-mx) && run_codes pie
}

# linked_elsewhere SONAME [plain]: codes.c linked against another maker's library of that name.
# tests/netns/old_binaries.sh does the same with a program that passes messages.
linked_elsewhere() {
    local soname=$1 dir=$tmp/stub-$1
    stub_make "$abi/symbols.txt" "$soname" "$dir" "${2:-}" || return
    program "on-$soname" -fno-pie -no-pie "$abi/programs/codes.c" "$dir/$soname" || return
    readelf -dW "$tmp/on-$soname" | grep -q "NEEDED.*\[$soname\]" || { echo "NEEDED is not $soname"; return 1; }
    run_codes "on-$soname"
}

open_mx_binary() {
    linked_elsewhere libopen-mx.so.0 || return
    readelf -VW "$tmp/on-libopen-mx.so.0" | grep -q 'Name: MX_0.92' || { echo "the program needs no versions"; return 1; }
}

unversioned_binary() {
    linked_elsewhere libmyriexpress.so plain
}

loaded_by_name() {
    local out
    program load "$abi/programs/load.c" || return
    for file in libmyriexpress.so libopen-mx.so.0; do
        out=$(LD_LIBRARY_PATH=$libdir "$tmp/load" $file 2>&1) || { echo "$file: exit status $?: $out"; return 1; }
        [ -z "$out" ] || { echo "$file printed: $out"; return 1; }
    done
}

# A network without any interface: mx_init has nothing to attach to.
init_without_board() {
    local out
    program load "$abi/programs/load.c" || return
    out=$(unshare -rn env -u EMX_BOARDS LD_LIBRARY_PATH="$libdir" timeout 20 "$tmp/load" libmyriexpress.so init 2>&1) ||
        { echo "exit status $?: $out"; return 1; }
    [ -z "$out" ] || { echo "printed: $out"; return 1; }
}

static_program() {
    # shellcheck disable=SC2046
    program static -static "$abi/programs/codes.c" $(pkg-config --static --cflags --libs myriexpress) || return
    ! readelf -dW "$tmp/static" | grep NEEDED && run_codes static
}

configure_tests() {
    program configured "$abi/programs/configure_board.c" -L"$libdir" -lmyriexpress
}

# Rules of pkg-config and meson: only the public headers are there, and all of them work alone.
installed_headers() {
    [ ! -e "$incdir/emx" ] || { echo "private headers are installed"; return 1; }
    "$abi/check-headers.sh" "$root" "$incdir"
}

check "installs" install_here
if [ $failed = 0 ]; then
    check "exports exactly the listed symbols" symbols_exact
    check "symbols are functions and 8-byte constants" symbols_kinds
    check "version nodes, SONAME, second name" nodes_and_names
    check "interface is the recorded one" recorded_interface
    check "headers are complete" installed_headers
    check "non-PIE program with copy relocation" copy_relocation
    check "PIE program by pkg-config open-mx" pie_program
    check "program linked on an Open-MX system" open_mx_binary
    check "program linked without versions" unversioned_binary
    check "loads by name, silently" loaded_by_name
    check "mx_init without a board: a code, silently" init_without_board
    check "static program by pkg-config --static" static_program
    check "functions that Open MPI's configure links" configure_tests
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

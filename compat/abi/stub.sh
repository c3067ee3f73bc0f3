# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Stub libraries: they stand in for the MX library of somebody else's system when a program is linked,
# with the symbols and versions that such a library has, and nothing behind them. Source it from bash.
#
#   stub_make SYMBOLS SONAME DIR [plain]   DIR/SONAME with all of SYMBOLS (compat/abi/symbols.txt); plain: no versions
#   stub_exports LIBRARY                   what a library exports, in the form of that list, sorted

stub_exports() {
    nm -D --defined-only --with-symbol-versions "$1" |
        awk '{ n = $3; if (n !~ /@/) n = n ($2 == "A" ? "@" n : "@Base"); sub(/@@/, "@", n); print n }' | sort
}

# Functions without a body worth its name; MX_ERRORS_... and OMX_ERRORS_... are pointers that do not change.
stub_source() {
    awk -F@ '/^#/ || NF < 2 || $1 == $2 { next }
        /^O?MX_ERRORS/ { print "void *const " $1 " = 0;"; next }
        { print "void " $1 "(void) { }" }' "$1"
}

# The nodes of the list in its order, each on top of the one before; an empty one stands alone.
stub_map() {
    awk -F@ '/^#/ || NF < 2 || $2 == "Base" { next }
        $1 == $2 { node[++n] = $1; next }
        { member[$2] = member[$2] " " $1 ";" }
        END {
            for (i = 1; i <= n; i++) {
                if (member[node[i]] == "") { print node[i] " { };"; continue }
                print node[i] " { global:" member[node[i]] " } " below ";"
                below = node[i]
            }
        }' "$1"
}

stub_make() {
    local symbols=$1 soname=$2 dir=$3 versions=()
    mkdir -p "$dir" && stub_source "$symbols" >"$dir/stub.c" && stub_map "$symbols" >"$dir/stub.map" || return
    [ "${4:-}" = plain ] || versions=("-Wl,--version-script,$dir/stub.map")
    gcc -shared -fPIC -Wl,-soname,"$soname" "${versions[@]}" -o "$dir/$soname" "$dir/stub.c"
}

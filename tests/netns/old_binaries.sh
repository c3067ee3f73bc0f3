#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Old binaries: programs that were linked on systems with Open-MX's or Myricom's library run, unchanged,
# on ours, and pass messages: within a host, between two, and with each other.
#
#   tests/netns/old_binaries.sh BUILD_DIR
#
# The other libraries are stubs with the symbols and versions of the real ones (compat/abi/stub.sh); a
# program that was linked against a stub could do nothing with it.
cd "$(dirname "$0")/../.." || exit 1
abi=compat/abi
. tests/support/netlab.sh
. $abi/stub.sh
[ $# = 1 ] || { sed -n '3,9s/^# \{0,1\}//p' tests/netns/old_binaries.sh >&2; exit 2; }
netlab_begin "$PWD/tests/netns/old_binaries.sh" "$@"
build=$(cd "$1" && pwd) || exit 1
tmp=$NETLAB_TMP hung=200

install_ours() {
    DESTDIR=$tmp/dest meson install -C "$build" --no-rebuild || return
    libdir=$(dirname "$(find "$tmp/dest" -name libmyriexpress.so)")
    [ -e "$libdir/libopen-mx.so.0" ] || { echo "libopen-mx.so.0 is not installed"; return 1; }
}

# Every symbol with its version, no other one: as the real libraries have them.
stub_is_faithful() {
    grep -v '^#' "$abi/symbols.txt" | grep . | sort >"$tmp/wanted"
    [ "${2:-}" != plain ] || sed -i -n '/^MX_/d; s/@.*/@Base/p' "$tmp/wanted"
    [ "${2:-}" != plain ] || printf 'MX_ERRORS_ARE_FATAL@Base\nMX_ERRORS_RETURN@Base\n' >>"$tmp/wanted"
    LC_ALL=C sort -o "$tmp/wanted" "$tmp/wanted"
    stub_exports "$1" | LC_ALL=C sort | diff -u "$tmp/wanted" -
}

# link NAME SONAME [plain]: the program as a system with that library makes it. The stub is gone afterwards.
link() {
    local stub=$tmp/stub-$1
    stub_make "$abi/symbols.txt" "$2" "$stub" "${3:-}" && stub_is_faithful "$stub/$2" "${3:-}" || return
    gcc -Wall -Wextra -Werror -O2 -fno-pie -no-pie -Iinclude -o "$tmp/$1" \
        "$abi/programs/messages.c" "$stub/$2" || return
    rm -r "$stub"
    sha256sum "$tmp/$1" >>"$tmp/sums"
}

# The program asks the loader for one library besides libc, and each symbol in its version.
needs() { # needs NAME SONAME [plain]
    local needed
    needed=$(readelf -dW "$tmp/$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' | tr '\n' ' ')
    [ "$needed" = "$2 " ] || { echo "NEEDED is '$needed', not $2"; return 1; }
    readelf -rW "$tmp/$1" | grep -q 'COPY.*MX_ERRORS_RETURN' || { echo "no copy relocation of MX_ERRORS_RETURN"; return 1; }
    nm -D --undefined-only --with-symbol-versions "$tmp/$1" | awk '$NF ~ /^mx_/ { print $NF }' | sort >"$tmp/got"
    [ "$(wc -l <"$tmp/got")" -ge 15 ] || { echo "the program refers to too little:"; cat "$tmp/got"; return 1; }
    if [ "${3:-}" = plain ]; then
        ! grep @ "$tmp/got"
        return
    fi
    # Every reference stands in the list as it is; all seven versioned functions are among them.
    sed 's/^[^@]*$/&@Base/' "$tmp/got" | grep -vxF -f "$abi/symbols.txt" && echo "not in symbols.txt" && return 1
    [ "$(grep -c '@MX_0\.' "$tmp/got")" = 7 ] || { echo "not the seven versioned functions:"; cat "$tmp/got"; return 1; }
}

make_hosts() {
    NETLAB_NAMES="olda oldb" NETLAB_WATCH=$build/tests/watch/wirewatch NETLAB_DIALECTS=N=9000 netlab_make 2 9000 && netlab_boards N=9000 "$build"
}

# on HOST PROGRAM ARGUMENT: on our library, with every symbol looked up at the start.
on() {
    netlab_in "$1" env LD_LIBRARY_PATH="$libdir" LD_BIND_NOW=1 timeout -k 5 $hung "$tmp/$2" "$3"
}

# The library that the loader takes is ours, by the name that the program asks for.
loads_ours() { # loads_ours PROGRAM SONAME
    env LD_LIBRARY_PATH="$libdir" LD_TRACE_LOADED_OBJECTS=1 "$tmp/$1" >"$tmp/loaded" 2>&1 || return
    grep -qF "$2 => $libdir/$2 " "$tmp/loaded" || { cat "$tmp/loaded"; return 1; }
}

# talk CLIENT SERVER SERVER-HOST: the server's host is 1 (the client's own) or 2. Both print their line, no more.
talk() {
    local server status name=olda
    [ "$3" = 1 ] || name=oldb
    netlab_bg "$3" "$tmp/server" env LD_LIBRARY_PATH="$libdir" LD_BIND_NOW=1 timeout -k 5 $hung "$tmp/$2" serve
    server=$NETLAB_PID
    on 1 "$1" "$name:0" >"$tmp/client" 2>&1
    status=$?
    [ "$status" = 0 ] || { echo "client: exit status $status"; cat "$tmp/client"; netlab_stop "$server"; cat "$tmp/server"; return 1; }
    wait "$server" || { echo "server: exit status $?"; cat "$tmp/server"; return 1; }
    for side in client server; do
        [ "$(cat "$tmp/$side")" = "messages: 11 rounds ok" ] || { echo "$side:"; cat "$tmp/$side"; return 1; }
    done
}

unchanged() {
    sha256sum --check --quiet "$tmp/sums" && [ "$(wc -l <"$tmp/sums")" = 3 ]
}

openmx=libopen-mx.so.0 myri=libmyriexpress.so
check "installs" install_ours
[ "$failed" = 0 ] || finish
check "links on a system with Open-MX" link on-openmx $openmx
check "links on a system with Myricom's library" link on-myri $myri
check "links on a system with a library without versions" link on-plain $myri plain
[ "$failed" = 0 ] || finish
check "needs $openmx and its versions" needs on-openmx $openmx
check "needs $myri and its versions" needs on-myri $myri
check "needs $myri and no versions" needs on-plain $myri plain
check "finds ours as $openmx" loads_ours on-openmx $openmx
check "finds ours as $myri" loads_ours on-myri $myri
check "two hosts" make_hosts
[ "$failed" = 0 ] || finish
for program in on-openmx on-myri on-plain; do
    check "$program: messages within a host" talk $program $program 1
    check "$program: messages between two hosts" talk $program $program 2
done
check "programs of both kinds pass messages to each other" talk on-openmx on-myri 2
check "the programs have not changed" unchanged
finish

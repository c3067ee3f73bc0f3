#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The quickstart, as root and, with EMX_FULL=1, as an ordinary user: that it shows what it promises, lists what is
# missing, and leaves no process, network namespace or file behind, however it ends.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/terminal.sh
. tests/bench/rounds.sh
[ "$(id -u)" = 0 ] || { skip "needs root, to become an ordinary user too"; finish; }
terminal quickstart
user=emxqs$$ fresh='' shims='' results=''

end_terminal() {
    id "$user" >/dev/null 2>&1 && userdel "$user"
    rm -rf "$work"
}

# A user with an own checkout and, for the full tier, a build, made of ours with the same times: nothing is compiled.
make_user() {
    useradd -M -d "$work/home" -s /bin/bash "$user" && mkdir -p "$work/home/ethermx/build" || return
    tar -c --exclude='./build*' --exclude=./.git . | tar -x -C "$work/home/ethermx" || return
    [ -z "${EMX_FULL:-}" ] || cp -a "$plain" "$work/home/ethermx/build/plain" || return
    chown -R "$user:" "$work/home"
}

# begin WHO OPTION...: the quickstart.
begin() {
    local who=$1 build=$work/root/build repository=$PWD path=$PATH as=()
    shift
    if [ "$who" != root ]; then
        as=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
        repository=$work/home/ethermx build=$work/home/ethermx/build path=/usr/local/bin:/usr/bin:/bin
    fi
    [ -n "$fresh" ] && build=$work/$who-fresh && install -d -o "$who" "$build"
    results=$build/quickstart
    launch HOME="$work/home" EMX_BUILD="$build" PATH="${shims:+$shims:}$path" "$repository/tools/quickstart" "$@"
}

complete() { # complete WHO: runs to the end, with a table and a picture
    local before=$watched
    begin "$1" -q
    closes 0 && [ $watched -gt "$before" ] && grep -q 'EtherMX spoke dialect N=9000 at an interface MTU of 9000' "$out" &&
        grep -q 'node2:0 (board #0 name eth0' "$out" && grep -qE '^ *65536( +[0-9.]+){11}$' "$out" || return
    python3 - "$results/run.svg" <<'END'
import sys
import xml.etree.ElementTree as tree

picture = tree.parse(sys.argv[1]).getroot()
curves = [e for e in picture.iter() if e.tag.endswith("polyline")]
texts = {e.text for e in picture.iter() if e.text}
subtitles = [e for e in picture.iter() if e.get("class") == "sub"]
sys.exit(not (len(curves) >= 13 and len(subtitles) == 1 and
              {"EtherMX", "TCP", "floor: ring", "Ratios of the times", "TCP / EtherMX"} <= texts))
END
}

# stopped WHO SIGNAL TEXT: when that text has come
stopped() {
    begin "$1" -t 50 -e 65537
    reaches "$3" && interrupts "$2" || { closes 0; return 1; }
    case $2 in
    INT) closes 130 ;;
    TERM) closes 143 ;;
    esac
}

stopped_in_build() {
    local fresh=1
    stopped "$1" "$2" Building
}

lists_missing() {
    local shims=$work/shims
    mkdir -p "$shims"
    printf '#!/bin/sh\ncase "$*" in *" ethtool") echo unknown; exit 1 ;; esac\nexec /usr/bin/dpkg-query "$@"\n' \
        >"$shims/dpkg-query" && chmod 755 "$shims/dpkg-query" || return
    begin "$user" -q
    closes 1 && grep -qx ' *sudo apt-get install ethtool' "$out"
}

declined() { # declined STATUS TEXT OPTION...
    local status=$1 text=$2
    shift 2
    begin root "$@"
    closes "$status" && grep -q -- "$text" "$out"
}

no_user_namespaces() {
    begin "$user" -q
    closes 1 && grep -q 'run as root, or allow user namespaces' "$out"
}

mkdir -p "$work/root/build" && ln -s "$plain" "$work/root/build/plain" || exit 1
check "the build" ninja -C "$plain" "${BENCH_TARGETS[@]}"
check "an ordinary user with a checkout" make_user
check "root: table and picture" complete root
check "root: Ctrl-C in a measurement" stopped root INT "omx_perf -d"
check "root: SIGTERM in the build" stopped_in_build root TERM
check "a step that fails" declined 1 'MTU' -q -m 1500:N=9000
check "a rate that is no number" declined 2 'wants a number' -r many
check "a dialect that is none" declined 2 'a configuration is' -m 9000:X
check "user: missing packages are listed" lists_missing
[ -n "${EMX_FULL:-}" ] || finish
for moment in "Two hosts" "The same beside"; do
    check "root: Ctrl-C after \"$moment\"" stopped root INT "$moment"
done
check "root: Ctrl-C in the build" stopped_in_build root INT
check "root: SIGTERM in a measurement" stopped root TERM "The same beside"
if setpriv "--reuid=$user" "--regid=$user" --clear-groups unshare -Urnm true 2>/dev/null; then
    check "user: table and picture" complete "$user"
    check "user: Ctrl-C in the build" stopped_in_build "$user" INT
    check "user: Ctrl-C in a measurement" stopped "$user" INT "The same beside"
    check "user: SIGTERM in a measurement" stopped "$user" TERM "omx_perf -d"
else
    check "user: without user namespaces the remedy is named" no_user_namespaces
fi
finish

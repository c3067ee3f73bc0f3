#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The quickstart, as root and as an ordinary user: that it shows what it promises, lists what is
# missing, and leaves no process, network namespace or file behind, however it ends.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/traces.sh
top=$PWD
plain=${EMX_BUILD:-$PWD/build}/plain
passed=0 failed=0
mark=emx-quickstart-test-$$
user=emxqs$$
work=$(mktemp -d "${TMPDIR:-/tmp}/emx-quickstart.XXXXXX") || exit 1
out=$work/out
pid=

finish() {
    trap '' INT TERM
    [ -n "$pid" ] && kill -KILL -- "-$pid" 2>/dev/null
    id "$user" >/dev/null 2>&1 && userdel "$user"
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

expect() { # expect NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$work/said"
    fi
}

# A user with a checkout and a build of his own, made of ours with the same times: nothing is compiled.
make_user() {
    useradd -M -d "$work/home" -s /bin/bash "$user" || return
    mkdir -p "$work/home/ethermx/build" && chmod 755 "$work" || return
    tar -c --exclude='./build*' --exclude=./.git . | tar -x -C "$work/home/ethermx" || return
    cp -a "$plain" "$work/home/ethermx/build/plain" && chown -R "$user:" "$work/home"
}

# begin WHO OPTION...: the quickstart in a process group of its own, as a terminal would have it.
begin() {
    who=$1
    local as=() build=$work/root/build repository=$top path=$PATH watch=$plain/tests/watch/wirewatch
    shift
    if [ "$who" != root ]; then
        as=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
        repository=$work/home/ethermx build=$work/home/ethermx/build path=/usr/local/bin:/usr/bin:/bin
        watch=$build/plain/tests/watch/wirewatch
    fi
    [ -n "$fresh" ] && build=$work/$who-fresh && install -d -o "$who" "$build"
    rm -rf "$work/tmp" && install -d -m 1777 "$work/tmp"
    : >"$out" # here, or the words of the run before would be found in it
    setsid "${as[@]}" env --default-signal=INT,TERM HOME="$work/home" "MARK=$mark" TMPDIR="$work/tmp" \
        EMX_BUILD="$build" EMX_WATCH="$watch" PATH="${shims:+$shims:}$path" "$repository/tools/quickstart" "$@" >"$out" 2>&1 </dev/null &
    pid=$!
}

# ended STATUS: it ends with that status within a minute, and nothing of it is left.
ended() {
    local wanted=$1 status try
    for ((try = 0; try < 600; try++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1 # tidy-allow(sleep): polls the end of the quickstart, at most a minute
    done
    [ $try = 600 ] && { echo "it does not end"; kill -KILL -- "-$pid"; }
    wait "$pid"
    status=$?
    [ $status = "$wanted" ] || { echo "status $status instead of $wanted; its last lines:"; tail -n 20 "$out"; }
    ! grep -A 20 FORBIDDEN "$out" && nothing_left && [ $status = "$wanted" ]
}

nothing_left() {
    local left=0
    [ "$who" = root ] || { ps -o pid=,stat=,args= -u "$user" | grep -v '^ *[0-9]* [ZX]' && left=1; }
    traces_of "MARK=$mark" "$pid" "$work/tmp" && return $left
}

# reaches TEXT: the quickstart has come so far.
reaches() {
    local try
    for ((try = 0; try < 600; try++)); do
        grep -q -- "$1" "$out" && return
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05 # tidy-allow(sleep): polls the output, at most half a minute
    done
    echo "\"$1\" never came; its last lines:"
    tail -n 20 "$out"
    return 1
}

complete() { # complete WHO: runs to the end, with a table and a picture
    local results=$work/root/build/quickstart
    [ "$1" = root ] || results=$work/home/ethermx/build/quickstart
    begin "$1" -q
    ended 0 || return
    grep -q 'EtherMX spoke dialect N=9000 at an interface MTU of 9000' "$out" &&
        grep -qE '^wirewatch: [1-9][0-9]* frames judged, .*, 0 violations$' "$out" &&
        grep -q 'node2:0 (board #0 name eth0' "$out" && grep -qE '^ *65536( +[0-9.]+){11}$' "$out" || { cat "$out"; return 1; }
    python3 - "$results/run.svg" <<'END'
import sys
import xml.etree.ElementTree as tree

picture = tree.parse(sys.argv[1]).getroot()
curves = [e for e in picture.iter() if e.tag.endswith("polyline")]
texts = {e.text for e in picture.iter() if e.text}
sys.exit(not (len(curves) >= 10 and {"EtherMX", "TCP", "floor: ring"} <= texts))
END
}

stopped() { # stopped WHO SIGNAL TEXT: a signal when that text has come; INT goes to the group, as Ctrl-C
    begin "$1" -t 50
    reaches "$3" || { ended 0; return 1; }
    case $2 in
    INT) kill -INT -- "-$pid"; ended 130 ;;
    TERM) kill -TERM "$pid"; ended 143 ;;
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
    ended 1 && grep -qx ' *sudo apt-get install ethtool' "$out"
}

refused() { # refused STATUS TEXT OPTION...
    local status=$1 text=$2
    shift 2
    begin root "$@"
    ended "$status" && grep -q -- "$text" "$out"
}

no_user_namespaces() {
    begin "$user" -q
    ended 1 && grep -q 'run as root, or allow user namespaces' "$out"
}

[ "$(id -u)" = 0 ] || { echo "needs root, to become an ordinary user too"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
mkdir -p "$work/root/build" && ln -s "$plain" "$work/root/build/plain" || exit 1
fresh='' shims='' who=''
. tests/bench/rounds.sh
expect "the build" ninja -C "$plain" "${BENCH_TARGETS[@]}"
expect "an ordinary user and his checkout" make_user
expect "root: table and picture" complete root
for moment in "Two hosts" "omx_perf -d" "The same beside"; do
    expect "root: Ctrl-C after \"$moment\"" stopped root INT "$moment"
done
expect "root: Ctrl-C in the build" stopped_in_build root INT
expect "root: SIGTERM in the build" stopped_in_build root TERM
expect "root: SIGTERM in a measurement" stopped root TERM "The same beside"
expect "a step that fails" refused 1 'MTU' -q -m 1500:N=9000
expect "a rate that is no number" refused 2 'wants a number' -r many
expect "a dialect that is none" refused 2 'a configuration is' -m 9000:X
expect "user: missing packages are listed" lists_missing
if setpriv "--reuid=$user" "--regid=$user" --clear-groups unshare -Urnm true 2>/dev/null; then
    expect "user: table and picture" complete "$user"
    expect "user: Ctrl-C in the build" stopped_in_build "$user" INT
    expect "user: Ctrl-C in a measurement" stopped "$user" INT "The same beside"
    expect "user: SIGTERM in a measurement" stopped "$user" TERM "omx_perf -d"
else
    expect "user: without user namespaces the remedy is named" no_user_namespaces
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

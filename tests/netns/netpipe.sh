#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# NetPIPE's MX module, unmodified, built against the installed library, between two hosts.
#
#   tests/netns/netpipe.sh [-b FOLDER] [-u BYTES] [-s N] [-n COUNT] [-p BYTES] BUILD_DIR [OUT_DIR]
#     -b   NetPIPE is there, built by netpipe_build.sh
#     -u   the longest length (4194304)
#     -s   a host that is so many times slower than most: NetPIPE ends its row where a message takes a second,
#          so that its clock goes slower (the static program, which has none but the real one, ends earlier)
#     -n   messages per length, else as many as take a while; -p: measure also so much beside a length (3)
#
# NetPIPE is an MX program that others wrote: it opens endpoint 0, finds its peer by name, connects
# in both directions, and sends every length, once timed and once checking each byte.
# With EMX_DEVICE=kernel the hosts' interfaces are boards of the kernel module, which must be loaded.
# Prints "N passed, N failed, N skipped"; without a way to get the source the test fails.
# shellcheck disable=SC2317 # the functions are called through check
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/support/netlab.sh
. "$here/../support/netlab.sh"

usage() {
    sed -n '3,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

arguments=("$@") programs='' length_max=4194304 slow=1 options=()
while getopts b:u:s:n:p:h option; do
    case $option in
    b) programs=$(cd "$OPTARG" && pwd) || exit 1 ;;
    u) length_max=$OPTARG ;;
    s) slow=$OPTARG ;;
    n | p) options+=("-$option" "$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage
netlab_begin "$0" "${arguments[@]}"
build=$(cd "$1" && pwd) || exit 1
out=${2:-$NETLAB_TMP/out}
mkdir -p "$out"
time_limit=${EMX_NETPIPE_LIMIT:-100} # seconds for each of the runs
passed=0 failed=0 clock=()

make_hosts() {
    NETLAB_NAMES="npa npb" NETLAB_WATCH=$build/tests/watch/wirewatch NETLAB_DIALECTS=N=9000 netlab_make 2 9000 && netlab_boards N=9000 "$build"
}

# pair PROGRAM LOG OPTION...: host npb waits, host npa transmits. Both must end well. NetPIPE measures a few bytes
# beside its powers of two.
pair() {
    local program=$1 log=$2 status
    shift 2
    set -- "${clock[@]}" timeout -k 5 "$time_limit" "$program" "$@" "${options[@]}" -u $((length_max + 3))
    netlab_bg 2 "$log.receiver" "$@" -o "$log.receiver.out"
    local receiver=$NETLAB_PID
    wait_for_open || { netlab_stop "$receiver"; return 1; }
    netlab_in 1 "$@" -h npb -o "$log.out" >"$log" 2>&1
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

if [ -z "$programs" ]; then
    programs=$NETLAB_TMP/netpipe
    check "builds unmodified" "$out/build" "$here/netpipe_build.sh" "$build" "$programs"
    [ $failed = 0 ] || finish
fi
check "two hosts" "$out/hosts" make_hosts
[ $failed = 0 ] || finish
[ "$slow" = 1 ] || clock=(env LD_PRELOAD="$programs/slow_clock.so" SLOW_CLOCK="$slow")
lengths() { echo "every length to $((length_max >> 20)) MiB"; }
check "shared: $(lengths), timed" "$out/timed" timed "$programs/NPmx" "$out/timed"
check "shared: $(lengths), each byte checked" "$out/checked" checked "$programs/NPmx" "$out/checked"
length_max=$((length_max / slow))
check "static: $(lengths), each byte checked" "$out/static" checked "$programs/NPmx-static" "$out/static"
finish

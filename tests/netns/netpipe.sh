#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# NetPIPE's MX module, unmodified, built against the installed library, between two hosts.
#
#   tests/netns/netpipe.sh [-b FOLDER] [-u BYTES] [-s N] [-n COUNT] [-p BYTES] BUILD_DIR [OUT_DIR]
#     -b   NetPIPE is there, built by netpipe_build.sh
#     -u   the longest length (4194304)
#     -s   how many times slower its clock goes than the real one (1000): NetPIPE ends its row where a message takes
#          a second. The static program, which has none but the real one, stops so many times earlier,
#          or at 64 KiB.
#     -n   messages per length (20; 0: as many as take a while); -p: measure also so much beside a length (3)
#
# NetPIPE is an MX program that others wrote: it opens endpoint 0, finds its peer by name, connects
# in both directions, and sends every length, once timed and once checking each byte.
# With EMX_DEVICE=kernel the hosts' interfaces are boards of the kernel module, which must be loaded.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh

usage() {
    sed -n '3,16s/^# \{0,1\}//p' tests/netns/netpipe.sh >&2
    exit 2
}

arguments=("$@") programs='' length_max=4194304 slow=1000 options=() count=20
while getopts b:u:s:n:p:h option; do
    case $option in
    b) programs=$(cd "$OPTARG" && pwd) || exit 1 ;;
    u) length_max=$OPTARG ;;
    s) slow=$OPTARG ;;
    n) count=$OPTARG ;;
    p) options+=(-p "$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage
[ "$count" = 0 ] || options+=(-n "$count")
netlab_begin "$PWD/tests/netns/netpipe.sh" "${arguments[@]}"
build=$(cd "$1" && pwd) || exit 1
out=${2:-$NETLAB_TMP/out}
mkdir -p "$out"
time_limit=${EMX_NETPIPE_LIMIT:-400} # seconds for each of the runs, none of which takes a tenth of it
clock=()

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
    [ "$status" = 0 ] || { echo "transmitter: exit status $status"; netlab_stop "$receiver"; show "$log"; return 1; }
    wait "$receiver" || { echo "receiver: exit status $?"; show "$log"; return 1; }
}

# The receiver's output comes late through a file, so its host is asked.
wait_for_open() { until_ok 200 open_or_ended && ! lab_ended "$NETLAB_PID"; }
open_or_ended() { netlab_in 2 "$build/tools/omx_endpoint_info" | grep -q 'open by pid' || lab_ended "$NETLAB_PID"; }

show() {
    tail -n 8 "$1" "$1.receiver" 2>/dev/null
}

# reached OUT: how many lengths were measured, and the longest.
reached() {
    awk -v want="$length_max" '$1 + 0 > longest { longest = $1 + 0 } { n++ }
        END { print n + 0, "measurements up to", longest, "bytes"
              enough = 1.7 * log(want) / log(2)
              exit !(n >= (enough < 40 ? enough : 40) && longest >= want) }' "$1"
}

timed() {
    pair "$1" "$2" && reached "$2.out"
}

checked() {
    pair "$1" "$2" -i || return
    ! grep -i "integrity check failed" "$2" "$2.receiver" && reached "$2.out"
}

if [ -z "$programs" ]; then
    programs=$NETLAB_TMP/netpipe
    check "builds unmodified" tests/netns/netpipe_build.sh "$build" "$programs"
fi
[ "$failed" = 0 ] && check "two hosts" make_hosts
[ "$failed" = 0 ] || finish
[ "$slow" = 1 ] || clock=(env LD_PRELOAD="$programs/slow_clock.so" SLOW_CLOCK="$slow")
check "shared: every length, timed" timed "$programs/NPmx" "$out/timed"
check "shared: every length, each byte checked" checked "$programs/NPmx" "$out/checked"
length_max=$((length_max / slow > 65536 ? length_max / slow : 65536))
check "static: every length, each byte checked" checked "$programs/NPmx-static" "$out/static"
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Whether wirewatch sees what hosts send, wherever tests have it watch, and whether a frame that nobody may send makes
# them fail; each with such a frame, planted.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
plain=${EMX_BUILD:-$PWD/build}/plain
watch=$plain/tests/watch plant=$plain/tests/netns/plant
passed=0 failed=0

# ---- hosts, with traffic of ours: check.sh lab CASE

# A refusal with a reason that aborts the peer's process; from that source.
plant() { # HOST [MAC]
    netlab_in "$1" python3 -c '
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.bind(("eth0", 0))
s.send(bytes.fromhex((sys.argv[1] + sys.argv[2]).replace(":", "") + "86df" + "ffff" + "2c050004") + bytes(40))' \
        "$(netlab_mac 2)" "${2:-$(netlab_mac "$1")}"
}

messages() { # OPTION...: of omx_perf
    export EMX_OMXD=$plain/tools/omxd/omxd EMX_BOARDS=eth0:N=9000
    netlab_bg 2 "$NETLAB_TMP/server" timeout 60 "$plain/tools/omx_perf" -y
    local server=$NETLAB_PID status
    netlab_in 1 timeout 50 "$plain/tools/omx_perf" -d "$(netlab_mac 2)" -y -V -P 0 -T 20 -M 16 "$@"
    status=$?
    netlab_stop "$server"
    return $status
}

# The watcher, while more is sent than its ring holds.
looks_away() { kill -STOP "$(cat "${NETLAB_WATCHERS[0]}.pid")"; }
looks_again() { kill -CONT "$(cat "${NETLAB_WATCHERS[0]}.pid")"; }

# shellcheck disable=SC2034 # read by netlab_make
lab() {
    netlab_begin "$PWD/tests/watch/check.sh" lab "$1"
    NETLAB_WATCH=$watch/wirewatch NETLAB_DIALECTS=N=9000
    case $1 in
    stranger) NETLAB_WATCH_OPTIONS="--not 02:00:00:00:00:99" ;;
    missed) NETLAB_WATCH_OPTIONS="--ring 512" ;;
    missing) NETLAB_WATCH=/no/wirewatch ;;
    misled) NETLAB_WATCH_OPTIONS="--dialect X" ;;
    esac
    if [ "$1" = switch ]; then netlab_make 3 9000; else netlab_make 2 9000; fi || exit 4
    case $1 in
    good) messages -N 50 -E 100000 ;;
    planted) messages -N 5 -E 100 && plant 1 ;;
    switch) plant 3 ;;
    stranger) plant 1 02:00:00:00:00:99 ;;
    missed) looks_away && messages -U -S 100000 -E 2000000 -N 500 && looks_again ;;
    afterwards) netlab_unwatch && plant 1 ;;
    another) netlab_remove && NETLAB_NAMES='' netlab_make 2 9000 && plant 2 ;;
    own_status) plant 1 && exit 3 ;;
    esac || exit 5
    exit 0
}
[ "${1:-}" != lab ] || lab "$2"

# ---- and what becomes of them

# expect NAME STATUS PATTERN COMMAND...: it ends so and prints that.
expect() {
    local name=$1 want=$2 pattern=$3 status out
    shift 3
    out=$("$@" 2>&1)
    status=$?
    if [ $status = "$want" ] && grep -qE -- "$pattern" <<<"$out"; then
        passed=$((passed + 1))
        echo "ok $name: $(grep -E -m 1 -- "$pattern" <<<"$out")"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $name: status $status, wanted $want and /$pattern/"
    sed 's/^/    /' <<<"$out"
}
of_lab() { tests/watch/check.sh lab "$1"; }

forbidden='^FORBIDDEN: frame [0-9]+, 60 bytes: wire.md 4.13'
expect "messages of every class are seen, and are right" 0 \
    '^wirewatch: [0-9]{3,} frames judged, 0 of others heard, 0 missed for want of room, 0 violations' of_lab good
expect "a planted frame between messages makes the script fail" 1 "$forbidden" of_lab planted
expect "it is shown" 1 '^02 45 4d 58 00 02 02 45 4d 58 00 01 86 df ff ff$' of_lab planted
expect "also on a switch" 1 "$forbidden" of_lab switch
expect "also between hosts that are made later" 1 "$forbidden" of_lab another
expect "a stranger may send it" 0 '^wirewatch: 0 frames judged, 1 of others heard, .* 0 violations' of_lab stranger
expect "what comes after the watch is not judged" 0 '^wirewatch: 0 frames judged, 0 of others heard' of_lab afterwards
expect "a script that fails by itself keeps its status" 3 "$forbidden" of_lab own_status
expect "missed frames are counted, and are no violations" 0 \
    '^wirewatch: [0-9]+ frames judged, .*, [1-9][0-9]* missed for want of room, 0 violations' of_lab missed
expect "no watch without the program" 4 'no program /no/wirewatch' of_lab missing
expect "nor with nonsense" 4 'a dialect is W or N=SIZE, not "X"' of_lab misled

# Tests that make their hosts by themselves.
expect "TwoHosts: a planted frame makes the program fail" 1 "$forbidden" env EMX_WATCH="$watch/wirewatch" "$plant"
expect "TwoHosts: not that of a foreign host" 0 '' env EMX_WATCH="$watch/wirewatch" "$plant" foreign
expect "TwoHosts: nor if nobody watches" 0 '' env -u EMX_WATCH "$plant"
expect "TwoHosts: no watch without the program" 2 'EMX_WATCH=/no/wirewatch' env EMX_WATCH=/no/wirewatch "$plant"
work=$(mktemp -d "${TMPDIR:-/tmp}/emx-watch.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
printf '%s\n' '#!/bin/sh' 'echo watching' 'read -r _' 'echo "FORBIDDEN: planted"' 'exit 1' >"$work/bad_watcher"
chmod +x "$work/bad_watcher"
expect "conform_engine: a verdict against a column is a failure" 1 '^[1-9][0-9]* passed, 1 failed, ' \
    env EMX_OMXD="$plain/tools/omxd/omxd" EMX_WATCH="$work/bad_watcher" "$plain/tests/conform/conform_engine" \
    --config W/2hosts --filter cases_connect

# Captures.
expect "a real MXoE peer does nothing dangerous" 0 '^wirewatch: [0-9]{3} frames judged.* 0 violations' \
    "$watch/wirewatch" --dangers --pcap tests/interop/pcap/*.pcap
python3 - "$work/bad.pcap" <<'END'
import struct, sys

frame = bytes.fromhex("02000000000b" + "02000000000a" + "86df" + "ffff" + "2c050004") + bytes(40)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 256, 1))
    file.write(struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame)
END
expect "a planted frame in a capture is found" 1 "$forbidden" "$watch/wirewatch" --pcap "$work/bad.pcap"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

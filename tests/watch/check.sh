#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Tests that wirewatch sees what hosts send, wherever tests have it watch, and that a frame that nobody may send makes
# them fail; each with such a frame, planted.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
plain=${EMX_BUILD:-$PWD/build}/plain
watch=$plain/tests/watch plant=$plain/tests/netns/plant

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

# The watcher, while more is sent than its ring holds.
looks_away() { kill -STOP "$(cat "${NETLAB_WATCHERS[0]}.pid")"; }
looks_again() { kill -CONT "$(cat "${NETLAB_WATCHERS[0]}.pid")"; }

# shellcheck disable=SC2034 # read by netlab_make
lab() {
    netlab_begin "$PWD/tests/watch/check.sh" lab "$1"
    . tests/support/traffic.sh
    export EMX_BOARDS=eth0:N=9000
    NETLAB_DIALECTS=N=9000
    case $1 in
    stranger) NETLAB_WATCH_OPTIONS="--not 02:00:00:00:00:99" ;;
    missed) NETLAB_WATCH_OPTIONS="--ring 512" ;;
    missing) NETLAB_WATCH=/no/wirewatch ;;
    misled) NETLAB_WATCH_OPTIONS="--dialect X" ;;
    esac
    if [ "$1" = switch ]; then netlab_make 3 9000; else netlab_make 2 9000; fi || exit 4
    case $1 in
    good) messages 1 2 -V -M 16 -N 50 -E 100000 ;;
    planted) messages 1 2 -V -M 16 -N 5 -E 100 && plant 1 ;;
    switch) plant 3 ;;
    stranger) plant 1 02:00:00:00:00:99 ;;
    missed) looks_away && messages 1 2 -V -M 16 -U -S 100000 -E 2000000 -N 500 && looks_again ;;
    afterwards) netlab_unwatch && plant 1 ;;
    another) netlab_remove && NETLAB_NAMES='' netlab_make 2 9000 && plant 2 ;;
    own_status) plant 1 && exit 3 ;;
    esac || exit 5
    exit 0
}
[ "${1:-}" != lab ] || lab "$2"

# ---- and what becomes of them

work=$(mktemp -d "${TMPDIR:-/tmp}/emx-watch.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
check_dir "$work"
CHECK_TELLS=1
of_lab() { tests/watch/check.sh lab "$1"; }

forbidden='^FORBIDDEN: frame [0-9]+, 60 bytes: wire.md 4.13'
check "messages of every class are seen, and are right" ends 0 \
    '^wirewatch: [0-9]{3,} frames judged, 0 of others heard, 0 missed for want of room, 0 violations' of_lab good
check "a planted frame between messages makes the script fail" ends 1 "$forbidden" of_lab planted
check "the planted frame is shown" ends 1 '^02 45 4d 58 00 02 02 45 4d 58 00 01 86 df ff ff$' of_lab planted
check "a planted frame on a switch is found" ends 1 "$forbidden" of_lab switch
check "a planted frame between hosts that are made later is found" ends 1 "$forbidden" of_lab another
check "a stranger may send the planted frame" ends 0 '^wirewatch: 0 frames judged, 1 of others heard, .* 0 violations' of_lab stranger
check "frames after the watch are not judged" ends 0 '^wirewatch: 0 frames judged, 0 of others heard' of_lab afterwards
check "a script that fails by itself keeps its status" ends 3 "$forbidden" of_lab own_status
check "missed frames are counted, and are no violations" ends 0 \
    '^wirewatch: [0-9]+ frames judged, .*, [1-9][0-9]* missed for want of room, 0 violations' of_lab missed
check "no watch without the program" ends 4 'no program /no/wirewatch' of_lab missing
check "no watch with nonsense" ends 4 'a dialect is W or N=SIZE, not "X"' of_lab misled

# Tests that make their hosts by themselves.
check "TwoHosts: a planted frame makes the program fail" ends 1 "$forbidden" env EMX_WATCH="$watch/wirewatch" "$plant"
check "TwoHosts: a planted frame of a foreign host is not judged" ends 0 '' env EMX_WATCH="$watch/wirewatch" "$plant" foreign
check "TwoHosts: a planted frame is not judged without EMX_WATCH" ends 0 '' env -u EMX_WATCH "$plant"
check "TwoHosts: no watch without the program" ends 2 'EMX_WATCH=/no/wirewatch' env EMX_WATCH=/no/wirewatch "$plant"
printf '%s\n' '#!/bin/sh' 'echo watching' 'read -r _' 'echo "FORBIDDEN: planted"' 'exit 1' >"$work/bad_watcher"
chmod +x "$work/bad_watcher"
check "conform_engine: a verdict against a column is a failure" ends 1 '^[1-9][0-9]* passed, 1 failed, ' \
    env EMX_OMXD="$plain/tools/omxd/omxd" EMX_WATCH="$work/bad_watcher" "$plain/tests/conform/conform_engine" \
    --config W/2hosts --filter cases_connect --jobs 1

# Captures.
check "a real MXoE peer does nothing dangerous" ends 0 '^wirewatch: [0-9]{3,} frames judged.* 0 violations' \
    "$watch/wirewatch" --dangers --pcap tests/interop/pcap/*.pcap
python3 - "$work/bad.pcap" <<'END'
import struct, sys

frame = bytes.fromhex("02000000000b" + "02000000000a" + "86df" + "ffff" + "2c050004") + bytes(40)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 256, 1))
    file.write(struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame)
END
check "a planted frame in a capture is found" ends 1 "$forbidden" "$watch/wirewatch" --pcap "$work/bad.pcap"
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Checks netlab itself: hosts see each other, loss is what was asked for, nothing is left behind.
. "$(dirname "$0")/netlab.sh"
netlab_begin "$0" "$@"
reach() {
    netlab_in "$1" ping -q -c 1 -W 2 "$(netlab_ip "$2")" >/dev/null
}

own_name() {
    [ "$(netlab_in "$1" hostname)" = "${NETLAB_NAME[$1]}" ]
}

# 2000 MXoE frames from host 1 to host 2.
send_frames() {
    netlab_in 1 python3 -c '
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.bind(("eth0", 0))
frame = bytes.fromhex((sys.argv[1] + sys.argv[2]).replace(":", "") + "86df") + bytes(46)
for i in range(2000):
    s.send(frame)' "$(netlab_mac 2)" "$(netlab_mac 1)"
}

# 30 % of 2000 is 600 with a standard deviation of 20: six of them either way.
loses_a_third() {
    netlab_loss 2 300 && send_frames || return
    local lost
    lost=$(netlab_lost 2)
    echo "lost $lost of 2000 at 300 per mille"
    [ "$lost" -gt 480 ] && [ "$lost" -lt 720 ]
}

loses_nothing() {
    local before
    before=$(netlab_lost 2)
    netlab_loss 2 0 && send_frames && [ "$(netlab_lost 2)" = "$before" ]
}

netlab_make 2 9000 || exit 1
check "two hosts reach each other" reach 1 2
check "a host has a name of its own" own_name 2
check "loss at the rate asked for" loses_a_third
check "no loss after rate 0" loses_nothing
check "IP passes the loss program" netlab_loss 2 1000
check "IP passes the loss program" reach 1 2
check "MTU changes" netlab_mtu 1500
check "still reachable" reach 2 1
names=("${NETLAB_NS[@]}")
NETLAB_PREFIX=${NETLAB_PREFIX}x
netlab_make 3 1500 || exit 1
check "three hosts on a switch" reach 1 3
check "three hosts on a switch" reach 3 2
names+=("${NETLAB_NS[@]}" "$NETLAB_SWITCH")
NETLAB_NS+=("${names[@]}")
netlab_end
check_dir "$(mktemp -d)"
trap 'rm -rf "$CHECK_DIR"' EXIT
gone() {
    local ns
    for ns in "${names[@]}"; do
        ip netns list | grep -qw "$ns" && return 1
    done
    return 0
}
check "nothing is left" gone
finish

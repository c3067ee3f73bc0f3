#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The examples of docs/examples that speak MX itself, between two hosts and within one.
#
#   tests/netns/examples.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/examples.sh" "$@"
. tests/support/traffic.sh
examples=$plain/docs/examples

pingpong() { # BYTES
    local server status=0
    netlab_bg 1 "$NETLAB_TMP/server" timeout $hung "$examples/mx_pingpong"
    server=$NETLAB_PID
    says "^$1 bytes: [0-9.]+ us$" netlab_in 2 timeout $hung "$examples/mx_pingpong" "${NETLAB_NAME[1]}:0" "$1" || status=1
    wait "$server" && says "^$1 bytes: " cat "$NETLAB_TMP/server" && return $status
}

# Processes on these hosts; the first one has the sum of all numbers in the end.
ring() { # HOST...
    local host i=0 status=0 boards=() ends=()
    for host in "$@"; do
        boards+=("${NETLAB_NAME[host]}:0")
    done
    for host in "$@"; do
        netlab_bg "$host" "$NETLAB_TMP/ring$i" timeout $hung "$examples/mx_ring" $i "${boards[@]}"
        ends+=("$NETLAB_PID")
        i=$((i + 1))
    done
    for i in "${ends[@]}"; do
        wait "$i" || status=1
    done
    says "^0 of $#: $(($# * ($# - 1) / 2))$" cat "$NETLAB_TMP"/ring* && return $status
}

netlab_make 2 9000 N=9000 || exit 1
agents eth0 eth0 && met 1 2 || exit 1
check 'a ping-pong of nothing' pingpong 0
check 'a ping-pong of 100,000 bytes' pingpong 100000
check 'a ring of two' ring 1 2
check 'a ring of five on two hosts' ring 1 2 1 2 2
check 'a ring without numbers is refused' refuses '^usage: mx_ring NUMBER BOARD' "$examples/mx_ring"
finish

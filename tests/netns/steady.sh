#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# EMP's promises of a host that communicates hold over the engine: nothing is allocated for messages once all is warm, and the number of
# messages for an acknowledgement is the receiver's choice.
#
#   tests/netns/steady.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/steady.sh" "$@"
. tests/support/traffic.sh
steady=$plain/tests/netns/steady

# Server and client each count, and tell.
allocates_nothing() { # ROUNDS
    local server status=0
    netlab_bg 1 "$NETLAB_TMP/server" timeout $hung "$steady"
    server=$NETLAB_PID
    says '^at the start: [1-9][0-9]* allocations
^bytes 4096: 0 allocations
^bytes 1048576: 0 allocations' netlab_in 2 timeout $hung "$steady" "${NETLAB_NAME[1]}:0" "$1" || status=1
    wait "$server" || status=1
    cat "$NETLAB_TMP/server"
    grep -q '^bytes 1048576: 0 allocations' "$NETLAB_TMP/server" && return $status
}

# acks NUMBER: explicit acks of a stream of 2000 messages to a receiver that may take so many before it sends one
acks() {
    tool 2 omx_counters -c >/dev/null && OMX_NOTACKED_MAX=$1 messages 1 2 -U --stretch -N 2000 -W 1 -S 64 -E 65 >"$said" 2>&1 ||
        { cat "$said"; return 1; }
    tool 2 omx_counters -q | sed -n 's/^ *[0-9]*: *\([0-9]*\) explicit acks sent/\1/p'
}

# Three stretches of 2000; the window of the sender, 32 frames, asks for one in sixteen at least.
fewer_with_more() {
    local number sent least=1000000
    for number in 1 3 8; do
        sent=$(acks $number) || { echo "$sent"; return 1; }
        echo "an ack for $number messages: $sent acks"
        [ "${sent:-0}" -gt 0 ] && [ "$sent" -lt "$least" ] || return 1
        least=$sent
    done
}

netlab_make 2 9000 N=9000 || exit 1
agents eth0:N=9000 eth0:N=9000 || exit 1
check 'messages allocate nothing after the warm-up' allocates_nothing 20
check 'fewer acknowledgements for more messages each' fewer_with_more
finish

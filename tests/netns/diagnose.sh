#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Each common misconfiguration, made between namespaces with real traffic: omx_counters says what is wrong
# and what to do, on the host that can know, and nothing of it where all is right.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/diagnose.sh" "$@"
. tests/support/traffic.sh

# diagnosed HOST PATTERN: omx_counters there has a diagnosis of that beginning and shape
diagnosed() { says "^diagnosis: $2" tool "$1" omx_counters; }
# silent HOST [WORD]: no diagnosis there, or none of that kind
silent() { says . tool "$1" omx_counters && ! grep -q -- "^diagnosis: ${2:-}" "$said"; }

# begun LENGTH: a message of that length from host 1 to host 2, which need not arrive, until "begun" is over
begun() {
    server 2 || return
    netlab_bg 1 "$NETLAB_TMP/client" "$tools/omx_perf" -d "$(netlab_mac 2)" --patience $hung -y -P 0 -S "$1" -E $(($1 + 1)) -N 2
    CLIENT=$NETLAB_PID
}
over() {
    netlab_stop "$CLIENT"
    netlab_stop "$SERVER"
}

all_well() {
    messages 1 2 -V -S 0 -E 100000 -M 16 -N 50 && silent 1 && silent 2
}

# differing BOARD-1 BOARD-2 LENGTH HOST PATTERN: messages of that length from 1 to 2 draw it on that host.
differing() {
    agents "$1" "$2" && begun "$3" && until_ok $hung diagnosed "$4" "$5"
    local status=$?
    over
    return $status
}

# Boards of different dialects, that the extension lets exchange messages of every length.
joined() {
    agents "$1" "$2" && messages 1 2 -V -S 0 -E 1000001 -M 4 -N 5
}

# A program hears that a stranger speaks another dialect, and its message fails.
told() {
    agents "$1" "$2" && begun 1000 && tells "$NETLAB_TMP/client" "$3" "$CLIENT" && until_ok $hung lab_ended "$CLIENT"
    local status=$?
    over
    return $status
}

narrow_bridge() {
    agents eth0:N=9000 eth0:N=9000 && ip -n "$NETLAB_SWITCH" link set p2 mtu 1500 && begun 1000000 &&
        until_ok $hung diagnosed 2 'large messages do not arrive: [0-9]+ pull requests .*frames of 8986 bytes do not get through: raise the MTU' &&
        silent 1 MTU
    local status=$?
    over
    ip -n "$NETLAB_SWITCH" link set p2 mtu 9000
    return $status
}

# Large messages arrive, though requests for them are repeated.
losses() {
    agents eth0:N=9000 eth0:N=9000 && netlab_loss 1 50 && messages 1 2 -S 1000000 -E 1000001 -N 20 && netlab_loss_off 1 &&
        silent 2 large && silent 1 large && grep -qE '^031: +[0-9]{2,} pull requests repeated' "$said"
}

closed_table() {
    echo "$(netlab_mac 3) node3:0" >"$NETLAB_TMP/list"
    agents eth0:N=9000 "eth0:N=9000 --peers $NETLAB_TMP/list" && begun 10 &&
        until_ok $hung diagnosed 2 'peer table disagreement: [0-9]+ frames .* not in the peer table .* complete .*omx_init_peers ADDRESS NAME' &&
        until_ok $hung diagnosed 1 'no answer: [0-9]+ connect requests .*its peer table is complete and lacks this board'
    local status=$?
    over
    return $status
}

# Two boards of one address: which of them an answer reaches depends on who spoke last.
same_address() {
    local ns=${NETLAB_NS[3]} try servers=()
    ip -n "$ns" link set eth0 down && ip -n "$ns" link set eth0 address "$(netlab_mac 2)" && ip -n "$ns" link set eth0 up
    netlab_carrier && agents eth0:N=9000 eth0:N=9000 eth0:N=9000 || return
    for ((try = 0; try < 30; try++)); do
        netlab_bg 1 "$NETLAB_TMP/server" timeout 5 "$tools/omx_perf" -y
        servers=("$NETLAB_PID")
        netlab_bg 1 "$NETLAB_TMP/server" timeout 5 "$tools/omx_perf" -y -e 1
        servers+=("$NETLAB_PID")
        netlab_bg 2 "$NETLAB_TMP/client2" timeout 3 "$tools/omx_perf" -d "$(netlab_mac 1)" -y -P 0 -S 0 -E 1 -N 10000 -e 5
        servers+=("$NETLAB_PID")
        netlab_in 3 timeout 3 "$tools/omx_perf" -d "$(netlab_mac 1)" -y -P 0 -S 0 -E 1 -N 10000 -r 1 -e 5 >"$NETLAB_TMP/client3" 2>&1
        for pid in "${servers[@]}"; do
            netlab_stop "$pid"
        done
        diagnosed 2 'duplicate MAC: .* has the address of eth0' && break
        diagnosed 3 'duplicate MAC: .* has the address of eth0' && break
    done
    [ $try -lt 30 ] && silent 1 duplicate
}

# The lines that scripts read, beside the explanations: numbers as ever.
explained() {
    tool 2 omx_counters >"$NETLAB_TMP/shown" && tool 2 omx_counters -q >"$NETLAB_TMP/quiet" || return
    cat "$NETLAB_TMP/shown"
    grep -A 1 'drop: medium of the other dialect$' "$NETLAB_TMP/shown" | grep -q '^ *(its sender is set to the other of W and N)$' || return
    # Beacons come meanwhile.
    diff <(grep '^[0-9]' "$NETLAB_TMP/shown" | grep -v 'raw frames') <(grep -v 'raw frames' "$NETLAB_TMP/quiet") || return
    ln -sf "$tools/omx_counters" "$NETLAB_TMP/mx_counters"
    ! netlab_in 2 "$NETLAB_TMP/mx_counters" | grep -vE '^ *[^:]+(: [^:]+)?: [0-9]+ \((0|0x[0-9a-f]+)\)$' || return
    ! tool 2 omx_counters -a -v | sed '/^$/,$d' | grep -vE '^[0-9]{3}: +[0-9]+ .+: .+'
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3" NETLAB_DIALECTS="W N=9000 N=1500"
netlab_make 3 9000 || exit 1
dialect='dialect mismatch: [0-9]+ frames? of dialect'
agents eth0:N=9000 eth0:N=9000
check "a good network: no diagnosis" all_well
check "fragments of N at W" differing eth0:N=9000 eth0:W 1000 2 "$dialect N came here, where this board speaks W; .*EMX_BOARDS=eth0:W"
check "the drop is explained, and the numbers stay" explained
check "fragments of W at N" differing eth0:W eth0:N=9000 1000 2 "$dialect W came here, where this board speaks N=9000; .*EMX_BOARDS=eth0:N=9000"
EMX_EXTENSION=0 check "a large message of N to W" differing eth0:N=9000 eth0:W 1000000 1 "$dialect W came here"
EMX_EXTENSION=0 check "a large message of W to N" differing eth0:W eth0:N=9000 1000000 1 "$dialect N came here"
sizes='MTU mismatch: [0-9]+ frames cut otherwise than here .* N=SIZE is not this board.s'
check "fragments of N=1500 at N=9000" differing eth0:N=1500 eth0:N=9000 4000 2 "$sizes N=9000"
check "fragments of N=9000 at N=1500" differing eth0:N=9000 eth0:N=1500 4000 2 "$sizes N=1500"
EMX_EXTENSION=0 check "a large message of N=1500 to N=9000" differing eth0:N=1500 eth0:N=9000 1000000 1 "$sizes N=1500"
EMX_EXTENSION=0 check "a large message of N=9000 to N=1500" differing eth0:N=9000 eth0:N=1500 1000000 2 "$sizes N=1500"
check "messages from W to N by the extension" joined eth0:W eth0:N=9000
check "messages from N to W by the extension" joined eth0:N=1500 eth0:W
dialect='messages longer than 128 bytes fail. Give both the same dialect .*omx_init_peers'
EMX_EXTENSION=0 check "a program at W is told of N" told eth0:W eth0:N=9000 "speaks dialect N, and this one speaks W to it: $dialect [0-9a-f]+ NAME N=SIZE"
EMX_EXTENSION=0 check "a program at N is told of W" told eth0:N=9000 eth0:W "speaks dialect W, and this one speaks N to it: $dialect [0-9a-f]+ NAME W"
check "a bridge of a smaller MTU" narrow_bridge
check "lost frames are no mismatch" losses
check "a peer table that lacks a board" closed_table
netlab_unwatch # who speaks for two boards at a time is not judged
check "a MAC address that two boards have" same_address
finish

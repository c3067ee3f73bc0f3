#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Peers as tables have them: some that speak another dialect than the board, what is refused of such a table, and
# three thousand, or with EMX_FULL=1 ten thousand: loaded from a list, and all at once from the wire, by beacons.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/peers.sh" "$@"
. tests/support/traffic.sh
many=3000
[ -z "${EMX_FULL:-}" ] || many=10000

list() { # list LINE...: the list of peers, a line of ADDRESS NAME [DIALECT] each
    printf '%s\n' "$@" >"$NETLAB_TMP/list"
}

# talk FROM TO: messages of every way of travelling, checked, to the server on the other host and back
talk() {
    messages "$1" "$2" -V -S 1 -E 1000000 -M 7 -N 3 -W 1
}

both_ways() {
    talk 1 "$1" && talk "$1" 1
}

all_ways() {
    local i
    for i in 2 3 4; do
        both_ways $i || { echo "to and from host $i"; return 1; }
    done
}

nothing_dropped() {
    local i
    for i in 1 2 3 4; do
        says . tool $i omx_counters || return
        # A receiver that gets no processor is diagnosed, too: nothing is lost thereby.
        ! grep -E '^diagnosis|other dialect|bad medium|bad pull' "$said" | grep -v '^diagnosis: no acknowledgement' ||
            { echo "on host $i"; return 1; }
    done
}

tells_dialects() {
    says "^$(netlab_mac 3) node3:0 .dialect N=9000.\$
^$(netlab_mac 4) node4:0 .dialect N=1500.\$
^$(netlab_mac 1) node1:0\$" shown 1
}

checks_path() { # omx_check measures the other host by its dialect
    says "dialect  *$2, as here" netlab_in 1 timeout $hung "$tools/omx_check" -p 2 -N 50 "$(netlab_mac "$1")"
}

wrong_list() { # wrong_list PATTERN LINE...: omxd does not start with it
    local pattern=$1
    shift
    list "$@"
    refuses "$pattern" netlab_in 1 timeout $hung "$EMX_OMXD" --foreground --config /nonexistent --boards eth0:W --peers "$NETLAB_TMP/list"
}

while_open() { # what an endpoint has begun to speak stays
    local status=0
    server 1 || return
    refuses 'endpoints are open on eth0' tool 1 omx_init_peers "$(netlab_mac 3)" node3:0 N=1500 || status=1
    refuses 'endpoints are open on eth0' tool 1 omx_init_peers -c || status=1
    # The same once more changes nothing.
    tool 1 omx_init_peers "$(netlab_mac 3)" node3:0 N=9000 || status=1
    netlab_stop "$SERVER"
    return $status
}

# From now on to host 2 alone: the board that the table forgot speaks N=9000, which W is not.
by_command() {
    tool 1 omx_init_peers -c && shown 1 && ! shown 1 | grep -q dialect &&
        tool 1 omx_init_peers -v "$(netlab_mac 3)" other:0 N=9000 && both_ways 3
}

# ---- very many

far() { # far PREFIX: that many lines of boards that are nowhere
    awk -v n=$many -v prefix="$1" 'BEGIN { for (i = 1; i <= n; i++) printf "02:00:00:01:%02x:%02x %s%d:0\n", i / 256, i % 256, prefix, i }'
}

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

# The last of the list is the one that is there.
long_list() {
    local begin loaded memory
    { far far && echo "$(netlab_mac 2) last:0"; } >"$NETLAB_TMP/list" && begin=$(milliseconds) &&
        agent 1 eth0:N=9000 --peers "$NETLAB_TMP/list" && loaded=$(milliseconds) &&
        says "Peer table of board #0: $((many + 2)) of $((many + 2)), complete
 far$many:0\$" tool 1 omx_info >/dev/null && memory=$(awk '/^VmRSS/ { print $2 }' "/proc/${AGENTS[1]}/status") || return
    echo "read at start in $((loaded - begin)) ms, omxd has $memory KiB"
    [ "$memory" -lt 32768 ]
}

by_last_name() {
    messages 1 2 -d last:0 -S 64 -E 65 -N 10
}

long_list_by_tool() {
    far other >"$NETLAB_TMP/list" && netlab_in 1 timeout $hung "$tools/omx_init_peers" "$NETLAB_TMP/list" &&
        shown 1 | grep -qx "$(printf '02:00:00:01:%02x:%02x' $((many / 256)) $((many % 256))) other$many:0"
}

# begin_swarm FIRST-ADDRESS COUNT NAME SERIAL: boards on host 3, which say their names until end_swarm; that fails if one
# was never asked.
begin_swarm() {
    ip netns exec "${NETLAB_NS[3]}" python3 tests/netns/swarm.py eth0 "$1" "$2" "$3" "$4" $((2 * hung)) >"$NETLAB_TMP/swarm.said" 2>&1 &
    swarm=$!
}
end_swarm() {
    local status=0
    kill $swarm
    wait $swarm || status=1
    cat "$NETLAB_TMP/swarm.said"
    return $status
}
# swarm_named FIRST-ADDRESS COUNT NAME SERIAL BOARDS: the same, until so many boards are called so.
swarm_named() {
    local status=0
    begin_swarm "${@:1:4}"
    named "$3" "$5" || status=1
    end_swarm && return $status
}

# A storm of beacons, while two hosts go on with their messages, and the table can be asked while it fills. That a
# storm draws a bounded number of questions in a second is proved in virtual time (tests/unit/core_beacon.cpp).
storm() {
    local status=0
    begin_swarm 02:00:00:02:00:00 $many ghost 7
    talk 1 2 && tool 1 omx_info -q && named ghost $many || status=1
    end_swarm && return $status
}

are_called() { [ "$(shown 1 | grep -c " $1[0-9]*:0\$")" = "$2" ]; }
named() { until_ok $hung are_called "$@"; } # named PREFIX COUNT: so many boards are called so, at last

# 500 restart under other names, 200 come with other addresses, the others are gone and stay.
changes() {
    local status=0
    swarm_named 02:00:00:02:00:00 500 spirit 8 500 && named ghost $((many - 500)) || return
    begin_swarm 02:00:00:03:00:00 200 spirit 9
    until_ok $hung have_moved 200 || status=1
    end_swarm && [ $status = 0 ] && named spirit 500 && says "^02:00:00:03:00:c7 spirit199:0\$
^02:00:00:02:00:c7 <unknown>\$
^02:00:00:02:00:c8 spirit200:0\$
^$(netlab_mac 2) " shown 1 >/dev/null
}
have_moved() { [ "$(shown 1 | grep -c '^02:00:00:03:00:.. spirit')" = "$1" ]; }

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3 node4" NETLAB_DIALECTS="W N=9000 N=1500" \
    NETLAB_WATCH_OPTIONS="--spare 255" # the boards of a swarm are no hosts of ours
for i in 1 2 3 4; do
    NETLAB_WATCH_OPTIONS+=" --only $(netlab_mac $i)"
done
netlab_make 4 9000 || exit 1

check "a list with a dialect that nobody knows" wrong_list 'line 1: write a line as MAC NAME, .* W or N=SIZE behind it' "$(netlab_mac 3) node3:0 M"
check "a list with N without its size" wrong_list 'line 1: write a line as MAC NAME' "$(netlab_mac 3) node3:0 N"
check "a list that says two dialects of one board" wrong_list "line 3: $(netlab_mac 3) speaks N=1500 here and N=9000 in line 1: a board speaks one dialect" \
    "$(netlab_mac 3) node3:0 N=9000" "$(netlab_mac 4) node4:0" "$(netlab_mac 3) node3:0 N=1500"
check "a list with a dialect too large for the interface" wrong_list 'line 1: dialect N=60000 needs an MTU of 59986, .* raise it \(ip link set eth0 mtu 59986\)' \
    "$(netlab_mac 3) node3:0 N=60000"
check "a list that gives this host's board another dialect" wrong_list \
    'line 1: this is eth0 of this host, which speaks W: configure it as eth0:N=1500, or take the dialect off' "$(netlab_mac 1) node1:0 N=1500"

list "$(netlab_mac 1) node1:0 W" "$(netlab_mac 2) node2:0" "$(netlab_mac 3) node3:0 N=9000 # another cluster" "$(netlab_mac 4) node4:0 N=1500"
check "agents start, one with peers of three dialects" agents "eth0:W --peers $NETLAB_TMP/list" eth0:W eth0:N=9000 eth0:N=1500
check "omx_info shows the peers' dialects" tells_dialects
EMX_EXTENSION=0 check "messages to and from all, by their dialects" all_ways
check "messages to and from all, by the extension where it may" all_ways
check "nothing was dropped on the way" nothing_dropped
check "omx_check of one of N=9000" checks_path 3 N=9000
check "omx_check of one of N=1500" checks_path 4 N=1500
check "dialects stay while endpoints are open" while_open
check "dialects by command" by_command
stop_agents

CHECK_TELLS=1
check "a list of $many" long_list
list "$(netlab_mac 1) node1:0"
check "agent of the last of them" agent 2 eth0:N=9000 --peers "$NETLAB_TMP/list"
check "messages to the last of them, by its name" by_last_name
check "$many names by omx_init_peers" long_list_by_tool
check "a table for $many" agent 1 eth0:N=9000 --table $((many + 1000))
check "a storm of beacons of $many" storm
check "boards that restart under other names, or come with other addresses" changes
finish

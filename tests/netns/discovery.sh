#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Three hosts that nobody has told of each other: they meet by beacons, reach each other by name, and
# follow when one is renamed, restarts, comes with another address, or wants to know only some.
# The time that it takes is judged in virtual time (tests/unit/core_beacon.cpp).
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/discovery.sh" "$@"
. tests/support/traffic.sh
export EMX_BOARDS=eth0:N=1500

knows() { shown "$1" | grep -qx -- "$2"; } # HOST PATTERN: its table has such a line
knows_not() { ! knows "$@" && [ -n "$(shown "$1")" ]; }
comes() { until_ok $hung knows "$@"; }

all_know_all() {
    local i j
    for i in 1 2 3; do
        for j in 1 2 3; do
            comes $i "$(netlab_mac $j) node$j:0" || { echo "host $i does not know node$j"; return 1; }
        done
    done
}

by_name() { # by_name FROM TO: messages to a name
    messages "$1" "$2" -d "node$2:0" -S 64 -E 65 -N 10
}

# Programs start the agents, the server's first; the client's knows nobody when it is asked for the name.
first_programs() {
    local status
    server 2 || return
    netlab_in 1 timeout $hung "$tools/omx_perf" -d node2 --patience 100 -y -S 64 -E 65 -N 10
    status=$?
    netlab_stop "$SERVER"
    return $status
}

set_address() { # HOST ADDRESS
    ip -n "${NETLAB_NS[$1]}" link set eth0 down && ip -n "${NETLAB_NS[$1]}" link set eth0 address "$2" &&
        ip -n "${NETLAB_NS[$1]}" link set eth0 up
}

# The address of before is no longer called so.
with_new_address() {
    set_address 3 02:00:00:00:77:03 && comes 1 "02:00:00:00:77:03 node3:0" &&
        until_ok $hung knows_not 1 "$(netlab_mac 3) node3:0"
}

renamed() {
    tool 2 omx_hostname -n second:7 && comes 1 "$(netlab_mac 2) second:7" && comes 3 "$(netlab_mac 2) second:7"
}

# While it is away the others keep it; what it was called last time does not matter when it is back.
restarted() {
    stop_agents 2
    knows 1 "$(netlab_mac 2) .*" && agent 2 "$EMX_BOARDS" && comes 1 "$(netlab_mac 2) node2:0" && comes 2 "$(netlab_mac 1) node1:0"
}

# Host 1 knows host 2 only, and says nothing to others. It heard host 3 when that asked host 2 for its name.
closed() {
    echo "$(netlab_mac 2) listed:0" >"$NETLAB_TMP/list"
    agents "$EMX_BOARDS --peers $NETLAB_TMP/list" "$EMX_BOARDS" "$EMX_BOARDS" && comes 2 "$(netlab_mac 3) node3:0" &&
        comes 2 "$(netlab_mac 1) node1:0" && comes 1 "$(netlab_mac 2) listed:0" &&
        knows_not 1 "$(netlab_mac 3) .*" && knows_not 3 "$(netlab_mac 1) .*" && by_name 2 1
}

# A thousand boards fit in by default; then the table is what omxd was told.
large_table() {
    agent 1 "$EMX_BOARDS" --table 10000 && says 'Peer table of board #0: 1 of 10000, open' tool 1 omx_info &&
        seq 5000 | awk '{ printf "02:00:00:01:%02x:%02x far%d:0\n", $1 / 256, $1 % 256, $1 }' >"$NETLAB_TMP/list" &&
        agent 1 "$EMX_BOARDS" --peers "$NETLAB_TMP/list" &&
        says 'Peer table of board #0: 5001 of 5001, complete
 far5000:0$' tool 1 omx_info
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3" NETLAB_DIALECTS=N=1500
netlab_make 3 1500 || exit 1
check "a first program reaches a host by its name" first_programs
check "agents" agents "$EMX_BOARDS" "$EMX_BOARDS" "$EMX_BOARDS"
check "three hosts know each other" all_know_all
check "messages to a name" by_name 1 2
check "messages to another name" by_name 3 1
check "a host that is renamed" renamed
check "a host that restarts" restarted
check "a host with another address" with_new_address
stop_agents
set_address 3 "$(netlab_mac 3)" || exit 1
check "a closed table" closed
stop_agents
check "a table for more" large_table
finish

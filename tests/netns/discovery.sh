#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Three hosts that nobody has told of each other: they meet by beacons, reach each other by name, and
# follow when one is renamed, restarts, comes with another address, or wants to know only some.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/discovery.sh" "$@"
. tests/support/expect.sh
tools=${EMX_BUILD:-$PWD/build}/plain/tools
export EMX_OMXD=$tools/omxd/omxd EMX_BOARDS=eth0:N=1500

# agent HOST [OPTION...]: starts omxd there, once one that a program started has ended
agent() {
    local host=$1 end=$((SECONDS + 10)) log=$NETLAB_TMP/agent$1
    shift
    until grep -qs ' serving ' "$log.now"; do
        if [ -z "$NETLAB_PID" ] || ! kill -0 "$NETLAB_PID" 2>/dev/null; then
            [ $SECONDS -lt $end ] || { cat "$log.now"; return 1; }
            netlab_bg "$host" "$log.now" "$EMX_OMXD" --foreground --config /nonexistent --boards "$EMX_BOARDS" "$@"
        fi
        sleep 0.05 # tidy-allow(sleep): polls the start of the agent, at most 10 s
    done
    AGENTS[host]=$NETLAB_PID
    rm "$log.now"
    NETLAB_PID=''
}

shown() { # shown HOST: its table, lines "ADDRESS NAME"
    netlab_in "$1" "$tools/omx_info" | sed -n 's/^ *[0-9]*) //p'
}

# comes SECONDS HOST PATTERN: within that time the host's table has such a line
comes() {
    local end=$((SECONDS + $1 + 1))
    until shown "$2" | grep -qx -- "$3"; do
        [ $SECONDS -lt $end ] || { shown "$2"; return 1; }
        sleep 0.05 # tidy-allow(sleep): polls a table, for a limited time
    done
}

knows_not() { # knows_not HOST PATTERN
    shown "$1" >"$NETLAB_TMP/table"
    cat "$NETLAB_TMP/table"
    [ -s "$NETLAB_TMP/table" ] && ! grep -qx -- "$2" "$NETLAB_TMP/table"
}

all_know_all() {
    local i j
    for i in 1 2 3; do
        for j in 1 2 3; do
            comes 2 $i "$(netlab_mac $j) node$j:0" || { echo "host $i does not know node$j"; return 1; }
        done
    done
}

by_name() { # by_name FROM TO: messages to a name
    netlab_bg "$2" "$NETLAB_TMP/server" timeout 30 "$tools/omx_perf" -y
    local server=$NETLAB_PID status
    netlab_in "$1" timeout 20 "$tools/omx_perf" -d "node$2:0" -y -S 64 -E 65 -N 10
    status=$?
    netlab_stop "$server"
    NETLAB_PID=''
    cat "$NETLAB_TMP/server"
    return $status
}

# Programs start the agents, the server's first; the client's knows nobody when it is asked for the name.
first_programs() {
    netlab_bg 2 "$NETLAB_TMP/server" timeout 30 "$tools/omx_perf" -y
    local server=$NETLAB_PID status end=$((SECONDS + 10))
    until netlab_in 2 "$tools/omx_endpoint_info" 2>/dev/null | grep -q omx_perf; do
        [ $SECONDS -lt $end ] || return
        sleep 0.05 # tidy-allow(sleep): polls for the server's endpoint, at most 10 s
    done
    netlab_in 1 timeout 20 "$tools/omx_perf" -d node2 -y -S 64 -E 65 -N 10
    status=$?
    netlab_stop "$server"
    NETLAB_PID=''
    cat "$NETLAB_TMP/server"
    return $status
}

with_new_address() {
    netlab_in 3 ip link set eth0 down && netlab_in 3 ip link set eth0 address 02:00:00:00:77:03 &&
        netlab_in 3 ip link set eth0 up && comes 10 1 "02:00:00:00:77:03 node3:0" || return
    # The address of before is no longer called so.
    local end=$((SECONDS + 10))
    while shown 1 | grep -qx "$(netlab_mac 3) node3:0"; do
        [ $SECONDS -lt $end ] || { shown 1; return 1; }
        sleep 0.05 # tidy-allow(sleep): polls a table, at most 10 s
    done
}

renamed() {
    netlab_in 2 "$tools/omx_hostname" -n second:7 && comes 7 1 "$(netlab_mac 2) second:7" && comes 7 3 "$(netlab_mac 2) second:7"
}

# While it is away the others keep it; what it was called last time does not matter when it is back.
restarted() {
    netlab_stop "${AGENTS[2]}"
    shown 1 | grep -q "^$(netlab_mac 2) " && agent 2 && comes 7 1 "$(netlab_mac 2) node2:0" && comes 3 2 "$(netlab_mac 1) node1:0"
}

# Host 1 knows host 2 only, and says nothing to others.
closed() {
    echo "$(netlab_mac 2) listed:0" >"$NETLAB_TMP/list"
    agent 1 --peers "$NETLAB_TMP/list" && agent 2 && agent 3 && comes 3 2 "$(netlab_mac 3) node3:0" &&
        comes 7 2 "$(netlab_mac 1) node1:0" && comes 1 1 "$(netlab_mac 2) listed:0" &&
        knows_not 1 "$(netlab_mac 3) .*" && knows_not 3 "$(netlab_mac 1) .*" && by_name 2 1
}

# A thousand boards fit in by default; then the table is what omxd was told.
large_table() {
    agent 1 --table 10000 && netlab_in 1 "$tools/omx_info" | grep -q 'Peer table of board #0: 1 of 10000, open' &&
        seq 5000 | awk '{ printf "02:00:00:01:%02x:%02x far%d:0\n", $1 / 256, $1 % 256, $1 }' >"$NETLAB_TMP/list" &&
        netlab_stop "${AGENTS[1]}" && agent 1 --peers "$NETLAB_TMP/list" && netlab_in 1 "$tools/omx_info" >"$NETLAB_TMP/info" &&
        grep 'Peer table' "$NETLAB_TMP/info" && grep -q 'Peer table of board #0: 5001 of 5001, complete' "$NETLAB_TMP/info" &&
        grep -q ' far5000:0$' "$NETLAB_TMP/info"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3" NETLAB_WATCH=${tools%/*}/tests/watch/wirewatch NETLAB_DIALECTS=N=1500
netlab_make 3 1500 || exit 1
expect "a first program reaches a host by its name" first_programs
NETLAB_PID=''
for i in 1 2 3; do
    expect "agent of host $i" agent $i
done
expect "three hosts know each other" all_know_all
expect "messages to a name" by_name 1 2
expect "messages to another name" by_name 3 1
expect "a host that is renamed" renamed
expect "a host that restarts" restarted
expect "a host with another address" with_new_address
stop_agents
netlab_in 3 ip link set eth0 down && netlab_in 3 ip link set eth0 address "$(netlab_mac 3)" && netlab_in 3 ip link set eth0 up || exit 1
expect "a closed table" closed
stop_agents
expect "a table for more" large_table
stop_agents
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Peers as tables have them: some that speak another dialect than the board, what is refused of such a table, and
# ten thousand: loaded from a list, and all at once from the wire, by beacons.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/peers.sh" "$@"
. tests/support/expect.sh
tools=${EMX_BUILD:-$PWD/build}/plain/tools
export EMX_OMXD=$tools/omxd/omxd
boards=(- eth0:W eth0:W eth0:N=9000 eth0:N=1500)
many=10000

# agent HOST [OPTION...]: omxd there, with the host's board, and waits until it serves
agent() {
    local host=$1 end=$((SECONDS + 10)) log=$NETLAB_TMP/agent$1
    shift
    netlab_bg "$host" "$log" "$EMX_OMXD" --foreground --config /nonexistent --boards "${boards[host]}" "$@"
    AGENTS[host]=$NETLAB_PID
    until grep -qs ' serving ' "$log"; do
        if ! kill -0 "$NETLAB_PID" 2>/dev/null || [ $SECONDS -ge $end ]; then
            cat "$log"
            return 1
        fi
        sleep 0.02 # tidy-allow(sleep): polls the start of the agent, at most 10 s
    done
    NETLAB_PID=''
}

list() { # list LINE...: the list of peers, a line of ADDRESS NAME [DIALECT] each
    printf '%s\n' "$@" >"$NETLAB_TMP/list"
}

# talk FROM TO: messages of every way of travelling, checked, to the server on the other host and back
talk() {
    netlab_bg "$2" "$NETLAB_TMP/server" timeout 60 "$tools/omx_perf" -y
    local server=$NETLAB_PID status
    netlab_in "$1" timeout 50 "$tools/omx_perf" -d "$(netlab_mac "$2")" -y -V -S 1 -E 1000000 -M 7 -N 3 -W 1 -P 0
    status=$?
    netlab_stop "$server"
    NETLAB_PID=''
    cat "$NETLAB_TMP/server"
    return $status
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
        netlab_in $i "$tools/omx_counters" >"$NETLAB_TMP/counters" || return
        ! grep -E '^diagnosis|other dialect|bad medium|bad pull|misplaced' "$NETLAB_TMP/counters" || { echo "on host $i"; return 1; }
    done
}

shown() { # shown HOST: its table
    netlab_in "$1" "$tools/omx_info" | sed -n 's/^ *[0-9]*) //p'
}

tells_dialects() {
    shown 1 >"$NETLAB_TMP/table"
    cat "$NETLAB_TMP/table"
    grep -qx "$(netlab_mac 3) node3:0 (dialect N=9000)" "$NETLAB_TMP/table" &&
        grep -qx "$(netlab_mac 4) node4:0 (dialect N=1500)" "$NETLAB_TMP/table" &&
        grep -qx "$(netlab_mac 1) node1:0" "$NETLAB_TMP/table"
}

checks_path() { # omx_check measures the other host by its dialect
    netlab_in 1 timeout 30 "$tools/omx_check" -p 2 -N 50 "$(netlab_mac "$1")" >"$NETLAB_TMP/path"
    cat "$NETLAB_TMP/path"
    grep -q "dialect  *$2, as here" "$NETLAB_TMP/path"
}

refuses() { # refuses PATTERN HOST COMMAND...
    local pattern=$1 host=$2
    shift 2
    ! netlab_in "$host" timeout 10 "$@" >"$NETLAB_TMP/refusal" 2>&1 || { cat "$NETLAB_TMP/refusal"; return 1; }
    cat "$NETLAB_TMP/refusal"
    grep -qE -- "$pattern" "$NETLAB_TMP/refusal"
}

wrong_list() { # wrong_list PATTERN LINE...: omxd does not start with it
    local pattern=$1
    shift
    list "$@"
    refuses "$pattern" 1 "$EMX_OMXD" --foreground --config /nonexistent --boards eth0:W --peers "$NETLAB_TMP/list"
}

while_open() { # what an endpoint has begun to speak stays
    netlab_bg 1 "$NETLAB_TMP/server" timeout 30 "$tools/omx_perf" -y
    local server=$NETLAB_PID end=$((SECONDS + 10)) status=0
    until netlab_in 1 "$tools/omx_endpoint_info" 2>/dev/null | grep -q omx_perf; do
        [ $SECONDS -lt $end ] || return
        sleep 0.05 # tidy-allow(sleep): polls for the server's endpoint, at most 10 s
    done
    refuses 'endpoints are open on eth0' 1 "$tools/omx_init_peers" "$(netlab_mac 3)" node3:0 N=1500 || status=1
    refuses 'endpoints are open on eth0' 1 "$tools/omx_init_peers" -c || status=1
    # The same once more changes nothing.
    netlab_in 1 "$tools/omx_init_peers" "$(netlab_mac 3)" node3:0 N=9000 || status=1
    netlab_stop "$server"
    NETLAB_PID=''
    return $status
}

# From now on to host 2 alone: the board that the table forgot speaks N=9000, which W is not.
by_command() {
    netlab_in 1 "$tools/omx_init_peers" -c && shown 1 && ! shown 1 | grep -q dialect &&
        netlab_in 1 "$tools/omx_init_peers" -v "$(netlab_mac 3)" other:0 N=9000 && both_ways 3
}

# ---- ten thousand

far() { # far PREFIX: that many lines of boards that are nowhere
    awk -v n=$many -v prefix="$1" 'BEGIN { for (i = 1; i <= n; i++) printf "02:00:00:01:%02x:%02x %s%d:0\n", i / 256, i % 256, prefix, i }'
}

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

# The last of the list is the one that is there.
long_list() {
    local begin loaded info memory
    { far far && echo "$(netlab_mac 2) last:0"; } >"$NETLAB_TMP/list" && begin=$(milliseconds) &&
        agent 1 --peers "$NETLAB_TMP/list" && loaded=$(milliseconds) && netlab_in 1 "$tools/omx_info" >"$NETLAB_TMP/info" &&
        info=$(milliseconds) && memory=$(awk '/^VmRSS/ { print $2 }' "/proc/${AGENTS[1]}/status") || return
    figures="read at start in $((loaded - begin)) ms, shown in $((info - loaded)) ms, omxd has $memory KiB"
    grep -q "Peer table of board #0: $((many + 2)) of $((many + 2)), complete" "$NETLAB_TMP/info" &&
        grep -q ' far10000:0$' "$NETLAB_TMP/info" && [ "$memory" -lt 32768 ] && [ $((loaded - begin)) -lt 5000 ]
}

by_last_name() {
    netlab_bg 2 "$NETLAB_TMP/server" timeout 30 "$tools/omx_perf" -y
    local server=$NETLAB_PID status
    netlab_in 1 timeout 20 "$tools/omx_perf" -d last:0 -y -S 64 -E 65 -N 10
    status=$?
    netlab_stop "$server"
    NETLAB_PID=''
    return $status
}

long_list_by_tool() {
    local begin
    far other >"$NETLAB_TMP/list" && begin=$(milliseconds) && netlab_in 1 timeout 60 "$tools/omx_init_peers" "$NETLAB_TMP/list" || return
    figures+=", $many given names by omx_init_peers in $(($(milliseconds) - begin)) ms"
    shown 1 | grep -qx '02:00:00:01:27:10 other10000:0'
}

# swarm FIRST-ADDRESS COUNT NAME SERIAL: boards on host 3, until all have been asked for their names
swarm() {
    netlab_in 3 timeout 70 python3 tests/netns/swarm.py eth0 "$1" "$2" "$3" "$4" 60 >"$NETLAB_TMP/swarm"
    local status=$?
    cat "$NETLAB_TMP/swarm"
    return $status
}

# A storm of beacons, while two hosts go on with their messages; the questions that it draws are counted.
storm() {
    local swarm status=0 most
    swarm 02:00:00:02:00:00 $many ghost 7 >"$NETLAB_TMP/swarm.said" 2>&1 &
    swarm=$!
    talk 1 2 >"$NETLAB_TMP/talk" 2>&1 || status=1
    asked_meanwhile || status=1
    wait $swarm || status=1
    cat "$NETLAB_TMP/swarm.said" "$NETLAB_TMP/talk"
    most=$(sed -n 's/.*, \([0-9]*\) in a second/\1/p' "$NETLAB_TMP/swarm")
    figures+=", a storm of $many beacons drew at most $most questions in a second"
    [ $status = 0 ] && [ "$most" -le 1100 ] && named ghost $many
}

# The table can be asked while it fills.
asked_meanwhile() {
    netlab_in 1 timeout 10 "$tools/omx_info" -q
}

named() { # named PREFIX COUNT: so many boards are called so, at last
    local end=$((SECONDS + 10)) count
    until count=$(shown 1 | grep -c " $1[0-9]*:0\$") && [ "$count" = "$2" ]; do
        [ $SECONDS -lt $end ] || { echo "$count are called $1, of $2"; return 1; }
        sleep 0.1 # tidy-allow(sleep): polls a table, at most 10 s
    done
}

# 500 restart under other names, 200 come with other addresses, the others are gone and stay.
changes() {
    swarm 02:00:00:02:00:00 500 spirit 8 && named spirit 500 && named ghost $((many - 500)) || return
    swarm 02:00:00:03:00:00 200 spirit 9 && named spirit 500 && shown 1 >"$NETLAB_TMP/table" || return
    grep -qx '02:00:00:03:00:c7 spirit199:0' "$NETLAB_TMP/table" && grep -qx '02:00:00:02:00:c7 <unknown>' "$NETLAB_TMP/table" &&
        grep -qx '02:00:00:02:00:c8 spirit200:0' "$NETLAB_TMP/table" && grep -qx "$(netlab_mac 2) .*" "$NETLAB_TMP/table"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3 node4" NETLAB_WATCH=${tools%/*}/tests/watch/wirewatch NETLAB_DIALECTS="W N=9000 N=1500" \
    NETLAB_WATCH_OPTIONS="--spare 255" # the boards of a swarm are no hosts of ours
for i in 1 2 3 4; do
    NETLAB_WATCH_OPTIONS+=" --only $(netlab_mac $i)"
done
netlab_make 4 9000 || exit 1
known=("$(netlab_mac 1) node1:0 W" "$(netlab_mac 2) node2:0" "$(netlab_mac 3) node3:0 N=9000 # another cluster" "$(netlab_mac 4) node4:0 N=1500")

expect "a list with a dialect that nobody knows" wrong_list 'line 1: write a line as MAC NAME, .* W or N=SIZE behind it' "$(netlab_mac 3) node3:0 M"
expect "a list with N without its size" wrong_list 'line 1: write a line as MAC NAME' "$(netlab_mac 3) node3:0 N"
expect "a list that says two dialects of one board" wrong_list "line 3: $(netlab_mac 3) speaks N=1500 here and N=9000 in line 1: a board speaks one dialect" \
    "$(netlab_mac 3) node3:0 N=9000" "$(netlab_mac 4) node4:0" "$(netlab_mac 3) node3:0 N=1500"
expect "a list with a dialect too large for the interface" wrong_list 'line 1: dialect N=60000 needs an MTU of 59986, .* raise it \(ip link set eth0 mtu 59986\)' \
    "$(netlab_mac 3) node3:0 N=60000"
expect "a list that says of this host's board what it does not speak" wrong_list \
    'line 1: this is eth0 of this host, which speaks W: configure it as eth0:N=1500, or take the dialect off' "$(netlab_mac 1) node1:0 N=1500"

list "${known[@]}"
expect "an agent whose peers speak three dialects" agent 1 --peers "$NETLAB_TMP/list"
for i in 2 3 4; do
    expect "agent of host $i" agent $i
done
expect "omx_info tells them" tells_dialects
export EMX_EXTENSION=0
expect "messages to and from all, by their dialects" all_ways
unset EMX_EXTENSION
expect "messages to and from all, by the extension where it may" all_ways
expect "nothing was dropped on the way" nothing_dropped
expect "omx_check of one of N=9000" checks_path 3 N=9000
expect "omx_check of one of N=1500" checks_path 4 N=1500
expect "dialects stay while endpoints are open" while_open
expect "dialects by command" by_command
stop_agents

figures=''
boards=(- eth0:N=9000 eth0:N=9000)
expect "a list of $many" long_list
list "$(netlab_mac 1) node1:0"
expect "agent of the last of them" agent 2 --peers "$NETLAB_TMP/list"
expect "messages to the last of them, by its name" by_last_name
expect "$many names by omx_init_peers" long_list_by_tool
netlab_stop "${AGENTS[1]}"
expect "a table for $many" agent 1 --table $((many + 1000))
expect "a storm of beacons of $many" storm
expect "boards that restart under other names, or come with other addresses" changes
stop_agents
echo "$many peers: $figures"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

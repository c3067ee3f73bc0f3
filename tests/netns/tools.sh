#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools between two hosts: what they print, and that messages arrive unaltered in every pattern
# and dialect, with loss, and that a killed server is noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/tools.sh" "$@"
tools=${EMX_BUILD:-$PWD/build}/plain/tools
export EMX_OMXD=$tools/omxd/omxd EMX_BOARDS=eth0:N=9000
passed=0 failed=0
out=$NETLAB_TMP/out

expect() { # expect NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$out"
    fi
}

prints() { # prints PATTERN HOST TOOL ARGUMENT...
    local pattern=$1 host=$2 tool=$3
    shift 3
    netlab_in "$host" "$tools/$tool" "$@" >"$NETLAB_TMP/text" 2>&1
    local status=$?
    cat "$NETLAB_TMP/text"
    [ $status = 0 ] && grep -qE -- "$pattern" "$NETLAB_TMP/text"
}

refuses() { # refuses PATTERN HOST TOOL ARGUMENT...: exit status 255 and that text
    local pattern=$1 host=$2 tool=$3
    shift 3
    netlab_in "$host" "$tools/$tool" "$@" >"$NETLAB_TMP/text" 2>&1
    local status=$?
    cat "$NETLAB_TMP/text"
    [ $status = 255 ] && grep -qE -- "$pattern" "$NETLAB_TMP/text"
}

perf() { # perf CLIENT-OPTION...: checked messages of some lengths against a fresh server
    netlab_bg 2 "$NETLAB_TMP/server" timeout 60 "$tools/omx_perf" -y
    local server=$NETLAB_PID status
    netlab_in 1 timeout 50 "$tools/omx_perf" -d "$(netlab_mac 2)" -y -V -P 0 -T 20 -M 16 "$@"
    status=$?
    netlab_stop "$server"
    cat "$NETLAB_TMP/server"
    return $status
}

with_loss() {
    netlab_loss 2 10 && netlab_loss 1 10 && perf -N 50 -E 100000 || return
    netlab_loss_off 1 && netlab_loss_off 2
}

# The client must not wait for ever, nor call it a success.
server_killed() {
    netlab_bg 2 "$NETLAB_TMP/server" "$tools/omx_perf" -y
    local server=$NETLAB_PID status client=$NETLAB_TMP/client
    netlab_bg 1 "$client" timeout 50 "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 65 -N 100000000 -v
    until netlab_in 1 "$tools/omx_counters" | grep -q 'small messages sent'; do
        kill -0 "$NETLAB_PID" || break
    done
    kill -9 "$server"
    wait "$NETLAB_PID"
    status=$?
    cat "$client"
    [ $status = 255 ]
}

NETLAB_NAMES="node1 node2"
netlab_make 2 9000 || exit 1
for host in 1 2; do
    netlab_bg $host "$NETLAB_TMP/omxd$host" "$EMX_OMXD" --foreground --boards "$EMX_BOARDS"
done
ln -s "$tools/omx_info" "$NETLAB_TMP/mx_info"
ln -s "$tools/omx_counters" "$NETLAB_TMP/mx_counters"

expect "omx_info shows the board" prints 'node1:0 \(board #0 name eth0 addr 02:45:4d:58:00:01\)' 1 omx_info
expect "omx_info -c shows tunables" prints '^EMX_' 1 omx_info -c
expect "omx_info refuses a board that is not there" refuses 'no board #7' 1 omx_info -b 7
expect "-h is usage, status 255" refuses '^usage: ' 1 omx_info -h
for key in 'MX Version:' 'MX Build:' 'boards installed\.' '32 endpoints per NIC, [0-9]+ NICs on the network' \
    '^=====' 'Instance #0:' 'Status:' 'Network:' 'MAC Address:' 'Product code:' 'Part number:' 'Serial number:' \
    'Mapper:.*configured' 'Mapped hosts'; do
    expect "mx_info prints $key" eval "netlab_in 1 '$NETLAB_TMP/mx_info' | grep -qE '$key'"
done
expect "omx_init_peers names a peer" prints 'node2:0' 1 omx_init_peers -v "$(netlab_mac 2)" node2:0
expect "the name is in the table" prints '\) 02:45:4d:58:00:02 node2:0' 1 omx_info
expect "omx_init_peers refuses nonsense" refuses 'address and a name' 1 omx_init_peers zebra node3
expect "omx_hostname sets the name" netlab_in 1 "$tools/omx_hostname" -n fred:0
expect "omx_hostname shows it" prints '^fred:0$' 1 omx_hostname
expect "ping-pong, every message checked" perf
expect "stream one way, checked" perf -U -E 5000
expect "streams both ways, checked" perf -x -E 5000
expect "synchronous sends, checked" perf -Y
expect "blocking waits, checked" perf -w -N 20
expect "json output is json" eval 'perf -F json -N 5 | sed "/^omx_perf:/d" | python3 -m json.tool'
expect "1 % loss either way, checked" with_loss
expect "omx_counters counts" prints 'tiny messages sent' 1 omx_counters
expect "mx_counters has the native shape" eval \
    "netlab_in 1 '$NETLAB_TMP/mx_counters' | grep -qE '^ +tiny messages sent: [0-9]+ \(0x[0-9a-f]+\)\$'"
expect "omx_counters -c works" netlab_in 1 "$tools/omx_counters" -c
expect "and leaves zeros" prints 'every counter of board #0 is zero' 1 omx_counters
expect "nothing open afterwards" prints '0 of 32 endpoints open' 1 omx_endpoint_info
expect "a server that is not there" refuses 'cannot connect' 1 omx_perf -d "$(netlab_mac 2)" --patience 1
expect "a killed server is noticed" server_killed
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

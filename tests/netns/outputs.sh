#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Outputs for programs: every document of a tool fits its schema, whatever names are in it, with no board, one and
# several; metrics are taken by two parsers, and are those that the dashboard asks for.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/outputs.sh" "$@"
. tests/support/traffic.sh
init=$plain/tools/setup/omx_init python='' document=$NETLAB_TMP/document metrics=$NETLAB_TMP/metrics
for each in python3 /usr/bin/python3; do
    ! "$each" -c 'import jsonschema, prometheus_client' 2>/dev/null || { python=$each; break; }
done
judge() { "$python" tests/netns/outputs_check.py "$@"; }

# fits SCHEMA STATUS COMMAND... -- PATH=VALUE...: the document of the command, which ends so.
fits() {
    local schema=$1 wanted=$2 status=0 command=()
    shift 2
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    netlab_in 1 timeout $hung "${command[@]}" >"$document" || status=$?
    [ $status = "$wanted" ] || { echo "status $status"; cat "$document"; return 1; }
    judge schema "tools/schemas/$schema.json" "$document" "$@"
}

perf_fits() { # perf_fits OPTION...: a document, and a table of the same names
    server 2 -k || return
    local status=0 perf=("$tools/omx_perf" -d "$(netlab_mac 2)" -y -P 0 -N 5 -S 4096 -E 4097)
    fits omx_perf 0 "${perf[@]}" -F json "$@" -- 'device="engine"' 'dialect="N=9000"' 'mtu=9000' 'interface="eth0"' 'verified=false' \
        'rows.0.bytes=4096' && netlab_in 1 timeout $hung "${perf[@]}" -F csv "$@" >"$NETLAB_TMP/csv" &&
        judge csv "$NETLAB_TMP/csv" "$document" || status=1
    netlab_stop "$SERVER"
    return $status
}

trace_fits() { # its file has an odd name
    local file=$NETLAB_TMP/$odd
    EMX_TRACE=$file messages 1 2 -N 5 -S 64 -E 200000 -M 50 || return
    fits omx_trace 0 "$tools/omx_trace" -F json "$file".* -- 'tool="omx_trace"' && grep -q 'under_way_us' "$document" &&
        fits omx_trace 0 "$tools/omx_trace" -q -F json "$file".* -- 'events=[]'
}

# A program of an odd name holds an endpoint.
holder() {
    cp "$tools/omx_perf" "$NETLAB_TMP/bin/$odd" || return
    netlab_bg 1 "$NETLAB_TMP/holder" env LD_LIBRARY_PATH="$plain/libmx/install" "$NETLAB_TMP/bin/$odd" -e 3
    HOLDER=$NETLAB_PID
    tells "$NETLAB_TMP/holder" "$waits" "$HOLDER"
}

checks_path() { # with a partner and without
    local status=0
    fits omx_check 0 "$tools/omx_check" --json -N 50 "$(netlab_mac 2)" -- ok=true complete=false 'to.served=false' 'to.dialect="N=9000"' \
        frames=50 lost=0 there_MB_s=null || return
    netlab_bg 2 "$NETLAB_TMP/partner" "$tools/omx_check" -s
    tells "$NETLAB_TMP/partner" serving "$NETLAB_PID" &&
        fits omx_check 0 "$tools/omx_check" --json -N 50 "$(netlab_mac 2)" -- ok=true complete=true 'to.mtu=9000' untested=[] || status=1
    netlab_stop "$NETLAB_PID"
    return $status
}

nobody_there() {
    fits omx_check 1 "$tools/omx_check" --json -p 1 02:45:4d:58:00:09 -- ok=false 'to.answers=false' frames=null
}

measures() { # measures BOARDS
    netlab_in 1 "$tools/omx_counters" --openmetrics >"$metrics" && judge openmetrics "$metrics" "$1"
}

# The command of the unit, as systemd would give it to a shell; without the tool the old file stays.
collected() {
    local unit=docs/examples/monitoring/ethermx-metrics.service command
    command=$(sed -n "s|^ExecStart=/bin/sh -c '\(.*\)'$|\1|p" $unit)
    [ -n "$command" ] && netlab_in 1 env FILE="$NETLAB_TMP/collected" PATH="$tools:$PATH" sh -c "$command" &&
        judge openmetrics "$NETLAB_TMP/collected" 1 && cp "$NETLAB_TMP/collected" "$NETLAB_TMP/before" || return
    ! netlab_in 1 env FILE="$NETLAB_TMP/collected" PATH=/usr/bin:/bin sh -c "$command" &&
        cmp "$NETLAB_TMP/before" "$NETLAB_TMP/collected"
}

one_board() {
    check "omx_info" fits omx_info 0 "$tools/omx_info" --json -- 'boards.0.name="node1:0"' 'boards.0.mtu=9000' 'boards.0.numa_node=null' \
        'boards.0.peers.0.name="node1:0"'
    check "mx_info" fits omx_info 0 "$NETLAB_TMP/bin/mx_info" --json -q -- 'tool="omx_info"' 'boards.0.number=0'
    check "omx_info, tunables of odd names" fits omx_info 0 env "EMX_$odd=$odd" "$tools/omx_info" -c --json --
    check "an odd tunable is in it" grep -qF '"EMX_a\"b\\' "$document"
    check "omx_counters" fits omx_counters 0 "$tools/omx_counters" --json -- 'boards.0.counters.0.name="rx_raw"'
    check "a program of an odd name" holder
    check "omx_endpoint_info" fits omx_endpoint_info 0 "$tools/omx_endpoint_info" --json -- "boards.0.endpoints.0.pid=$HOLDER" \
        'boards.0.endpoints.0.command="a\"b\\\\x01\\xffc"'
    netlab_stop "$HOLDER"
    check "omx_check" checks_path
    check "omx_check, and nobody is there" nobody_there
    check "omx_perf, a ping-pong" perf_fits
    check "omx_perf, both kinds of throughput" perf_fits -G
    check "omx_perf, work while messages come" perf_fits -O
    check "omx_perf, batches" perf_fits --batches
    check "omx_trace" trace_fits
    check "metrics" measures 1
    check "metrics of the dashboard" judge dashboard "$metrics" docs/examples/monitoring/ethermx-dashboard.json
    check "a file for node_exporter" collected
}

failures() {
    check "no such board" fits omx_info 255 "$tools/omx_info" --json -b 7 -- 'error="no board #7: this host has 1 board, #0"'
    check "a host of an odd name" fits omx_check 255 "$tools/omx_check" -p 0 --json "$odd" -- \
        'error="no board is called \"a\"b\\\u0001\\xffc\": omx_info shows the known ones; give the MAC address, or tell the name by omx_init_peers"'
    check "a document and a text at once" ends 255 'exclude each other' tool 1 omx_counters --json --openmetrics
    check "a document that clears" ends 255 'only -b goes with them' tool 1 omx_counters --json -c
    check "a document of a server" ends 255 'leave out -s' tool 1 omx_check -s --json
    check "a document of a start" ends 255 '--json is for status' netlab_in 1 "$init" --json start
    check "a full disk is no success" full_disk
}
full_disk() { ends 255 'standard output: No space left on device' netlab_in 1 sh -c '"$1" --openmetrics >/dev/full' - "$tools/omx_counters"; }

status_of_boards() {
    if [ -e /sys/module/ethermx ]; then
        skip "the module is loaded here"
        return
    fi
    echo "boards = $EMX_BOARDS" >"$NETLAB_TMP/$odd"
    check "omx_init status" fits omx_init_status 0 "$init" -c "$NETLAB_TMP/$odd" --json status -- running=true \
        module_loaded=false 'boards.0.interface="eth0"'
    echo "boards = eth7:W" >"$NETLAB_TMP/$odd"
    check "omx_init status, of other boards" fits omx_init_status 3 "$init" -c "$NETLAB_TMP/$odd" --json status -- running=false
    stop_agents 1
    check "omx_init status, of none" fits omx_init_status 3 "$init" -c "$NETLAB_TMP/$odd" --json status -- running=false \
        'served_by=""' boards=[]
}

several_boards() {
    local i
    for i in 2 3; do
        ip -n "${NETLAB_NS[1]}" link add "eth$i" mtu 9000 type veth peer name "far$i" &&
            ip -n "${NETLAB_NS[1]}" link set "eth$i" up || return
    done
    agent 1 eth0:N=9000,eth2:N=1500,eth3:W
}

no_board() {
    stop_agents 1
    export EMX_BOARDS=none0:N=1500
    local tool
    for tool in omx_info omx_counters omx_endpoint_info; do
        check "$tool without a board" fits $tool 255 "$tools/$tool" --json -- "tool=\"$tool\""
        check "$tool tells why" grep -q 'none0' "$document"
    done
    check "no metrics without a board" ends 255 'none0' tool 1 omx_counters --openmetrics
}

[ -n "$python" ] || { skip "no jsonschema or prometheus_client: apt-get install python3-jsonschema python3-prometheus-client"; finish; }
odd=$(printf 'a"b\\\001\377c')
export EMX_BOARDS=eth0:N=9000
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_DIALECTS="N=9000 N=1500 W" NETLAB_WATCH_OPTIONS="--spare 255"
netlab_make 2 9000 && agents "$EMX_BOARDS" "$EMX_BOARDS" || exit 1
mkdir "$NETLAB_TMP/bin" && ln -s "$tools/omx_info" "$NETLAB_TMP/bin/mx_info" || exit 1
check "schemas refuse what they should" judge selftest tools/schemas
one_board
failures
status_of_boards
check "three boards" several_boards
check "omx_info, three boards" fits omx_info 0 "$tools/omx_info" --json -- 'boards.2.interface="eth3"' 'boards.2.dialect="W"'
check "omx_info, one of three boards" fits omx_info 0 "$tools/omx_info" --json -b 1 -- 'boards.0.number=1'
check "omx_counters, three boards" fits omx_counters 0 "$tools/omx_counters" --json -- 'boards.2.number=2'
check "omx_counters, one of three boards" fits omx_counters 0 "$tools/omx_counters" --json -b 1 -- 'boards.0.number=1'
check "omx_endpoint_info, three boards" fits omx_endpoint_info 0 "$tools/omx_endpoint_info" --json -a -- 'boards.2.endpoints=[]'
check "metrics of three boards" measures 3
no_board
finish

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

cleared() { # cleared HOST: every counter is zero, but for a beacon that the agents exchanged since
    netlab_in "$1" "$tools/omx_counters" >"$NETLAB_TMP/text" 2>&1 || return
    cat "$NETLAB_TMP/text"
    [ -s "$NETLAB_TMP/text" ] &&
        ! grep -vE 'every counter of board #0 is zero|: +[1-9] raw frames (sent|received)$' "$NETLAB_TMP/text"
}

with_loss() {
    netlab_loss 2 10 && netlab_loss 1 10 && perf -N 50 -E 100000 || return
    netlab_loss_off 1 && netlab_loss_off 2
}

# results FORMAT KINDS CLIENT-OPTION...: what comes in that format is complete and agrees with itself;
# KINDS are the kinds of throughput that must be there.
results() {
    local format=$1 kinds=$2
    shift 2
    perf -F "$format" -S 0 -E 10000 "$@" | sed '/^omx_perf:/d' >"$NETLAB_TMP/results"
    [ "${PIPESTATUS[0]}" = 0 ] || { cat "$NETLAB_TMP/results"; return 1; }
    python3 - "$format" "$kinds" "$NETLAB_TMP/results" <<'END'
import csv, json, sys

def close(a, b):
    return abs(a - b) <= 0.002 * max(abs(a), abs(b)) + 0.01

form, kinds, path = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
with open(path, encoding="ascii") as file:
    if form == "json":
        whole = json.load(file)
        rows = whole["rows"]
        assert sorted(whole["figures"]) == sorted(kinds), whole["figures"]
        for kind, figures in whole["figures"].items():
            of_kind = [r for r in rows if r["throughput"] == kind]
            assert close(figures["latency_us"], of_kind[0]["median"]), figures
            assert close(figures["r_inf_MB_s"], max(r["MB_s"] for r in of_kind)), figures
            assert 0 < figures["n_half_bytes"] < 10000, figures
        for row in rows:
            samples = sum(count for _, _, count in row["histogram"])
            stream = row["throughput"] == "transmission"
            assert 5 <= samples <= 25 if stream else samples == row["iterations"], row
    else:
        rows = [{k.removesuffix("_us"): v if k == "throughput" else float(v) for k, v in r.items()}
                for r in csv.DictReader(file)]
for kind in kinds:
    assert [r["bytes"] for r in rows if r["throughput"] == kind] == [0, 1, 16, 256, 4096], kind
for row in rows:
    order = [row[k] for k in ("min", "median", "p90", "p99", "max")]
    assert order == sorted(order) and order[0] > 0 and row["min"] <= row["mean"] <= row["max"], row
    assert close(row["MB_s"], row["bytes"] / row["median"]), row
print(len(rows), "rows agree")
END
}

# Work while checked messages come: five rows a length, which agree with themselves.
overlap() {
    perf -O -F csv -S 4096 -E 200000 "$@" | sed '/^omx_perf:/d' >"$NETLAB_TMP/results"
    [ "${PIPESTATUS[0]}" = 0 ] || { cat "$NETLAB_TMP/results"; return 1; }
    python3 - "$NETLAB_TMP/results" <<'END'
import csv, sys

with open(sys.argv[1], encoding="ascii") as file:
    rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(file)]
assert [r["bytes"] for r in rows] == 5 * [4096] + 5 * [65536], rows
for row in rows:
    assert row["elapsed_us"] > 0 and 0 <= row["there"] <= 1 and row["cpu_share"] >= 0, row
    assert abs(row["cpu_share"] - row["work_us"] / row["elapsed_us"]) < 0.001, row
print(len(rows), "rows agree")
END
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

# A client that dies between two lengths, while nothing is under way to it: nobody tells the server, which asks, and serves
# the next client. An answer whose ack has not gone yet fails, so clients die until one had sent all of them.
client_killed() {
    local server client wait status deaths=0 said=$NETLAB_TMP/server row=$NETLAB_TMP/row
    netlab_bg 2 "$said" timeout 200 "$tools/omx_perf" -y -k
    server=$NETLAB_PID
    for wait in 0.2 0.5 1 2 4; do
        rm -f "$row"
        netlab_bg 1 "$row" "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 66 -M 0 -I 1 -N 1 -P 50000
        client=$NETLAB_PID
        until grep -qs 'length  *64: ' "$row"; do
            kill -0 "$client" || break
        done
        sleep "$wait" # tidy-allow(sleep): its acks go out meanwhile, which is judged by what the server says
        kill -9 "$client"
        deaths=$((deaths + 1))
        until [ "$(grep -c 'the peer is gone' "$said")" = $deaths ]; do
            kill -0 "$server" || break 2
        done
        grep -q 'the peer is gone: mx_connect' "$said" && break
    done
    netlab_in 1 timeout 50 "$tools/omx_perf" -d "$(netlab_mac 2)" -y -V -S 64 -E 65 -N 1 &&
        grep -q 'the peer is gone: mx_connect' "$said"
    status=$?
    kill "$server"
    wait "$server"
    cat "$row" "$said"
    return $status
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_WATCH=${tools%/*}/tests/watch/wirewatch NETLAB_DIALECTS=N=9000
netlab_make 2 9000 || exit 1
for host in 1 2; do
    netlab_bg $host "$NETLAB_TMP/omxd$host" "$EMX_OMXD" --foreground --boards "$EMX_BOARDS"
done
ln -s "$tools/omx_info" "$NETLAB_TMP/mx_info"
ln -s "$tools/omx_counters" "$NETLAB_TMP/mx_counters"

expect "omx_info shows the board" prints 'node1:0 \(board #0 name eth0 addr 02:45:4d:58:00:01\)' 1 omx_info
expect "omx_info -c shows tunables" prints '^EMX_' 1 omx_info -c
expect "omx_info -c says what has no effect, and why" prints '^MX_RCACHE .*no effect: no memory' 1 omx_info -c
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
expect "end-to-end beside transmission, checked" perf -G -E 5000
expect "json of a ping-pong" results json end-to-end
expect "json of a stream" results json transmission -U
expect "json of both kinds" results json end-to-end,transmission -G
expect "csv of a ping-pong" results csv end-to-end
expect "csv of both kinds" results csv end-to-end,transmission -G
expect "work while messages come, checked" overlap
expect "1 % loss either way, checked" with_loss
expect "omx_counters counts" prints 'tiny messages sent' 1 omx_counters
expect "mx_counters has the native shape" eval \
    "netlab_in 1 '$NETLAB_TMP/mx_counters' | grep -qE '^ +tiny messages sent: [0-9]+ \(0x[0-9a-f]+\)\$'"
expect "omx_counters -c works" netlab_in 1 "$tools/omx_counters" -c
expect "and leaves zeros" cleared 1
expect "nothing open afterwards" prints '0 of 32 endpoints open' 1 omx_endpoint_info
expect "a server that is not there" refuses 'cannot connect' 1 omx_perf -d "$(netlab_mac 2)" --patience 1
expect "a killed server is noticed" server_killed
expect "so is a killed client, and the next one served" client_killed
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools between two hosts: what they print, and that messages arrive unaltered in every pattern
# and dialect, with loss, and that a killed server is noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/tools.sh" "$@"
. tests/support/traffic.sh
export EMX_BOARDS=eth0:N=9000

perf() { # perf CLIENT-OPTION...: checked messages of some lengths against a fresh server
    messages 1 2 -V -T 20 -M 16 "$@"
}

cleared() { # cleared HOST: every counter is zero, but for a beacon that the agents exchanged since
    says . tool "$1" omx_counters &&
        ! grep -vE 'every counter of board #0 is zero|: +[0-9]+ raw frames (sent|received)$' "$said"
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
            assert close(figures["latency_us"], of_kind[0]["median_us"]), figures
            assert close(figures["r_inf_MB_s"], max(r["MB_s"] for r in of_kind)), figures
            half = next(n for n, r in enumerate(of_kind) if r["MB_s"] >= max(r["MB_s"] for r in of_kind) / 2)
            between = [of_kind[max(half - 1, 0)]["bytes"], figures["n_half_bytes"], of_kind[half]["bytes"]]
            assert between == sorted(between), (figures, rows)
        for row in rows:
            samples = sum(count for _, _, count in row["histogram"])
            stream = row["throughput"] == "transmission"
            assert 5 <= samples <= 25 if stream else samples == row["iterations"], row
    else:
        texts = {"throughput", "version", "date", "device", "interface", "dialect"}
        rows = [{k: v if k in texts else float(v) for k, v in r.items()} for r in csv.DictReader(file)]
for kind in kinds:
    assert [r["bytes"] for r in rows if r["throughput"] == kind] == [0, 1, 16, 256, 4096], kind
for row in rows:
    order = [row[k] for k in ("min_us", "median_us", "p90_us", "p99_us", "max_us")]
    assert order == sorted(order) and order[0] > 0 and row["min_us"] <= row["mean_us"] <= row["max_us"], row
    assert close(row["MB_s"], row["bytes"] / row["median_us"]), row
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
    rows = [{k: float(v) for k, v in r.items() if k not in ("version", "date", "device", "interface", "dialect")}
            for r in csv.DictReader(file)]
assert [r["bytes"] for r in rows] == 5 * [4096] + 5 * [65536], rows
for row in rows:
    assert row["elapsed_us"] > 0 and 0 <= row["there"] <= 1 and row["cpu_share"] >= 0, row
    assert abs(row["cpu_share"] - row["work_us"] / row["elapsed_us"]) < 0.001, row
print(len(rows), "rows agree")
END
}

# Five messages each way at a time, with work in between: twelve rows, which agree with themselves.
batches() {
    says 'length *10000: work .* posting sends' messages 1 2 --batches -N 3 -S 10000 -E 10001 &&
        messages 1 2 --batches -N 3 -F csv -S 10000 -E 10001 | sed '/^omx_perf:/d' >"$NETLAB_TMP/results" || return
    awk -F, 'NR > 1 { n++; if ($1 != 10000 || $2 != 3 || !($4 > 0) || $5 + $6 + $7 < 0 || $3 < work) bad++; work = $3 }
        END { print n " rows"; exit n != 12 || bad }' "$NETLAB_TMP/results"
}

# All messages of a length at once, three times.
stretch() {
    perf -U --stretch -T 0 -N 70 -F csv -E 100 | sed '/^omx_perf:/d' >"$NETLAB_TMP/results"
    [ "$(cut -d, -f1,2 "$NETLAB_TMP/results" | tr '\n' ' ')" = 'bytes,iterations 0,210 1,210 16,210 ' ]
}

# Open-MX's dialogue; tests/interop/perf_dialogue.cpp compares it with a capture.
open_mx() {
    local ask=("$tools/omx_perf" -d "$(netlab_mac 2)" -y -P 0) status=0
    server 2 --open-mx -k || return
    says "dialogue Open-MX's
length *65536: " netlab_in 1 timeout $hung "${ask[@]}" --open-mx -N 20 -E 100000 &&
        says "message and its empty answer.*dialogue Open-MX's
length *65536: " netlab_in 1 timeout $hung "${ask[@]}" -N 5 -E 100000 -U -Y -a &&
        ends 255 'knows no -x, -G, -O, -V, -s and -T' netlab_in 1 timeout $hung "${ask[@]}" -V || status=1
    netlab_stop "$SERVER"
    server 2 && ends 255 'another key: neither omx_perf .* is there with --open-mx' netlab_in 1 timeout $hung "${ask[@]}" --open-mx || status=1
    netlab_stop "$SERVER"
    cat "$NETLAB_TMP/server"
    return $status
}

# The client must not wait for ever, nor call it a success.
server_killed() {
    server 2 || return
    local client=$NETLAB_TMP/client
    netlab_bg 1 "$client" timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 65 -N 100000000 -v
    until_ok $hung sends_or_ended "$NETLAB_PID"
    kill -9 "$SERVER"
    ends 255 '' wait "$NETLAB_PID"
    status=$?
    cat "$client"
    return $status
}
sends_or_ended() { tool 1 omx_counters | grep -q 'small messages sent' || lab_ended "$1"; }

# A client that dies between two lengths, while nothing is under way to it: nobody tells the server, which asks, and serves
# the next client. An answer whose ack has not gone yet fails, so clients die until one had sent all of them.
client_killed() {
    local wait deaths=0 status row=$NETLAB_TMP/row
    server 2 -k || return
    for wait in 0.2 0.5 1 2 4 8 16 32; do
        netlab_bg 1 "$row" "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 66 -M 0 -I 1 -N 1 -P 50000
        tells "$row" 'length  *64: ' "$NETLAB_PID" || return
        sleep "$wait" # tidy-allow(sleep): its acks go out meanwhile, which is judged by what the server says
        kill -9 "$NETLAB_PID"
        deaths=$((deaths + 1))
        until_ok $hung dead_or_ended $deaths
        grep -q 'the peer is gone: mx_connect' "$NETLAB_TMP/server" && break
    done
    netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" -y -V -S 64 -E 65 -N 1 &&
        grep -q 'the peer is gone: mx_connect' "$NETLAB_TMP/server"
    status=$?
    netlab_stop "$SERVER"
    cat "$NETLAB_TMP/server"
    return $status
}
dead_or_ended() { [ "$(grep -c 'the peer is gone' "$NETLAB_TMP/server")" = "$1" ] || lab_ended "$SERVER"; }

# Messages wait for it for minutes, but users are told at once why: those of the host whose message has no ack. Which one that
# is depends on the frame that was lost, as an ack may have left before its answer. The link is down at the second host.
link_down() {
    server 2 && tool 1 omx_counters -c || return
    local client=$NETLAB_TMP/client status
    netlab_bg 1 "$client" timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 65 -N 100000000
    until_ok $hung sends_or_ended "$NETLAB_PID" && netlab_link 2 down &&
        until_ok $hung tells_of_link "$client"
    status=$?
    kill "$NETLAB_PID" "$SERVER"
    netlab_link 2 up && netlab_carrier
    cat "$client" "$NETLAB_TMP/server"
    return $status
}
tells_of_link() {
    grep -qE 'endpoint 0 of host 02454d580002 has not answered for [0-9]+ s: is its link up' "$1" ||
        grep -qE 'the link of eth0 is down here: plug it in' "$NETLAB_TMP/server"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_DIALECTS=N=9000
netlab_make 2 9000 && agents "$EMX_BOARDS" "$EMX_BOARDS" || exit 1
ln -s "$tools/omx_info" "$NETLAB_TMP/mx_info"
ln -s "$tools/omx_counters" "$NETLAB_TMP/mx_counters"

check "omx_info shows the board" says 'node1:0 \(board #0 name eth0 addr 02:45:4d:58:00:01\)' tool 1 omx_info
check "omx_info -c shows tunables, and why one has no effect" says '^EMX_
^MX_RCACHE .*no effect: no memory' tool 1 omx_info -c
check "omx_info refuses a board that is not there" ends 255 'no board #7' tool 1 omx_info -b 7
check "-h is usage, status 255" ends 255 '^usage: ' tool 1 omx_info -h
check "mx_info has the native lines" says 'MX Version:
MX Build:
boards installed\.
32 endpoints per NIC, [0-9]+ NICs on the network
^=====
Instance #0:
Status:
Network:
MAC Address:
Product code:
Part number:
Serial number:
Mapper:.*configured
Mapped hosts' netlab_in 1 "$NETLAB_TMP/mx_info"
check "omx_init_peers names a peer" says 'node2:0' tool 1 omx_init_peers -v "$(netlab_mac 2)" node2:0
check "the name is in the table" says '\) 02:45:4d:58:00:02 node2:0' tool 1 omx_info
check "omx_init_peers refuses nonsense" ends 255 'address and a name' tool 1 omx_init_peers zebra node3
check "omx_hostname sets the name" tool 1 omx_hostname -n fred:0
check "omx_hostname shows it" says '^fred:0$' tool 1 omx_hostname
check "ping-pong, every message checked" perf
check "stream one way, checked" perf -U -E 5000
check "streams both ways, checked" perf -x -E 5000
check "synchronous sends, checked" perf -Y
check "blocking waits, checked" perf -w -N 20
check "end-to-end beside transmission, checked" perf -G -E 5000
check "json of a ping-pong" results json end-to-end
check "json of a stream" results json transmission -U
check "json of both kinds" results json end-to-end,transmission -G
check "csv of a ping-pong" results csv end-to-end
check "csv of both kinds" results csv end-to-end,transmission -G
check "work while messages come, checked" overlap
check "streams in one stretch, checked" stretch
check "batches with work in between" batches
check "a stretch of a ping-pong is refused" ends 255 '--stretch is for streams' tool 1 omx_perf -d node2 --stretch
check "batches are not verified" ends 255 'nothing to check with --batches' tool 1 omx_perf -d node2 --batches -V
check "Open-MX's dialogue, asked for and found out" open_mx
check "1 % loss either way, checked" with_loss
check "omx_counters counts" says 'tiny messages sent' tool 1 omx_counters
check "mx_counters has the native shape" says '^ +tiny messages sent: [0-9]+ \(0x[0-9a-f]+\)$' netlab_in 1 "$NETLAB_TMP/mx_counters"
check "omx_counters -c works" tool 1 omx_counters -c
check "omx_counters -c leaves zeros" cleared 1
check "nothing open afterwards" says '0 of 32 endpoints open' tool 1 omx_endpoint_info
check "a server that is not there" ends 255 'cannot connect' tool 1 omx_perf -d "$(netlab_mac 2)" --patience 1
check "a killed server is noticed" server_killed
check "a killed client is noticed, and the next one served" client_killed
check "a peer whose link is down is told of" link_down
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# omx_trace between two hosts: a lost frame shows as sent, never arrived, sent again and matched; the forms of
# output agree; endpoints that are open, killed, or too busy for their ring; what is told of mistakes.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/trace.sh" "$@"
. tests/support/traffic.sh
export EMX_BOARDS=eth0:N=9000 EMX_RESEND_MS=2 EMX_TRACE_ENTRIES=262144
traces=$NETLAB_TMP/traces
mkdir "$traces"

# exchange NAME CLIENT-OPTION...: checked messages, both ends traced into $traces/NAME.*
exchange() {
    local name=$1
    shift
    EMX_TRACE="$traces/$name" messages 1 2 -V "$@"
}

# A complete trace of two endpoints, with or without loss, must agree on this.
judge() { # judge NAME clean|lossy|reported: what was lost is repeated when its time is over, or for a report
    "$tools/omx_trace" -F json "$traces/$1".* >"$NETLAB_TMP/json" && python3 - "$NETLAB_TMP/json" "$2" <<'END'
import collections, json, sys

with open(sys.argv[1], encoding="ascii") as file:
    whole = json.load(file)
lossy, reported = (sys.argv[2] == word for word in ("lossy", "reported"))
events, flows = whole["events"], whole["flows"]
traces = [(t["address"], t["endpoint"]) for t in whole["traces"]]
assert len(traces) == 2 and all(t["closed"] and t["lost"] == 0 for t in whole["traces"]), whole["traces"]
assert [e["time_ns"] for e in events] == sorted(e["time_ns"] for e in events)
clock = whole["clocks"][1] # it is one clock, told twice
assert clock["measured"] and abs(clock["ahead_us"]) <= clock["doubt_us"] + 0.001, clock

messages = {"TINY", "SMALL", "MEDIUM", "RNDV"}
# When the last of what an endpoint took was sent: what was sent later may have been unread when it closed. Of copies of the
# last message, which do not differ, only one may have been read: it counts from the first of them on.
heard, first = collections.defaultdict(int), {}
for e in events:
    to = (e["peer"], e["peer_endpoint"]) if e["event"] in ("sent", "resent") else None
    copy = (to, e.get("seq"), e["value"]) if to and e["type"] in messages else None
    begun = first.setdefault(copy, e["time_ns"]) if copy else e["time_ns"]
    if to and e.get("fate") == "arrived":
        heard[to] = max(heard[to], begun)

def told(e):
    return e["time_ns"] < heard[(e["peer"], e["peer_endpoint"])]

history = collections.defaultdict(list) # of a message
for e in events:
    if e.get("type") not in messages:
        continue
    own, other = traces[e["trace"]], (e["peer"], e["peer_endpoint"])
    going = e["event"] in ("sent", "resent")
    history[(own if going else other, e["seq"])].append(e)
lost = again = dropped = 0
for key, steps in history.items():
    names = [e["event"] for e in steps]
    assert names[0] == "sent", (key, steps)
    assert names.count("matched") == 1, (key, steps)
    copies = [e for e in steps if e["event"] in ("sent", "resent")]
    for fragment in {e["value"] for e in copies}: # each came, at last
        assert any(e.get("fate") == "arrived" for e in copies if e["value"] == fragment), (key, steps)
    for e in filter(told, copies):
        assert e["fate"] in ("arrived", "never arrived"), e
        assert e["fate"] != "arrived" or e["under_way_us"] >= 0, e
    gone = {e["value"] for e in copies if e["event"] == "sent" and e["fate"] == "never arrived" and told(e)}
    lost += bool(gone)
    for fragment in gone:
        same = [e["event"] for e in steps if e["value"] == fragment]
        assert same.index("resent") < same.index("received"), (key, steps)
    if gone:
        assert names.index("resent") < names.index("matched"), (key, steps)
    again += "resent" in names
    dropped += "dropped" in names
print(len(history), "messages,", lost, "lost,", again, "repeated,", dropped, "repeats dropped")
assert len(history) > 400
assert sum(f["sent"] for f in flows) == sum(e["event"] in ("sent", "resent") for e in events)
assert sum(f["never_arrived"] for f in flows) >= lost
if lossy or reported:
    assert lost > 10 and again >= lost and (reported or dropped > 5)
else:
    # Asked to connect before it was open, an endpoint hears nothing.
    missing = [e for e in events if e.get("fate") == "never arrived" and e["type"] != "CONNECT" and told(e)]
    assert lost == 0 and not missing, missing
END
}

lossy() {
    netlab_loss 2 50 && netlab_loss 1 50 && EMX_EXTENSION=0 exchange lossy -S 64 -E 65 -N 300 && netlab_loss_off 1 && netlab_loss_off 2 && judge lossy lossy
}

several_fragments() {
    netlab_loss 2 50 && exchange fragments -S 20000 -E 20001 -N 300 && netlab_loss_off 2 && judge fragments reported
}

# Text and CSV say what JSON says.
forms() {
    local json csv text
    json=$(grep -c '"fate": "never arrived"' "$NETLAB_TMP/json")
    csv=$("$tools/omx_trace" -F csv "$traces"/fragments.* | grep -c ',never arrived,')
    text=$("$tools/omx_trace" "$traces"/fragments.* | grep -c '; never arrived$')
    echo "$json $csv $text"
    [ "$json" -gt 10 ] && [ "$csv" = "$json" ] && [ "$text" = "$json" ] &&
        "$tools/omx_trace" -e resent,matched "$traces"/fragments.* | sed '/^$/,$d' >"$NETLAB_TMP/some" &&
        grep -q ' resent ' "$NETLAB_TMP/some" && ! grep -q ' received ' "$NETLAB_TMP/some" &&
        says 'packets sent, [1-9][0-9]* of them again, [1-9][0-9]* seen to arrive, [1-9][0-9]* never arrived; under way for' \
            "$tools/omx_trace" -q "$traces"/fragments.* && ! grep -q ' matched  ' "$said"
}

large() {
    exchange large -S 1000000 -E 1000001 -N 5 && says 'pulled +RNDV from .*, 1000000 bytes, .*complete
counted +[0-9]+ times: (pull replies|x data frames) received' "$tools/omx_trace" "$traces"/large.*
}

small_ring() {
    EMX_TRACE_ENTRIES=64 exchange small -S 64 -E 65 -N 300 && says ': 64 events, [1-9][0-9]* older ones lost$' "$tools/omx_trace" -q "$traces"/small.*
}

live() {
    exchange live -S 64 -E 65 -N 5000 >"$NETLAB_TMP/exchange" 2>&1 &
    local job=$! file
    until_ok $hung compgen -G "$traces/live.*.0.0" || return
    file=$(compgen -G "$traces/live.*.0.0" | head -1)
    EMX_TRACE='' until_ok $hung "$tools/omx_trace" -q "$file" >/dev/null || return # its head is complete
    EMX_TRACE='' says 'events, 0 older ones lost$' timeout $hung "$tools/omx_trace" -l -e matched "$file" || return
    wait $job || { cat "$NETLAB_TMP/exchange"; return 1; }
    [ "$(grep -c ' matched ' "$said")" -gt 1000 ]
}

# The events that a killed process held in its memory are in its file.
killed() {
    EMX_TRACE="$traces/killed" server 2 -k && tool 1 omx_perf -d "$(netlab_mac 2)" -y -S 64 -E 65 -N 50 || return
    kill -9 "$SERVER"
    netlab_stop "$SERVER"
    says 'still open, or its process died
 matched ' "$tools/omx_trace" "$traces"/killed.*
}

executed() {
    server 2 || return
    local status
    # shellcheck disable=SC2016 # for the shell inside
    netlab_in 1 env TMPDIR="$NETLAB_TMP/empty" EMX_TRACE= bash -c 'mkdir -p "$TMPDIR"; "$1" -q -x "$2 -d $3 -y -S 64 -E 65 -N 50"' - "$tools/omx_trace" "$tools/omx_perf" "$(netlab_mac 2)"
    status=$?
    netlab_stop "$SERVER"
    [ $status = 0 ] && [ -z "$(ls -A "$NETLAB_TMP/empty")" ]
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_DIALECTS=N=9000
netlab_make 2 9000 || exit 1
check "nothing is lost" exchange clean -S 64 -E 65 -N 300
check "omx_trace tells that nothing is lost" judge clean clean
check "a large message" large
check "a ring that is too small" small_ring
check "live" live
check "a killed server" killed
check "a command" executed
check "a command that is not there" ends 127 'opened no endpoint' "$tools/omx_trace" -x /nonexistent/program
if netlab_loss 1 0 2>"$NETLAB_TMP/why"; then
    netlab_loss_off 1
    check "lost frames" lossy
    check "lost fragments" several_fragments
    check "forms of output" forms
else
    skip "no loss can be made: $(cat "$NETLAB_TMP/why")" 3
fi
check "no files" ends 255 'give trace files, or a command' "$tools/omx_trace"
check "both" ends 255 'either trace files or -x' "$tools/omx_trace" -x true file
check "a file that is not there" ends 255 '/nonexistent: No such file' "$tools/omx_trace" /nonexistent
check "another file" ends 255 'is no trace file of EtherMX' "$tools/omx_trace" tests/netns/trace.sh
head -c 8192 "$(compgen -G "$traces/clean.*" | head -1)" >"$NETLAB_TMP/cut"
check "a file that is cut short" ends 255 'is cut short' "$tools/omx_trace" "$NETLAB_TMP/cut"
check "an event that is none" ends 255 'give names of events' "$tools/omx_trace" -e sent,gone "$NETLAB_TMP/cut"
check "a form that is none" ends 255 'give text, csv or json' "$tools/omx_trace" -F xml "$NETLAB_TMP/cut"
check "JSON as it comes" ends 255 'give -F text or -F csv' "$tools/omx_trace" -l -F json "$NETLAB_TMP/cut"
EMX_TRACE=/nonexistent/a check "no such folder" ends 255 \
    'EMX_TRACE: cannot make the trace file /nonexistent/a.*No such file or directory; name a place' tool 1 omx_perf
EMX_TRACE_ENTRIES=many check "nonsense for the ring" ends 255 'EMX_TRACE_ENTRIES' tool 1 omx_perf
finish

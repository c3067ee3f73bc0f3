#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Traces of simulated endpoints against what the simulated switch did: each frame that left is in the trace of
its sender, what omx_trace calls lost was lost, and each message has one history.

trace.py SIM_MAIN OMX_TRACE"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

SEEDS = 300
# A few seeds of ten are of use, and each shows a few of these. Enough is judged when all have been seen so often.
ENOUGH = collections.Counter(lost=20, missing=60, resent=100, matched=300, dropped=20)
MESSAGES = {"TINY", "SMALL", "MEDIUM", "RNDV"}
NUMBERED = MESSAGES | {"NOTIFY"}
FRAME = re.compile(r"^ *[\d.]+ us +(\S+)/(\d+) > (\S+)/(\d+) +(\w+) +.*seq ([0-9a-f]{4})(?:.* frag (\d+))?.*\] ?(.*)$")
WHY_NOT = {"drop: event queue full", "drop: no such partner"}


def run(seed, sim_main, omx_trace):
    """(frames by key as [lost], frames that a full socket refused, the trace), or None for a seed whose network repeats frames or whose hosts die: those
    leave frames that no trace tells of."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, EMX_TRACE=folder + "/t")
        out = subprocess.run([sim_main, "--seed", str(seed), "--verbose", "--trace"], env=environment,
                             check=True, capture_output=True, text=True).stdout
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        assert len(files) >= 2, files
        if "kills 0;" not in out or " dup 0 " not in out:
            return None
        merged = subprocess.run([omx_trace, "-F", "json"] + files, check=True, capture_output=True, text=True).stdout
    frames = collections.defaultdict(list)
    for line in out.splitlines():
        found = FRAME.match(line)
        if found and found[5] in NUMBERED:
            key = (found[1], int(found[2]), found[3], int(found[4]), found[5], int(found[6], 16) & 0x3fff, int(found[7] or 0))
            assert found[8] in ("", "lost"), line
            frames[key].append(found[8] == "lost")
    return frames, int(re.search(r" (\d+) at a full socket", out)[1]), json.loads(merged)


def judge(seed, frames, unqueued, trace):
    """Figures of one seed; AssertionError when the two disagree."""
    names = {t["address"]: t["name"] for t in trace["traces"]}
    assert all(t["lost"] == 0 for t in trace["traces"]), trace["traces"]
    sent, history, excuses = collections.defaultdict(list), collections.defaultdict(list), unqueued
    for e in trace["events"]:
        if e.get("counter") in WHY_NOT:
            excuses += e["value"] if e["event"] == "counted" else 1
        if e.get("type") not in NUMBERED:
            continue
        own = trace["traces"][e["trace"]]
        here, there = (own["name"], own["endpoint"]), (names[e["peer"]], e["peer_endpoint"])
        going = e["event"] in ("sent", "resent")
        fragment = e["value"] if e["type"] == "MEDIUM" and e["event"] in ("sent", "resent", "received") else 0
        if going and e.get("fate") != "refused":
            sent[here + there + (e["type"], e["seq"], fragment)].append(e)
        history[(here + there if going else there + here) + (e["type"] == "NOTIFY", e["seq"])].append(e)
    assert set(sent) == set(frames), (seed, set(sent) ^ set(frames))
    lost = unexplained = 0
    for key, copies in frames.items():
        fates = [e.get("fate") for e in sent[key]]
        assert len(fates) == len(copies), (seed, key, fates, copies)
        gone = sum(fate != "arrived" for fate in fates)
        assert gone >= sum(copies), (seed, key, fates, copies)
        lost += sum(copies)
        unexplained += gone - sum(copies)
    assert unexplained <= excuses + closed_over(trace), (seed, unexplained, excuses)
    for key, steps in history.items():
        events = [e["event"] for e in steps]
        # A session made anew may use a number again, for another message.
        messages = sum(e["event"] == "sent" and (e["type"] != "MEDIUM" or e["value"] == 0) for e in steps)
        assert events.count("matched") <= messages, (seed, key, steps)
        if "matched" in events:
            assert "received" in events[:events.index("matched")], (seed, key, steps)
        assert events[0] == "sent", (seed, key, steps)
    return collections.Counter(lost=lost, resent=sum(e["event"] == "resent" for e in trace["events"]),
                               matched=sum(e["event"] == "matched" for e in trace["events"]),
                               dropped=sum(e["event"] == "dropped" for e in trace["events"]),
                               missing=sum(f["never_arrived"] for f in trace["flows"]))


def closed_over(trace):
    """Packets whose fate no trace tells: they were on their way when their receiver closed."""
    return sum(e.get("type") in NUMBERED and e["event"] in ("sent", "resent") and "fate" not in e for e in trace["events"])


def main():
    total, judged = collections.Counter(), 0
    for seed in range(1, SEEDS + 1):
        told = run(seed, sys.argv[1], sys.argv[2])
        if told is None:
            continue
        figures = judge(seed, *told)
        print("seed %d:" % seed, ", ".join("%d %s" % (n, what) for what, n in figures.items()))
        total, judged = total + figures, judged + 1
        if not ENOUGH - total:
            print("%d of %d seeds judged" % (judged, seed))
            return
    raise AssertionError("%d of %d seeds are too few: %s" % (judged, SEEDS, total))


if __name__ == "__main__":
    main()

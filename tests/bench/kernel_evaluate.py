#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/kernel: medians, ratios, CSV, rows for the notebook.

usage: kernel_evaluate.py FOLDER    FOLDER/GUEST/result.log, FOLDER/GUEST/title and FOLDER/settings

A figure of the guest is a line "csv ROUND WAY WHAT,ROW".
"""
import collections
import glob
import os
import sys

import history
import rounds
from rounds import cell, median, ratio

WHATS = ("module", "engine", "engine-alone", "tcp")
PLACES = ("none", "0.5", "1", "2", "4")
LATENCY_LIMIT = 0.6
LARGEST = 4194304
BELOW_ONE = 1 - 1e-9


def read(path):
    """{way: data}"""
    head, series = {}, collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("csv "):
                continue
            names, *cells = line.strip().split(",")
            _, number, way, what = names.split()
            if cells[0] == "bytes":
                head[way] = cells
            else:
                series[way, what, int(number)].append(dict(zip(head[way], cells)))
    ways = collections.defaultdict(rounds.new_data)
    for (way, what, number), rows in series.items():
        rounds.add_series(ways[way], what, number, rows)
    return ways


def cost_table(data, unit="instructions", scale=1000, digits=0):
    whats = [w for w in WHATS if w in data]
    head = ["bytes"] + [f"{w}: {unit}" for w in whats] + ["module/TCP", "module/engine", "engine/TCP"]
    rows = []
    for length in rounds.lengths(data):
        row = [str(length)]
        row += [cell(scale * (median(data, w, length) or 0), digits) for w in whats]
        row += [cell(ratio(data, what, [other], length))
                for what, other in (("module", "tcp"), ("module", "engine"), ("engine", "tcp"))]
        rows.append(row)
    return head, rows


def time_table(data):
    return cost_table(data, "us", 1, 2)


def overlap_table(data, whats=WHATS, speed=("MB/s", "MB_s", 0)):
    """Also of tests/bench/overlap: speed is a column's heading, name and digits."""
    heading, column, digits = speed
    whats = [w for w in whats if w in data]
    head = ["bytes", "work / own time"] + [f"{w}: {heading}, left, there" for w in whats]
    rows = []
    for length, place in rounds.places(data):
        row = [str(length), PLACES[place]]
        for what in whats:
            speed, left, there = [median(data, what, length, c, place) for c in (column, "cpu_share", "there")]
            row.append("-" if None in (speed, left, there)
                       else f"{speed:.{digits}f}, {100 * left:.0f} %, {100 * there:.0f} %")
        rows.append(row)
    return head, rows


def verdicts(ways):
    """A condition that must hold, what was found, and its limit."""
    found = []
    if ways["spin"]:
        spin, least = ways["spin"], min(rounds.lengths(ways["spin"]))
        found += [(f"latency, module / TCP, at most {LATENCY_LIMIT}", ratio(spin, "module", ["tcp"], least), LATENCY_LIMIT),
                  ("latency, module / engine, at most 1", ratio(spin, "module", ["engine"], least), 1)]
    if LARGEST in rounds.lengths(ways["block"]):
        found += [(f"instructions for 4 MiB, module / {other}, below 1",
                   ratio(ways["block"], "module", [other], LARGEST), BELOW_ONE) for other in ("tcp", "engine")]
    computing = [point for point in rounds.places({"module": ways["overlap"].get("module", {})}) if point[1] >= 2]
    if computing:
        there = min(median(ways["overlap"], "module", length, "there", place) for length, place in computing)
        found.append(("messages not there after work as long as they take themselves, module, none", 1 - there, 0))
    return found


def evaluate_guest(folder):
    ways = read(os.path.join(folder, "result.log"))
    with open(os.path.join(folder, "title"), encoding="utf-8") as file:
        title = file.read().strip()
    records = []
    print(f"\n{title[0].upper() + title[1:]}")
    for way, name, make in (("spin", "both sides spin, a processor each", time_table),
                            ("yield", "both sides look, and yield between two looks", cost_table),
                            ("block", "both sides block", cost_table),
                            ("overlap", "a receiver that computes", overlap_table)):
        if not ways[way]:
            continue
        head, rows = make(ways[way])
        print(f"\n{name}\n")
        rounds.print_table(head, rows)
        rounds.write_table(f"{folder}-{way}.csv", head, rows)
        records += history.of_table(head, rows, f"{title}; {name}")
    print()
    for what, found, limit in verdicts(ways):
        holds = "not measured" if found is None else f"{found:.3f}, {'holds' if found <= limit else 'missed'}"
        print(f"{what}: {holds}")
        if found is not None:
            records.append(history.Row(what, "", title, f"{found:.3f}", "ratio"))
    return records


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    titles = sorted(glob.glob(os.path.join(folder, "*", "title")), key=os.path.getmtime)
    if not titles:
        sys.exit(f"{folder}: no guest has ended")
    history.write(folder, "kernel", settings, [record for t in titles for record in evaluate_guest(os.path.dirname(t))])


if __name__ == "__main__":
    main()

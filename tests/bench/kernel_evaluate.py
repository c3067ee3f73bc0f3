#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/kernel: medians, ratios, CSV, notebook entry.

usage: kernel_evaluate.py FOLDER    FOLDER/GUEST/result.log, FOLDER/GUEST/title and FOLDER/settings

A figure of the guest is a line "csv ROUND WAY WHAT,ROW". Ratios are taken within each round.
"""
import collections
import csv
import glob
import os
import statistics
import sys

import evaluate

WHATS = ("module", "engine", "engine-alone", "tcp")
PLACES = ("none", "0.5", "1", "2", "4")
LATENCY_LIMIT = 0.6
LARGEST = 4194304
BELOW_ONE = 1 - 1e-9


def read(path):
    """{way: {(length, place): {what: {round: row}}}}; place counts the rows of one length."""
    data = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    head, seen = {}, collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("csv "):
                continue
            names, *cells = line.strip().split(",")
            _, number, way, what = names.split()
            if cells[0] == "bytes":
                head[way] = cells
                continue
            row = {key: float(value) for key, value in zip(head[way], cells) if key != "throughput"}
            length = int(row["bytes"])
            data[way][length, seen[number, way, what, length]][what][int(number)] = row
            seen[number, way, what, length] += 1
    return data


def median(rows, column):
    return statistics.median(row[column] for row in rows.values()) if rows else None


def ratio(point, what, other, column):
    both = [number for number in point.get(what, {}) if number in point.get(other, {})]
    return statistics.median(point[what][n][column] / point[other][n][column] for n in both) if both else None


def cost_table(points, unit="instructions", scale=1000, digits=0):
    whats = [w for w in WHATS if any(w in point for point in points.values())]
    head = ["bytes"] + [f"{w}: {unit}" for w in whats] + ["module/TCP", "module/engine", "engine/TCP"]
    rows = []
    for (length, _), point in sorted(points.items()):
        row = [str(length)]
        row += [evaluate.cell(scale * (median(point.get(w), "median_us") or 0), digits) for w in whats]
        row += [evaluate.cell(ratio(point, *pair, "median_us"))
                for pair in (("module", "tcp"), ("module", "engine"), ("engine", "tcp"))]
        rows.append(row)
    return head, rows


def time_table(points):
    return cost_table(points, "us", 1, 2)


def overlap_table(points):
    whats = [w for w in WHATS if any(w in point for point in points.values())]
    head = ["bytes", "work / own time"] + [f"{w}: MB/s, left, there" for w in whats]
    rows = []
    for (length, place), point in sorted(points.items()):
        row = [str(length), PLACES[place]]
        for what in whats:
            figures = [median(point.get(what), column) for column in ("MB_s", "cpu_share", "there")]
            row.append("-" if None in figures else f"{figures[0]:.0f}, {100 * figures[1]:.0f} %, {100 * figures[2]:.0f} %")
        rows.append(row)
    return head, rows


def verdicts(data):
    """What must hold, what was found, and its limit."""
    found = []
    if data["spin"]:
        small = data["spin"][min(data["spin"])]
        found += [(f"latency, module / TCP, at most {LATENCY_LIMIT}", ratio(small, "module", "tcp", "median_us"), LATENCY_LIMIT),
                  ("latency, module / engine, at most 1", ratio(small, "module", "engine", "median_us"), 1)]
    large = data["block"].get((LARGEST, 0))
    if large:
        found += [(f"instructions for 4 MiB, module / {other}, below 1", ratio(large, "module", other, "median_us"), BELOW_ONE)
                  for other in ("tcp", "engine")]
    computing = [point["module"] for (_, place), point in data["overlap"].items() if place >= 2 and "module" in point]
    if computing:
        there = min(median(rows, "there") for rows in computing)
        found.append(("messages not there after work as long as they take themselves, module, none", 1 - there, 0))
    return found


def evaluate_guest(folder):
    data = read(os.path.join(folder, "result.log"))
    with open(os.path.join(folder, "title"), encoding="utf-8") as file:
        title = file.read().strip()
    title = title[0].upper() + title[1:]
    entry = [f"### {title}", ""]
    print(f"\n{title}")
    for way, name, make in (("spin", "both sides spin, a processor each", time_table),
                            ("yield", "both sides look, and yield between two looks", cost_table),
                            ("block", "both sides block", cost_table),
                            ("overlap", "a receiver that computes", overlap_table)):
        if not data[way]:
            continue
        head, rows = make(data[way])
        print(f"\n{name}\n")
        evaluate.print_table(head, rows)
        with open(f"{folder}-{way}.csv", "w", newline="", encoding="ascii") as file:
            csv.writer(file).writerows([head] + rows)
        entry += [f"{name[0].upper()}{name[1:]}:", ""] + evaluate.markdown(head, rows) + [""]
    print()
    for what, found, limit in verdicts(data):
        holds = "not measured" if found is None else f"{found:.3f}, {'holds' if found <= limit else 'missed'}"
        print(f"{what}: {holds}")
        entry.append(f"- {what}: {holds}")
    return entry + [""]


def main():
    folder, _, entry = evaluate.begin(__doc__, "kernel module, engine and TCP, emulated")
    titles = sorted(glob.glob(os.path.join(folder, "*", "title")), key=os.path.getmtime)
    if not titles:
        sys.exit(f"{folder}: no guest has ended")
    for title in titles:
        entry += evaluate_guest(os.path.dirname(title))
    with open(os.path.join(folder, "entry.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(entry) + "\nConclusion:\n")
    print(f"\nCSV and the notebook entry (entry.md) are in {os.path.relpath(folder)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/mpi: medians, ratios, CSV, picture, notebook entry.

usage: mpi_evaluate.py FOLDER    FOLDER/PATTERN/ROUND/WHAT.csv and FOLDER/settings

Ratios are times of the others over that of EtherMX in the same round: above 1, EtherMX is ahead.
"""
import csv
import os
import sys

import evaluate
import plot

NAMES = {"mx-itself": "MX itself", "mx": "MPI over EtherMX", "mx-list": "as a list", "mx-packed": "packed", "ob1": "ob1/tcp", "ob1-offloads": "ob1/tcp, offloads on",
         "ucx": "UCX tcp", "ofi": "libfabric tcp"}
PATTERNS = ("pingpong", "stream", "both", "vector", "barrier", "bcast", "allreduce", "alltoall", "hpcc", "lammps", "openfoam")


def table(data):
    present = [w for w in NAMES if w in data]
    others = [w for w in present if w not in ("mx", "mx-itself")]
    head = ["bytes"] + [f"{NAMES[w]} us" for w in present] + [f"{NAMES[w]} / EtherMX" for w in others]
    if "mx-itself" in present:
        head.append("MPI adds us")
    rows = []
    for length in sorted({n for w in present for n in data[w]}):
        row = [str(length)] + [evaluate.cell(evaluate.median_of(data, w, length)) for w in present]
        for other in others:
            inverse = evaluate.ratio(data, "mx", [other], length)
            row.append(evaluate.cell(1 / inverse if inverse else None))
        if "mx-itself" in present:
            times = [evaluate.median_of(data, w, length) for w in ("mx", "mx-itself")]
            row.append(evaluate.cell(times[0] - times[1] if all(times) else None))
        rows.append(row)
    return head, rows


def picture(path, settings, pingpong, stream):
    latency = [(NAMES[w], [(n, evaluate.median_of(pingpong, w, n)) for n in sorted(pingpong[w])])
               for w in NAMES if w in pingpong]
    speed = [(NAMES[w], [(n, evaluate.median_of(stream, w, n, "MB_s")) for n in sorted(stream[w]) if n > 0])
             for w in NAMES if w in stream]
    plot.draw(path, "MPI over EtherMX: ping-pong, and a stream's throughput", settings.replace("\n", "; "), latency, speed)


def main():
    folder, settings, entry = evaluate.begin(__doc__, "MPI over EtherMX and over TCP")
    found = {}
    for pattern in PATTERNS:
        data, rounds = evaluate.read_rounds(os.path.join(folder, pattern))
        if not data:
            continue
        found[pattern] = data
        head, rows = table(data)
        print(f"\n{pattern}; medians over {rounds} rounds\n")
        evaluate.print_table(head, rows)
        with open(os.path.join(folder, pattern + ".csv"), "w", newline="", encoding="ascii") as file:
            csv.writer(file).writerows([head] + rows)
        entry += [f"### {pattern}", "", f"{rounds} rounds.", ""] + evaluate.markdown(head, rows) + [""]
    if not found:
        sys.exit(f"{folder}: no measurements; see the logs in it")
    if "pingpong" in found and "stream" in found:
        picture(os.path.join(folder, "mpi.svg"), settings, found["pingpong"], found["stream"])
    with open(os.path.join(folder, "entry.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(entry) + "\nConclusion:\n")
    print(f"\nCSV, picture (.svg) and the notebook entry (entry.md) are in {os.path.relpath(folder)}")


if __name__ == "__main__":
    main()

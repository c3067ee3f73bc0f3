#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/mpi: medians, ratios, CSV, picture, rows for the notebook.

usage: mpi_evaluate.py FOLDER    FOLDER/PATTERN/ROUND/WHAT.csv and FOLDER/settings

Ratios are times of the others over that of EtherMX in the same round: above 1, EtherMX is ahead.
"""
import os
import sys

import evaluate
import history
import plot
import rounds
from rounds import cell, inverse, median, ratio

NAMES = {"mx-itself": "MX itself", "mx": "MPI over EtherMX", "mx-list": "as a list", "mx-packed": "packed", "ob1": "ob1/tcp",
         "ob1-offloads": "ob1/tcp, offloads on", "ucx": "UCX tcp", "ofi": "libfabric tcp"}
PATTERNS = ("pingpong", "stream", "both", "vector", "barrier", "bcast", "allreduce", "alltoall", "hpcc", "lammps", "openfoam")


def table(data):
    present = [w for w in NAMES if w in data]
    others = [w for w in present if w not in ("mx", "mx-itself")]
    head = ["bytes"] + [f"{NAMES[w]} us" for w in present] + [f"{NAMES[w]} / EtherMX" for w in others]
    if "mx-itself" in present:
        head.append("MPI adds us")
    rows = []
    for length in rounds.lengths(data, present):
        times = {w: median(data, w, length) for w in present}
        row = [str(length)] + [cell(times[w]) for w in present]
        row += [cell(inverse(ratio(data, "mx", [other], length))) for other in others]
        if "mx-itself" in present:
            both = (times.get("mx"), times["mx-itself"])
            row.append(cell(both[0] - both[1] if all(both) else None))
        rows.append(row)
    return head, rows


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    found, records = {}, []
    for pattern in PATTERNS:
        data, count = rounds.read(os.path.join(folder, pattern))
        if not data:
            continue
        found[pattern] = data
        head, rows = table(data)
        print(f"\n{pattern}; medians over {count} rounds\n")
        rounds.print_table(head, rows)
        rounds.write_table(os.path.join(folder, pattern + ".csv"), head, rows)
        records += history.of_table(head, rows, f"{pattern}, {count} rounds")
    if not found:
        sys.exit(f"{folder}: no measurements; see the logs in it")
    if "pingpong" in found and "stream" in found:
        plot.draw(os.path.join(folder, "mpi.svg"), "MPI over EtherMX: ping-pong, and a stream's throughput",
                  settings.replace("\n", "; "), evaluate.curves(found["pingpong"], NAMES),
                  evaluate.curves(found["stream"], NAMES, "MB_s"))
    history.write(folder, "mpi", settings, records)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/broadcast: medians, ratios, CSV.

usage: broadcast_evaluate.py FOLDER    FOLDER/ROUND/WHAT.csv and FOLDER/settings

Ratios are times of GAMMA's broadcast, and of MPI_Bcast's through coll/mx, over those of the others in the same round: below 1, the
frame for all hosts is ahead.
"""
import os
import sys

import history
import rounds
from rounds import cell, median, ratio

NAMES = {"gamma": "GAMMA", "coll-mx": "MPI by one frame", "mx": "tree over EtherMX", "tcp": "tree over TCP"}
AHEAD = ("gamma", "coll-mx")


def table(data):
    present = [what for what in NAMES if what in data]
    pairs = [(a, b) for a in AHEAD for b in present if a in present and b not in AHEAD]
    head = ["bytes"] + [f"{NAMES[what]} us" for what in present] + [f"{NAMES[a]} / {NAMES[b]}" for a, b in pairs]
    rows = []
    for length in rounds.lengths(data, present):
        row = [str(length)] + [cell(median(data, what, length)) for what in present]
        rows.append(row + [cell(ratio(data, a, [b], length)) for a, b in pairs])
    return head, rows


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    data, count = rounds.read(folder)
    if not data:
        sys.exit(f"{folder}: no measurements; see the logs in it")
    head, rows = table(data)
    print(f"\nbroadcast; medians over {count} rounds\n")
    rounds.print_table(head, rows)
    rounds.write_table(os.path.join(folder, "broadcast.csv"), head, rows)
    history.write(folder, "broadcast", settings, history.of_table(head, rows, f"broadcast, {count} rounds"))


if __name__ == "__main__":
    main()

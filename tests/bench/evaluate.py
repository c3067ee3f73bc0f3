#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates the rounds of one benchmark run: medians, ratios, CSV, picture, rows for the notebook.

usage: evaluate.py FOLDER    FOLDER/CONFIG/ROUND/WHAT.csv as tests/bench/run writes them,
                             FOLDER/CONFIG/title and FOLDER/settings
"""
import glob
import os
import sys

import history
import plot
import rounds
from rounds import cell, inverse, median, ratio

FLOORS = ("floor-ring", "floor-bulk")
NAMES = {"emx": "EtherMX", "emx-raw": "EtherMX, raw frames", "emx-datagrams": "EtherMX, datagrams",
         "emx-tcp": "EtherMX, TCP", "emx-stream": "EtherMX, stream", "emx-dialect": "EtherMX, no extension",
         "emx-lossy-stream": "EtherMX, stream, 1 % loss",
         "emx-dialect-lossy-stream": "no extension, stream, 1 % loss", "emx-raw-stream": "EtherMX, stream, raw frames",
         "emx-raw-lossy-stream": "EtherMX, stream, raw frames, 1 % loss",
         "emx-datagrams-stream": "EtherMX, stream, datagrams that are cut",
         "emx-datagrams-lossy-stream": "EtherMX, stream, datagrams that are cut, 1 % loss",
         "emx-tcp-stream": "EtherMX, stream, TCP without offloads",
         "emx-tcp-lossy-stream": "EtherMX, stream, TCP without offloads, 1 % loss", "floor-ring": "floor: ring",
         "floor-bulk": "floor: ring + bulk", "floor-udp": "floor: UDP, offloads on", "tcp": "TCP",
         "tcp-offloads": "TCP, offloads on"}


def table(data):
    """Header and rows of texts."""
    present = [w for w in NAMES if w in data]
    head = ["bytes"] + [f"{NAMES[w]} us" for w in present]
    head += ["EtherMX best us", "EtherMX/floor", "TCP/EtherMX", "TCP off./EtherMX", "EtherMX MB/s"]
    rows = []
    for length in rounds.lengths(data, present):
        row = [str(length)] + [cell(median(data, w, length)) for w in present]
        best = [r["min_us"] for r in rounds.rows_of(data, "emx", length).values()]
        row += [cell(min(best, default=None)), cell(ratio(data, "emx", FLOORS, length))]
        row += [cell(inverse(ratio(data, "emx", [other], length))) for other in ("tcp", "tcp-offloads")]
        row.append(cell(median(data, "emx", length, "MB_s"), 1))
        rows.append(row)
    return head, rows


def merit(data, what):
    """(latency, r_inf, N1/2) of the medians over the rounds."""
    lengths = rounds.lengths(data, [what])
    speeds = [(n, median(data, what, n, "MB_s")) for n in lengths]
    r_inf = max(v for _, v in speeds)
    half = 0.0
    for (low, slow), (high, fast) in zip(speeds, speeds[1:]):
        if slow < r_inf / 2 <= fast:
            half = low + (high - low) * (r_inf / 2 - slow) / (fast - slow)
            break
    return median(data, what, lengths[0]), r_inf, half


def print_merits(data):
    """Prints them, and returns (figure, value, unit) of each."""
    found = []
    for what in (w for w in NAMES if w in data):
        latency, r_inf, half = merit(data, what)
        kind = "transmission" if what.endswith("stream") else "end to end"
        print(f"{NAMES[what]} ({kind}): latency {latency:.2f} us, r_inf {r_inf:.0f} MB/s, N1/2 {half:.0f} bytes")
        found += [(f"{NAMES[what]}: r_inf", f"{r_inf:.0f}", "MB/s"), (f"{NAMES[what]}: N1/2", f"{half:.0f}", "bytes")]
    for lossy, whole in (("emx-lossy-stream", "emx-stream"), ("emx-dialect-lossy-stream", "emx-stream"),
                         ("emx-raw-lossy-stream", "emx-raw-stream"),
                         ("emx-datagrams-lossy-stream", "emx-datagrams-stream"),
                         ("emx-tcp-lossy-stream", "emx-tcp-stream"), ("emx", "emx-dialect")):
        for length in rounds.lengths(data, [lossy]):
            slower = ratio(data, lossy, [whole], length)
            if slower and length >= 1 << 20:
                print(f"{NAMES[lossy]}, {length} bytes: {1 / slower:.2f} of the throughput of {NAMES[whole]}")
    # Beside the floor of the carrier; the goal in datagrams is 1.1.
    for floor, whats in (("floor-udp", ("emx", "emx-raw", "emx-datagrams")), ("tcp-offloads", ("emx-tcp",))):
        for what in whats:
            for length in rounds.lengths(data, [what]):
                slower = ratio(data, what, [floor], length)
                if slower and length >= 1 << 18:
                    print(f"{NAMES[what]}, {length} bytes: {slower:.2f} of the time of {NAMES[floor]}")
    return found


def curves(data, names, column="median_us"):
    """For plot.draw: (name, [(length, median)]) of each of names that has been measured."""
    return [(name, [(n, median(data, w, n, column)) for n in rounds.lengths(data, [w]) if n > 0 or column == "median_us"])
            for w, name in names.items() if w in data]


def ratio_curves(data):
    """The floor's ratio and TCP's, as the table has them."""
    wanted = {"EtherMX / floor": [(n, ratio(data, "emx", FLOORS, n)) for n in rounds.lengths(data, ["emx"])],
              **{f"{name} / EtherMX": [(n, inverse(ratio(data, "emx", [what], n))) for n in rounds.lengths(data, ["emx"])]
                 for what, name in (("tcp", "TCP"), ("tcp-offloads", "TCP off."))}}
    curves_found = [(name, [(n, value) for n, value in points if value]) for name, points in wanted.items()]
    return [(name, points) for name, points in curves_found if points]


def short_settings(settings):
    """One line: when, of which commit, on which machine."""
    lines = settings.splitlines()
    return "; ".join(lines[:2] + [line for line in lines if line.startswith("Linux ")] + lines[-1:])


def picture(path, title, subtitle, data):
    ends = {w: name for w, name in NAMES.items() if not w.endswith("stream")}
    streams = {w: name for w, name in NAMES.items() if w.endswith("stream")}
    plot.draw(path, title, subtitle, curves(data, ends), curves(data, {**ends, **streams}, "MB_s"),
              ratio_curves(data))


def evaluate(folder, config, settings):
    base = os.path.join(folder, config)
    data, count = rounds.read(base)
    if not data:
        sys.exit(f"{base}: no measurements; see the logs beside it")
    with open(os.path.join(base, "title"), encoding="utf-8") as file:
        title = file.read().strip()
    print(f"\n{title}; medians over {count} rounds\n")
    head, rows = table(data)
    rounds.print_table(head, rows)
    print()
    merits = print_merits(data)
    rounds.write_table(base + ".csv", head, rows)
    if any(not what.endswith("stream") for what in data): # times alone have a picture
        picture(base + ".svg", f"EtherMX, {title}", short_settings(settings), data)
    configuration = f"{title}, {count} rounds"
    return history.of_table(head, rows, configuration) + \
        [history.Row(figure, "", configuration, value, unit) for figure, value, unit in merits]


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    found = []
    for title in sorted(glob.glob(os.path.join(folder, "*", "title"))):
        found += evaluate(folder, os.path.basename(os.path.dirname(title)), settings)
    history.write(folder, "network", settings, found)


if __name__ == "__main__":
    main()

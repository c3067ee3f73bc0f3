#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates the rounds of one benchmark run: medians, ratios, CSV, picture, notebook entry.

usage: evaluate.py FOLDER    FOLDER/CONFIG/ROUND/WHAT.csv as tests/bench/run writes them,
                             FOLDER/CONFIG/title and FOLDER/settings

Ratios are taken within each round, since figures move from round to round; the median of the
rounds' ratios is printed.
"""
import csv
import glob
import os
import statistics
import sys
import textwrap

import plot

FLOORS = ("floor-ring", "floor-bulk")
NAMES = {"emx": "EtherMX", "emx-stream": "EtherMX, stream",
         "emx-dialect": "EtherMX, no extension", "emx-lossy-stream": "EtherMX, stream, 1 % loss",
         "emx-dialect-lossy-stream": "no extension, stream, 1 % loss", "floor-ring": "floor: ring",
         "floor-bulk": "floor: ring + bulk", "tcp": "TCP", "tcp-offloads": "TCP, offloads on"}
ORDER = list(NAMES)


def read_rounds(folder):
    """{what: {length: [row of each round]}}; a row is a dictionary of numbers."""
    data = {}
    rounds = sorted(glob.glob(os.path.join(folder, "[0-9]*")))
    for number, path in enumerate(rounds):
        for file in sorted(glob.glob(os.path.join(path, "*.csv"))):
            what = os.path.basename(file)[:-4]
            with open(file, newline="", encoding="ascii") as lines:
                for row in csv.DictReader(lines):
                    values = {key: float(value) for key, value in row.items() if key != "throughput"}
                    values["round"] = number
                    data.setdefault(what, {}).setdefault(int(values["bytes"]), []).append(values)
    return data, len(rounds)


def median_of(data, what, length, column="median_us"):
    rows = data.get(what, {}).get(length)
    return statistics.median(r[column] for r in rows) if rows else None


def best_of(data, what, length):
    rows = data.get(what, {}).get(length)
    return min(r["min_us"] for r in rows) if rows else None


def ratio(data, what, others, length):
    """Median over the rounds of what's time over the best of the others' times in that round."""
    theirs = {}
    for other in others:
        for row in data.get(other, {}).get(length, []):
            theirs[row["round"]] = min(theirs.get(row["round"], row["median_us"]), row["median_us"])
    own = [r["median_us"] / theirs[r["round"]] for r in data.get(what, {}).get(length, []) if theirs.get(r["round"])]
    return statistics.median(own) if own else None


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(data):
    """Header and rows of texts."""
    present = [w for w in ORDER if w in data]
    floors = [w for w in FLOORS if w in data]
    head = ["bytes"] + [f"{NAMES[w]} us" for w in present]
    head += ["EtherMX best us", "EtherMX/floor", "TCP/EtherMX", "TCP off./EtherMX", "EtherMX MB/s"]
    rows = []
    for length in sorted({n for w in present for n in data[w]}):
        row = [str(length)] + [cell(median_of(data, w, length)) for w in present]
        inverse = [ratio(data, "emx", [other], length) for other in ("tcp", "tcp-offloads")]
        row += [cell(best_of(data, "emx", length)), cell(ratio(data, "emx", floors, length))]
        row += [cell(1 / r if r else None) for r in inverse]
        row.append(cell(median_of(data, "emx", length, "MB_s"), 1))
        rows.append(row)
    return head, rows


def print_table(head, rows):
    # Headings of several words go over several lines, or the table would be wider than a screen.
    widths = [max(len(w) for r in [head] + rows for w in r[i].split()) for i in range(len(head))]
    wrapped = [textwrap.wrap(text, width) for text, width in zip(head, widths)]
    depth = max(map(len, wrapped))
    lines = zip(*([""] * (depth - len(w)) + w for w in wrapped))
    for row in [*lines, *rows]:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths)))


def merit(data, what):
    """(latency, r_inf, N1/2) of the medians over the rounds."""
    lengths = sorted(data[what])
    speeds = [(n, median_of(data, what, n, "MB_s")) for n in lengths]
    r_inf = max(v for _, v in speeds)
    half = 0.0
    for (low, slow), (high, fast) in zip(speeds, speeds[1:]):
        if slow < r_inf / 2 <= fast:
            half = low + (high - low) * (r_inf / 2 - slow) / (fast - slow)
            break
    return median_of(data, what, lengths[0]), r_inf, half


def print_merits(data):
    lines = []
    for what in (w for w in ORDER if w in data):
        latency, r_inf, half = merit(data, what)
        kind = "transmission" if what.endswith("stream") else "end to end"
        lines.append(f"{NAMES[what]} ({kind}): latency {latency:.2f} us, r_inf {r_inf:.0f} MB/s, N1/2 {half:.0f} bytes")
    for lossy, whole in (("emx-lossy-stream", "emx-stream"), ("emx-dialect-lossy-stream", "emx-stream"),
                         ("emx", "emx-dialect")):
        for length in sorted(data.get(lossy, {})):
            slower = ratio(data, lossy, [whole], length)
            if slower and length >= 1 << 20:
                lines.append(f"{NAMES[lossy]}, {length} bytes: {1 / slower:.2f} of the throughput of {NAMES[whole]}")
    print("\n".join(lines))
    return lines


def picture(path, title, subtitle, data):
    curves = [w for w in ORDER if w in data]
    latency = [(NAMES[w], [(n, median_of(data, w, n)) for n in sorted(data[w])]) for w in curves
               if not w.endswith("stream")]
    speed = [(NAMES[w], [(n, median_of(data, w, n, "MB_s")) for n in sorted(data[w]) if n > 0]) for w in curves
             if not w.endswith("stream")]
    speed += [(NAMES[w], [(n, median_of(data, w, n, "MB_s")) for n in sorted(data[w]) if n > 0]) for w in curves
              if w.endswith("stream")]
    plot.draw(path, title, subtitle, latency, speed)


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def evaluate(folder, config, settings):
    base = os.path.join(folder, config)
    data, rounds = read_rounds(base)
    if not data:
        sys.exit(f"{base}: no measurements; see the logs beside it")
    with open(os.path.join(base, "title"), encoding="utf-8") as file:
        title = file.read().strip()
    print(f"\n{title}; medians over {rounds} rounds\n")
    head, rows = table(data)
    print_table(head, rows)
    print()
    lines = print_merits(data)
    with open(base + ".csv", "w", newline="", encoding="ascii") as file:
        csv.writer(file).writerows([head] + rows)
    picture(base + ".svg", f"EtherMX, {title}", settings.replace("\n", "; "), data)
    return [f"### {title}", "", f"{rounds} rounds.", ""] + markdown(head, rows) + [""] + \
        [f"- {line}" for line in lines] + [""]


def begin(usage, title):
    """(folder of the command line, its settings, the first lines of a notebook entry)."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    with open(os.path.join(sys.argv[1], "settings"), encoding="utf-8") as file:
        settings = file.read().strip()
    lines = settings.split("\n")
    return sys.argv[1], settings, [f"## {lines[0]}: {title}", ""] + [f"- {line}" for line in lines] + [""]


def main():
    folder, settings, entry = begin(__doc__, "floor, TCP and EtherMX")
    for title in sorted(glob.glob(os.path.join(folder, "*", "title"))):
        entry += evaluate(folder, os.path.basename(os.path.dirname(title)), settings)
    with open(os.path.join(folder, "entry.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(entry) + "\nConclusion:\n")
    print(f"\nCSV, pictures (.svg) and the notebook entry (entry.md) are in {os.path.relpath(folder)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Keeps the measurements in docs/performance, and draws what became of the main ratios.

usage: history.py                 draws docs/performance/history.svg
       history.py FOLDER [NOTE]   first adds the run whose results are in FOLDER

A run is a line of runs.csv; its figures are rows of network.csv, mpi.csv, kernel.csv, ... with the run's date.
"""
import csv
import datetime
import math
import os
import re
import sys
from typing import NamedTuple

import plot

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "performance")
RUN = ("date", "commit", "file", "command", "machine", "note")
ALIASES = {"TCP off.": "TCP, offloads on"}


class Row(NamedTuple):
    """A figure. The ratio is figure / compared, a median over rounds, so not exactly the quotient of the two values."""
    figure: str
    bytes: str
    configuration: str
    value: str
    unit: str
    compared: str = ""
    compared_value: str = ""
    ratio: str = ""


HEAD = ("date", "commit") + Row._fields


def measured(heading, text):
    """(figure, value, unit) of what a column's cell holds; none of a column of ratios."""
    triple = re.fullmatch(r"(.+): (us|MB/s), left, there", heading)
    single = re.fullmatch(r"(.+?):? (us|MB/s|instructions)", heading)
    if "-" == text:
        return []
    if triple:
        value, left, there = text.split(", ")
        return [(triple[1], value, triple[2]), (f"{triple[1]}: left for work", left.rstrip(" %"), "%"),
                (f"{triple[1]}: there at the first look", there.rstrip(" %"), "%")]
    return [(single[1], text, single[2])] if single else []


def same_name(name, figures):
    """The figure that a heading of ratios means: "TCP" is tcp, and "EtherMX" may be MPI over it."""
    name = ALIASES.get(name, name)
    for figure in figures:
        if figure.lower() == name.lower() or figure == f"MPI over {name}":
            return figure
    return name


def of_table(head, rows, configuration):
    """Rows of a table of texts: "A us" is a figure, "A/B" or "A / B" a ratio of two of them."""
    found = []
    for texts in rows:
        line = dict(zip(head, texts))
        place = line.get("work / own time")
        where = configuration + (f"; work / own time {place}" if place else "")
        figures = [figure for heading, text in line.items() for figure in measured(heading, text)]
        times = {name: value for name, value, unit in reversed(figures) if unit in ("us", "instructions")}
        compared = {}
        for heading, text in line.items():
            pair = heading.split(" / " if " / " in heading else "/")
            if len(pair) == 2 and heading != "work / own time" and not measured(heading, text) and text != "-":
                first, second = (same_name(name, times) for name in pair)
                compared.setdefault(first, []).append((second, times.get(second, ""), text))
        for name, value, unit in figures:
            others = compared.get(name, [("", "", "")]) if times.get(name) == value else [("", "", "")]
            found += [Row(name, line.get("bytes", ""), where, value, unit, *other) for other in others]
    return found


def write(folder, file, settings, rows):
    """The rows that "history.py FOLDER" adds; settings are those of a run: its date, its commit, and what else is to be known."""
    date, commit, *rest = settings.split("\n")
    command = [line.strip("`") for line in rest if line.startswith("`")]
    machine = "; ".join(line for line in rest if not line.startswith("`"))
    run = [date.removesuffix(" UTC"), commit.removeprefix("commit "), file, "; ".join(command), machine]
    with open(os.path.join(folder, "history.csv"), "w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows([run] + [run[:2] + list(row) for row in rows])
    print(f"\nTables and pictures are in {os.path.relpath(folder)}; for the notebook: tests/bench/history.py "
          f"{os.path.relpath(folder)} 'what it shows'")


def append(name, head, rows):
    path = os.path.join(DOCS, name + ".csv")
    fresh = not os.path.exists(path)
    with open(path, "a", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(([head] if fresh else []) + rows)


def add(folder, note):
    with open(os.path.join(folder, "history.csv"), newline="", encoding="utf-8") as file:
        run, *rows = csv.reader(file)
    append("runs", RUN, [run + [note]])
    append(run[2], HEAD, rows)


class TimePanel(plot.Panel):
    """A diagram over dates, its ratios from 0 on a linear axis."""
    caption = "date"

    def __init__(self, left, title, days, ratios):
        super().__init__(left, title, "ratio", days, ratios)
        self.y_low, self.y_high = 0, math.ceil(max(ratios) * 4) / 4

    @staticmethod
    def place(length):
        return length

    def y(self, value):
        return plot.PANEL_TOP + plot.PANEL_HEIGHT * (1 - value / self.y_high)

    def ticks(self):
        step = 0.25 if self.y_high <= 3 else 0.5
        return [n * step for n in range(int(self.y_high / step) + 1)]

    def x_ticks(self):
        days = range(math.floor(self.x_low), math.ceil(self.x_high) + 1)
        for day in days[::max(1, math.ceil(len(days) / 8))]:
            if self.x_low <= day <= self.x_high:
                yield day, datetime.date.fromordinal(day).isoformat()


def curve(file, figure, compared, length, configuration):
    """[(day, ratio)] of these rows; days are ordinals with a fraction."""
    with open(os.path.join(DOCS, file + ".csv"), newline="", encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if r["ratio"] and re.search(configuration, r["configuration"])]
    rows = [r for r in rows if (r["figure"], r["compared"], r["bytes"]) == (figure, compared, str(length))]
    times = [(datetime.datetime.fromisoformat(r["date"]), float(r["ratio"])) for r in rows]
    return sorted((t.toordinal() + (t.hour * 60 + t.minute) / 1440, ratio) for t, ratio in times)


def draw():
    network, spin = "^MTU 9000, dialect N=9000", "^two processors, time"
    floor = [(f"{name} (goal {goal})", curve("network", "EtherMX", "floor", length, network))
             for name, length, goal in (("8 B", 8, 1.15), ("4 MiB", 4194304, 1.11))]
    floor.append(("module/TCP, 8 B (goal 0.6)", curve("kernel", "module", "tcp", 8, spin)))
    tcp = [(name, curve("network", "TCP", "EtherMX", length, network)) for name, length in (("8 B", 8), ("16 KiB", 16384))]
    tcp.append(("MPI, ob1/tcp, 8 B", curve("mpi", "ob1/tcp", "MPI over EtherMX", 8, "^pingpong")))
    out = plot.begin("Ratios of half round trips since the first measurement",
                     "Made by tests/bench/history.py from docs/performance/*.csv. Each point is a run; goals are upper limits on the "
                     "left (0.9 of the throughput of raw frames at 4 MiB is 1.11 of their time).")
    days = [x for _, points in floor + tcp for x, _ in points]
    left = plot.PANEL_LEFT
    for title, curves in (("EtherMX over raw frames, module over TCP (below is better)", floor),
                          ("TCP over EtherMX (above is better)", tcp)):
        out += plot.panel(TimePanel(left, title, days, [v for _, points in curves for _, v in points]), curves)
        left += plot.PANEL_WIDTH + plot.PANEL_GAP
    plot.end(os.path.join(DOCS, "history.svg"), out)


def main():
    if len(sys.argv) > 3 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    if len(sys.argv) > 1:
        add(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    draw()


if __name__ == "__main__":
    main()

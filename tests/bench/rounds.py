# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rounds of measurements: reading, medians, ratios, tables; for the evaluations of tests/bench.

Data is {what: {(length, place): {round: row}}}: place counts the rows of one length in a series, a row is a dictionary of
numbers. Ratios are taken within a round, since figures move from round to round.
"""
import collections
import csv
import glob
import os
import statistics
import sys
import textwrap


# Columns that are no numbers.
TEXTS = {"throughput", "version", "date", "device", "interface", "dialect"}


def new_data():
    return collections.defaultdict(lambda: collections.defaultdict(dict))


def add_series(data, what, number, rows):
    """Adds one series, dictionaries of texts, as round number of what."""
    seen = collections.Counter()
    for row in rows:
        values = {key: float(value) for key, value in row.items() if key not in TEXTS and value}
        length = int(values["bytes"])
        data[what][length, seen[length]][number] = values
        seen[length] += 1


def read(folder):
    """Data of FOLDER/ROUND/WHAT.csv, and the number of rounds."""
    data = new_data()
    paths = sorted(glob.glob(os.path.join(folder, "[0-9]*")))
    for number, path in enumerate(paths):
        for name in sorted(glob.glob(os.path.join(path, "*.csv"))):
            with open(name, newline="", encoding="ascii") as lines:
                add_series(data, os.path.basename(name)[:-4], number, csv.DictReader(lines))
    return data, len(paths)


def lengths(data, whats=None):
    return sorted({n for what in whats or list(data) for n, _ in data.get(what, {})})


def places(data):
    return sorted({point for points in data.values() for point in points})


def rows_of(data, what, length, place=0):
    return data.get(what, {}).get((length, place), {})


def median(data, what, length, column="median_us", place=0):
    rows = rows_of(data, what, length, place)
    return statistics.median(row[column] for row in rows.values()) if rows else None


def ratios(data, what, others, length, column="median_us", place=0):
    """The ratio of the figure of `what` to the least of the others' figures, of each round that has both."""
    found = []
    for number, row in sorted(rows_of(data, what, length, place).items()):
        theirs = [rows_of(data, other, length, place)[number][column] for other in others
                  if number in rows_of(data, other, length, place)]
        if theirs and min(theirs) > 0:
            found.append(row[column] / min(theirs))
    return found


def ratio(data, what, others, length, column="median_us", place=0):
    """Median over the rounds of ratios()."""
    found = ratios(data, what, others, length, column, place)
    return statistics.median(found) if found else None


def inverse(value):
    return 1 / value if value else None


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def print_table(head, rows):
    # Headings of several words go over several lines, or the table would be wider than a screen.
    widths = [max(map(len, text.split() + [row[i] for row in rows])) for i, text in enumerate(head)]
    wrapped = [textwrap.wrap(text, width) for text, width in zip(head, widths)]
    depth = max(map(len, wrapped))
    lines = zip(*([""] * (depth - len(w)) + w for w in wrapped))
    for row in [*lines, *rows]:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths)))


def write_table(path, head, rows):
    with open(path, "w", newline="", encoding="ascii") as file:
        csv.writer(file, lineterminator="\n").writerows([head] + rows)


def folder_and_settings(usage):
    """The folder of the command line and the text of its settings, which the script that measured has written."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    with open(os.path.join(sys.argv[1], "settings"), encoding="utf-8") as file:
        return sys.argv[1], file.read().strip()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates the rounds of tests/bench/loss and tests/bench/overlap: medians, rows for the notebook.

usage: tables.py FOLDER    FOLDER/ROUND/WHAT.csv, FOLDER/settings and FOLDER/title: "loss, ..." or "overlap, ..."
"""
import os

import history
import kernel_evaluate
import rounds

COLUMNS = ("median_us", "p90_us", "p99_us", "max_us", "mean_us")


def loss_table(data):
    """A row for each what: with the extension and without."""
    head = ["bytes", "what"] + [column.replace("_us", " us") for column in COLUMNS]
    return head, [[str(length), what] + [rounds.cell(rounds.median(data, what, length, c)) for c in COLUMNS]
                  for length in rounds.lengths(data) for what in data]


def overlap_table(data):
    return kernel_evaluate.overlap_table(data, ("helper", "no-helper", "tcp"), ("us", "elapsed_us", 1))


def loss_records(head, rows, configuration):
    """Like history.of_table, with what in the configuration."""
    found = [record for row in rows
             for record in history.of_table([head[0]] + head[2:], [row[:1] + row[2:]], f"{configuration}; {row[1]}")]
    return [record._replace(figure=f"half round trip: {record.figure}") for record in found]


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    data, count = rounds.read(folder)
    with open(os.path.join(folder, "title"), encoding="utf-8") as file:
        kind, _, title = file.read().strip().partition(", ")
    head, rows = loss_table(data) if kind == "loss" else overlap_table(data)
    print(f"{title}; medians over {count} rounds\n")
    rounds.print_table(head, rows)
    records = loss_records if kind == "loss" else history.of_table
    history.write(folder, kind, settings, records(head, rows, f"{title}, {count} rounds"))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads the output of the programs of one run."""
import csv
import os


class Run:
    """Results below FOLDER/raw. A measurement that is missing reads as empty."""

    def __init__(self, folder):
        self.folder = folder
        self.raw = os.path.join(folder, "raw")
        with open(os.path.join(self.raw, "facts"), encoding="utf-8") as file:
            self.facts = [line.strip() for line in file if line.strip()]

    def fact(self, name):
        """The value of a "name: value" in the facts; several may stand in one line."""
        for line in self.facts:
            for part in line.split("; "):
                key, _, value = part.partition(": ")
                if key == name:
                    return value
        return ""

    @property
    def quick(self):
        return self.fact("quick") == "1"

    def left_out(self):
        return [line.removeprefix("left out: ") for line in self.facts if line.startswith("left out: ")]

    def rows(self, name):
        """Rows of raw/NAME.csv as dictionaries of texts."""
        path = os.path.join(self.raw, name + ".csv")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def curve(self, name, column, **wanted):
        """{length: value} of one column, of the rows whose other columns are as wanted."""
        return {int(row["bytes"]): float(row[column]) for row in self.rows(name)
                if all(row[key] == value for key, value in wanted.items())}

    def best_of_runs(self, name):
        """{length: the least of the runs' means} of NAME-run1, NAME-run2, ..."""
        best = {}
        number = 1
        while curve := self.curve(f"{name}-run{number}", "mean_us"):
            for length, us in curve.items():
                best[length] = min(us, best.get(length, us))
            number += 1
        return best

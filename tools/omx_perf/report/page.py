# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The report as Markdown, and each of its tables as CSV, too."""
import csv
import os


def number(value, digits=3):
    """Three digits that count, without an exponent; "-" for nothing."""
    if value is None:
        return "-"
    magnitude = abs(value)
    places = 0 if magnitude >= 100 else 1 if magnitude >= 10 else 2 if magnitude >= 1 else digits
    return f"{value:.{places}f}"


def size(length):
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if length >= 1 << shift and length % (1 << shift) == 0:
            return f"{length >> shift} {unit}"
    return f"{length} B"


class Page:
    """Collects text; save() writes it to FOLDER/report.md."""

    def __init__(self, folder):
        self.folder = folder
        self.parts = []

    def add(self, *texts):
        self.parts += [text.strip() for text in texts]

    def table(self, name, head, rows):
        """A table in the page, and FOLDER/NAME.csv. Cells are texts."""
        widths = ["---"] + ["---:"] * (len(head) - 1)
        self.add("\n".join("| " + " | ".join(cells) + " |" for cells in [head, widths] + rows))
        with open(os.path.join(self.folder, name + ".csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head] + rows)

    def picture(self, title, name):
        self.add(f"![{title}]({name}.svg)")

    def save(self):
        with open(os.path.join(self.folder, "report.md"), "w", encoding="utf-8") as file:
            file.write("\n\n".join(self.parts) + "\n")

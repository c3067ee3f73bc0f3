#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Judges the folder of a quick report: report_check.py FOLDER. Times are none of its business."""
import csv
import os
import re
import sys
import xml.etree.ElementTree as xml

FRAMES = {"9000", "1500", "256"}
SVG = "{http://www.w3.org/2000/svg}"
TABLES = {"fm": 11, "layers": 4, "gamma": 8, "batches": 5, "processor": 12, "copies": 3, "acknowledgements": 4, "mtu": 10, "collectives": 1, "latency": 7}
PICTURES = {"fm": 6, "layers": 3, "gamma": 5, "processor": 2, "mtu": 6, "collectives": 5}
SECTIONS = ("Fast Messages", "Layers over MX", "GAMMA's definitions", "EMP", "Open-MX's tables", "Influence of the MTU",
            "Copy offload and pinning")
SIGNED = {"gain %", "published gain % (2011)"}
TEXTS = {"noise", "-"}
NAME_MAX = 21  # characters beside the right diagram


def fail(text):
    sys.exit(f"report: {text}")


def figure(text):
    return float(text.removeprefix("+"))


def check_row(name, head, row, published):
    """Each cell is a figure above zero, except reasons for a missing one, and those that may be 0 (work, its share)."""
    if len(row) != len(head):
        fail(f"{name}: {row} has not {len(head)} cells")
    if published:
        return
    for title, text in list(zip(head, row))[1:]:
        if text in TEXTS or title in ("length", "longest"):
            continue
        value = figure(text)
        if name == "copies" and value == 0:
            continue
        if value < 0 and title not in SIGNED or value == 0 and title not in SIGNED | {"work us", "share for the work, %"}:
            fail(f"{name}: {title} is {text} in {row}")


def check_tables(folder, lacking):
    for name, least in TABLES.items():
        if name == "collectives" and "MPI" in lacking:
            continue
        with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as file:
            head, *rows = list(csv.reader(file))
        for row in rows:
            check_row(name, head, row, row[0].startswith("published"))
        if len(rows) < least and not lacking:
            fail(f"{name}: only {len(rows)} rows")
        print(f"{name}: {len(rows)} rows")


def check_picture(folder, name, least):
    root = xml.parse(os.path.join(folder, name + ".svg")).getroot()
    if root.tag != SVG + "svg":
        fail(f"{name}.svg is {root.tag}")
    width, height = (float(root.get(side)) for side in ("width", "height"))
    lines = root.findall(SVG + "polyline")
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        if not points or not all(0 <= x <= width and 0 <= y <= height for x, y in points):
            fail(f"{name}.svg: a curve leaves the picture: {points}")
    for text in root.findall(SVG + "text"):
        if text.get("class") == "name" and len(text.text) > NAME_MAX:
            fail(f"{name}.svg: no room for the name {text.text}")
    if len(lines) < least:
        fail(f"{name}.svg has {len(lines)} curves, not {least}")
    print(f"{name}.svg: {len(lines)} curves")


def check_page(folder):
    """The text of the left-out measurements."""
    with open(os.path.join(folder, "report.md"), encoding="utf-8") as file:
        text = file.read()
    body, _, lacking = text.partition("## Left out")
    if "A quick look" not in body:
        fail("does not say that it is a quick look")
    lacking = "" if "Nothing." in lacking else lacking
    for section in SECTIONS:
        if "## " + section not in body and not lacking:
            fail(f"no section on {section}")
    for picture in re.findall(r"!\[.*\]\((.*)\)", body):
        if not os.path.exists(os.path.join(folder, picture)):
            fail(f"shows {picture}, which is not there")
    for table in re.findall(r"(?:^\|.*\n)+", body, re.M):
        if len({line.count("|") for line in table.splitlines()}) != 1:
            fail(f"a table with rows of different lengths:\n{table}")
    if "published: FM 1.0 (1995)" not in body or "published: GAMMA (2009)" not in body or "published: EMP (2001)" not in body:
        fail("published figures are lacking")
    return lacking


def main():
    folder = sys.argv[1]
    lacking = check_page(folder)
    if lacking and (os.environ.get("CI") == "true" or os.environ.get("EMX_NO_SKIP") == "1"):
        fail(f"not to be left out: {lacking}")
    check_tables(folder, lacking)
    for name, least in PICTURES.items():
        if not (lacking and name in ("collectives", "fm", "layers", "processor")):
            check_picture(folder, name, least)


if __name__ == "__main__":
    main()

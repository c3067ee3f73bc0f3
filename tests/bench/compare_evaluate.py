#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Evaluates one run of tests/bench/compare: tables, ratios, pictures, and which goals of compare.conf hold.

usage: compare_evaluate.py FOLDER    FOLDER/SCENE/ROUND/WHAT.csv, FOLDER/SCENE/title and FOLDER/settings

Ratios are times of EtherMX over the least of the others' in the same round: below 1, EtherMX is ahead.
"""
import glob
import json
import os
import sys
from statistics import geometric_mean
from typing import NamedTuple

import evaluate
import history
import mpi_evaluate
import plot
import rounds
from rounds import cell, median, ratio

GOALS = os.path.join(os.path.dirname(__file__), "compare.conf")
NAMES = {**evaluate.NAMES, **mpi_evaluate.NAMES, "mx-udp": "MPI over a UDP board", "vader": "vader", "ucx-shm": "UCX shared memory",
         "ucx-offloads": "UCX tcp, offloads on", "mpich": "MPICH", "emx-within-stream": "EtherMX, stream"}
OURS = ("emx", "mx", "mx-udp", "emx-within-stream", "emx-lossy-stream")


class Goal(NamedTuple):
    """A row of compare.conf."""
    scene: str
    what: str
    others: tuple
    first: int
    last: int
    bound: float
    of: str

    def judge(self, data):
        """{length: ratio} of what has been measured, and the figure to compare with the bound; None where there is none."""
        found = {n: ratio(data, self.what, self.others, n) for n in rounds.lengths(data, [self.what]) if self.first <= n <= self.last}
        found = {n: value for n, value in found.items() if value}
        if not found:
            return found, None
        return found, geometric_mean(found.values()) if self.of == "mean" else max(found.values())


def read_goals(path=GOALS):
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    goals = []
    for scene, what, others, first, last, bound, of in rows:
        if of not in ("each", "mean"):
            sys.exit(f'{path}: "{of}" is not "each" or "mean": correct it')
        goals.append(Goal(scene, what, tuple(others.split(",")), int(first), int(last), float(bound), of))
    return goals


def table(data):
    """Header and rows of texts: times of all, and EtherMX over each other."""
    present = [w for w in NAMES if w in data]
    ours = [w for w in present if w in OURS]
    pairs = [(a, b) for a in ours for b in present if b not in OURS]
    head = ["bytes"] + [f"{NAMES[w]} us" for w in present] + [f"{NAMES[a]} / {NAMES[b]}" for a, b in pairs]
    return head, [[str(n)] + [cell(median(data, w, n)) for w in present] + [cell(ratio(data, a, [b], n)) for a, b in pairs]
                  for n in rounds.lengths(data, present)]


def picture(path, title, settings, data):
    names = {w: name for w, name in NAMES.items() if w in data}
    lengths = rounds.lengths(data)
    if len(lengths) < 3: # a table says it all
        return
    pairs = {f"{NAMES[a]} / {NAMES[b]}": (a, b) for a in data if a in OURS for b in data if b not in OURS}
    ratios = [(name, [(n, value) for n in lengths if (value := ratio(data, a, [b], n))]) for name, (a, b) in pairs.items()]
    plot.draw(path, title, evaluate.short_settings(settings), evaluate.curves(data, names), evaluate.curves(data, names, "MB_s"),
              [curve for curve in ratios if curve[1]])


def scene_of(folder, settings):
    """One scene's data, its table printed and written."""
    data, count = rounds.read(folder)
    if not data:
        return None, []
    with open(os.path.join(folder, "title"), encoding="utf-8") as file:
        title = file.read().strip()
    head, rows = table(data)
    print(f"\n{title}; medians over {count} rounds\n")
    rounds.print_table(head, rows)
    rounds.write_table(folder + ".csv", head, rows)
    picture(folder + ".svg", title, settings, data)
    return data, history.of_table(head, rows, f"{title}, {count} rounds")


def judge(goals, scenes):
    """Head and rows of a table of the goals, and the same for JSON."""
    rows, records = [], []
    for goal in (g for g in goals if g.scene in scenes):
        found, figure = goal.judge(scenes[goal.scene])
        verdict = "not measured" if figure is None else "holds" if figure <= goal.bound else "does not"
        others = " or ".join(NAMES[w] for w in goal.others if w in scenes[goal.scene])
        where = str(goal.first) if goal.first == goal.last else f"{goal.first} to {goal.last}"
        rows.append([goal.scene, NAMES[goal.what], others, where, goal.of, f"{goal.bound:g}", cell(figure), verdict])
        records.append({**goal._asdict(), "ratios": found, "figure": figure, "verdict": verdict})
    return ["scene", "what", "beside", "bytes", "of", "bound", "ratio", "verdict"], rows, records


def main():
    folder, settings = rounds.folder_and_settings(__doc__)
    scenes, records = {}, []
    for path in sorted(glob.glob(os.path.join(folder, "*", "title"))):
        scene = os.path.dirname(path)
        data, found = scene_of(scene, settings)
        if data:
            scenes[os.path.basename(scene)] = data
            records += found
    if not scenes:
        sys.exit(f"{folder}: no measurements; see the logs in it")
    head, rows, goals = judge(read_goals(), scenes)
    print("\ngoals: the ratio of the times, at worst of each length or in the geometric mean over them\n")
    rounds.print_table(head, rows)
    rounds.write_table(os.path.join(folder, "goals.csv"), head, rows)
    with open(os.path.join(folder, "compare.json"), "w", encoding="utf-8") as file:
        json.dump({"settings": settings.splitlines(), "goals": goals,
                   "figures": [dict(zip(history.Row._fields, row)) for row in records]}, file, indent=1)
    history.write(folder, "compare", settings, records)


if __name__ == "__main__":
    main()

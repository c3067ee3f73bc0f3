#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Says which figure of tests/bench/gate is worse than the base; its head has the rule.

usage: gate_evaluate.py [--doubtful] FOLDER   FOLDER/first/ROUND/BUILD.SERIES.csv, FOLDER/second where measured, FOLDER/settings

--doubtful prints only what needs a second pass, a line of tests/bench/gate each. Exit status: 1 a figure is worse, 2 no verdict.
"""
import math
import os
import statistics
import sys
from typing import NamedTuple

import history
import plot
import rounds

LEAST_ROUNDS = 11
CHANCE = 1 / 100  # of one figure in one pass; two must agree
LEAST_NOISE, MOST_NOISE = 1.02, 1.25
SERIES = {"between": "between hosts", "within": "within a host", "between-rate": "between hosts, stream",
          "within-rate": "within a host, stream"}
LENGTHS = {"between": (0, 64, 1024, 8192, 65536, 1048576), "between-rate": (8,)}
LENGTHS |= {"within": LENGTHS["between"], "within-rate": LENGTHS["between-rate"]}


class Verdict(NamedTuple):
    """Figures of one pass; times in microseconds, ratio and noise as factors."""
    base: float
    now: float
    ratio: float
    noise: float
    word: str


def rank(count):
    """The median of count values lies above the rank-th largest of them by chance, CHANCE at most."""
    tail, found = 0.0, 0
    for k in range(count):
        tail += math.comb(count, k) / 2.0 ** count
        if tail > CHANCE:
            break
        found = k + 1
    return found


def noise_of(pairs):
    """The factor by which the median of so many ratios may be off by chance alone, from the two copies' times."""
    place = rank(len(pairs)) - 1
    above = sorted((copy / base for base, copy in pairs), reverse=True)[place]
    below = sorted((base / copy for base, copy in pairs), reverse=True)[place]
    return max(above, below, LEAST_NOISE)


def judge(times):
    """times: (base, copy, now) of each round; None when there are too few."""
    if len(times) < LEAST_ROUNDS:
        return None
    noise = noise_of([(base, copy) for base, copy, _ in times])
    ratio = statistics.median(now / math.sqrt(base * copy) for base, copy, now in times)
    word = "worse" if ratio > noise else "better" if ratio < 1 / noise else "same" if noise <= MOST_NOISE else "unclear"
    return Verdict(statistics.median(t[0] for t in times), statistics.median(t[2] for t in times), ratio, noise, word)


def final(first, second):
    """A figure is worse, or better, only when both passes say so; second is None where no such pass was made."""
    if first is None or second is None or second.word == first.word:
        return second or first
    return second._replace(word="unclear" if "unclear" in (first.word, second.word) else "same")


def read(folder):
    """{(series, length): verdict or None} of one pass; every figure that there must be."""
    data, _ = rounds.read(folder)
    found = {}
    for series in SERIES:
        for length in LENGTHS[series]:
            rows = [rounds.rows_of(data, f"{build}.{series}", length) for build in ("base", "copy", "now")]
            complete = sorted(set(rows[0]) & set(rows[1]) & set(rows[2]))
            found[series, length] = judge([tuple(r[n]["median_us"] for r in rows) for n in complete])
    return found


def doubtful(first):
    """The groups of tests/bench/gate that hold what is worse."""
    for (series, length), verdict in first.items():
        if verdict and verdict.word == "worse":
            where, _, rate = series.partition("-")
            yield f"{where}:{rate or length}:{length + 1}:2"


def table(found):
    head = ["figure", "base us", "now us", "now/base", "noise", "verdict"]
    rows = []
    for (series, length), v in found.items():
        cells = [f"{v.base:.3f}", f"{v.now:.3f}", f"{v.ratio:.3f}", f"{v.noise:.3f}", v.word] if v else ["-"] * 4 + ["not measured"]
        size = plot.size_name(length)
        unit = f"{size[-1]}iB" if size[-1] in "KM" else "B"
        rows.append([f"{SERIES[series]}, {size.rstrip('KM')} {unit}"] + cells)
    return head, rows


def records(found):
    for (series, length), v in found.items():
        if v:
            kind = "time per message" if series.endswith("rate") else "half round trip"
            yield history.Row(kind, str(length), SERIES[series], f"{v.now:.3f}", "us", "base", f"{v.base:.3f}", f"{v.ratio:.3f}")


def main():
    if sys.argv[1:2] == ["--doubtful"]:
        for group in doubtful(read(os.path.join(sys.argv[2], "first"))):
            print(group)
        return 0
    folder, settings = rounds.folder_and_settings(__doc__)
    found, again = (read(os.path.join(folder, name)) for name in ("first", "second"))
    found = {figure: final(verdict, again[figure]) for figure, verdict in found.items()}
    head, rows = table(found)
    rounds.print_table(head, rows)
    rounds.write_table(os.path.join(folder, "gate.csv"), head, rows)
    history.write(folder, "gate", settings, records(found))
    return conclude([row[-1] for row in rows], [row[0] for row in rows])


def conclude(words, names):
    """Prints what is worse, and what has no verdict; the exit status."""
    worse, unclear = ([name for name, word in zip(names, words) if word in kinds]
                      for kinds in (("worse",), ("unclear", "not measured")))
    if unclear:
        print(f"no verdict, the machine is too busy or the rounds are too few: {'; '.join(unclear)}")
    print(f"worse: {'; '.join(worse)}" if worse else "no figure is worse" if not unclear else "no other figure is worse")
    return 1 if worse else 2 if unclear else 0


if __name__ == "__main__":
    sys.exit(main())

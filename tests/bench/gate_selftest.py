#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The verdicts of gate_evaluate.py on made-up numbers: the same each time, since the generator is seeded."""
import csv
import os
import random
import subprocess
import sys
import tempfile
import unittest

import gate_evaluate as gate

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = "bytes,iterations,min_us,median_us,p90_us,p99_us,max_us,mean_us,MB_s,throughput".split(",")


def rounds_of(random_source, factor, count=31, spread=0.03):
    """(base, copy, now): a machine of two moods that all three share, noise of each, and now and then a burst."""
    found = []
    for _ in range(count):
        mood = random_source.choice((1.0, 1.3))
        times = [1.5 * mood * random_source.lognormvariate(0, spread) * random_source.choice((1,) * 19 + (3,)) for _ in "abc"]
        found.append((times[0], times[1], times[2] * factor))
    return found


def write_pass(folder, factors, count=31):
    """A pass as tests/bench/gate writes it; factors by (series, length) are those of "now"."""
    source = random.Random(7)
    times = {(s, n): rounds_of(source, factors.get((s, n), 1), count) for s in gate.SERIES for n in gate.LENGTHS[s]}
    for number in range(count):
        os.makedirs(os.path.join(folder, str(number + 1)))
        for place, build in enumerate(("base", "copy", "now")):
            for series in gate.SERIES:
                with open(os.path.join(folder, str(number + 1), f"{build}.{series}.csv"), "w", encoding="ascii") as file:
                    rows = [[n, 9, 1, times[series, n][number][place], 1, 1, 1, 1, 1, "x"] for n in gate.LENGTHS[series]]
                    csv.writer(file).writerows([HEAD] + rows)


def run(first, second=None, count=31):
    """(status, what is printed, what needs a second pass) of made-up passes."""
    with tempfile.TemporaryDirectory() as folder:
        write_pass(os.path.join(folder, "first"), first, count)
        if second is not None:
            write_pass(os.path.join(folder, "second"), second, count)
        with open(os.path.join(folder, "settings"), "w", encoding="ascii") as file:
            file.write("2026-01-01 00:00 UTC\ncommit 0\n`made up`\n")
        program = [sys.executable, os.path.join(HERE, "gate_evaluate.py")]
        ended = subprocess.run(program + [folder], capture_output=True, text=True, check=False)
        again = subprocess.run(program + ["--doubtful", folder], capture_output=True, text=True, check=True)
        return ended.returncode, ended.stdout, again.stdout.split()


class Verdicts(unittest.TestCase):
    def test_a_slower_figure_is_worse(self):
        slower = {("between", 64): 1.2, ("within-rate", 8): 1.2}
        status, text, again = run(slower)
        self.assertEqual((status, again), (1, ["between:64:65:2", "within:rate:9:2"]))
        self.assertIn("worse: between hosts, 64 B; within a host, stream, 8 B\n", text)
        self.assertEqual(run(slower, slower)[0], 1)

    def test_the_same_build_is_not(self):
        status, text, again = run({})
        self.assertEqual((status, again), (0, []))
        self.assertIn("no figure is worse\n", text)

    def test_a_second_pass_must_agree(self):
        self.assertEqual(run({("between", 0): 1.2}, {})[0], 0)

    def test_too_few_rounds_are_no_verdict(self):
        status, text, _ = run({}, count=gate.LEAST_ROUNDS - 1)
        self.assertEqual(status, 2)
        self.assertIn("not measured", text)

    def test_a_faster_figure_is_better(self):
        self.assertEqual(gate.judge(rounds_of(random.Random(1), 0.8)).word, "better")

    def test_noise_widens_what_is_the_same(self):
        source = random.Random(2)
        self.assertEqual(gate.judge(rounds_of(source, 1.08, spread=0.01)).word, "worse")
        self.assertEqual(gate.judge(rounds_of(source, 1.08, spread=0.06)).word, "same")

    def test_much_noise_is_no_verdict(self):
        verdict = gate.judge(rounds_of(random.Random(2), 1.08, spread=0.6))
        self.assertEqual((verdict.word, gate.conclude([verdict.word], ["x"])), ("unclear", 2))
        self.assertEqual(gate.conclude(["worse", "unclear"], ["x", "y"]), 1)

    def test_false_alarms_of_a_thousand_figures(self):
        source = random.Random(3)
        for count in (11, 31):
            first, second = ([gate.judge(rounds_of(source, 1, count)) for _ in range(1000)] for _ in "ab")
            self.assertLess([v.word for v in first].count("worse"), 1000 * gate.CHANCE)
            self.assertNotIn("worse", [gate.final(*both).word for both in zip(first, second)])

    def test_the_rank_is_the_binomial_bound(self):
        self.assertEqual([gate.rank(n) for n in (6, 7, 11, 15, 31)], [0, 1, 2, 3, 9])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

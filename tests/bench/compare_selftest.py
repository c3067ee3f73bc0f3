#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""compare_evaluate judges made-up rounds as it says, and compare.conf names nothing that tests/bench/compare does not measure."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)

import compare_evaluate as compare  # noqa: E402
import rounds  # noqa: E402


def made_up(**times):
    """Data of {what: {length: [time of each round]}}."""
    data = rounds.new_data()
    for what, lengths in times.items():
        for number in range(max(map(len, lengths.values()))):
            rounds.add_series(data, what, number, [{"bytes": str(n), "median_us": str(t[number])} for n, t in lengths.items()])
    return data


def goal(of, bound=1.0, last=100):
    return compare.Goal("scene", "mx", ("vader", "mpich"), 0, last, bound, of)


class Judging(unittest.TestCase):
    DATA = made_up(mx={0: [1, 3], 64: [8, 8], 4096: [99, 99]}, vader={0: [2, 2], 64: [4, 4], 4096: [1, 1]},
                   mpich={0: [4, 1], 64: [9, 2]})

    def test_the_best_of_the_others_counts_in_each_round(self):
        found, worst = goal("each").judge(self.DATA)
        self.assertEqual(found, {0: (1 / 2 + 3 / 1) / 2, 64: (8 / 4 + 8 / 2) / 2})
        self.assertEqual(worst, 3)

    def test_a_mean_is_geometric(self):
        self.assertAlmostEqual(goal("mean").judge(self.DATA)[1], (1.75 * 3) ** 0.5)

    def test_verdicts(self):
        goals = [goal("each", 3), goal("each", 2.9), goal("each", 1, -1)]
        _, rows, records = compare.judge(goals, {"scene": self.DATA})
        self.assertEqual([row[-1] for row in rows], ["holds", "does not", "not measured"])
        self.assertEqual([record["figure"] for record in records], [3, 3, None])
        self.assertEqual(compare.judge(goals, {})[1], [])


class Goals(unittest.TestCase):
    def test_scenes_are_those_of_the_command(self):
        printed = subprocess.run([os.path.join(HERE, "compare"), "-s", "list"], capture_output=True, text=True, check=True)
        self.assertLessEqual({g.scene for g in compare.read_goals()}, set(printed.stdout.split()))

    def test_all_that_is_compared_has_a_name(self):
        for row in compare.read_goals():
            self.assertLessEqual({row.what, *row.others}, set(compare.NAMES))


if __name__ == "__main__":
    sys.stderr = sys.stdout
    unittest.main(verbosity=0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Proves the figures and pictures of omx_perf --report on made-up curves, whose figures are known beforehand."""
import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "omx_perf", "report"))
import figures  # noqa: E402
import page  # noqa: E402
import pictures  # noqa: E402
import write  # noqa: E402

LENGTHS = [1 << n for n in range(23)]


def hockney(start, rate):
    """{length: us}: a start-up time, then a rate in MB/s."""
    return {n: start + n / rate for n in LENGTHS}


class Figures(unittest.TestCase):
    def test_of_fast_messages(self):
        found = figures.fast_messages(hockney(4.0, 100.0))
        self.assertAlmostEqual(found.t0, 4.0)
        self.assertAlmostEqual(found.fit_t0, 4.0)
        self.assertAlmostEqual(found.fit_r_inf, 100.0)
        self.assertAlmostEqual(found.r_inf, 4194304 / (4 + 41943.04))  # the best measured, not the limit
        self.assertAlmostEqual(found.product, found.t0 * found.r_inf)
        self.assertTrue(256 < found.n_half <= 512, found)  # 400 on a curve without corners

    def test_n_half_is_the_first_length_that_reaches_half(self):
        self.assertEqual(figures.reaches({1: 1.0, 2: 3.0, 4: 2.0, 8: 9.0}, 2.0), 1.5)
        self.assertEqual(figures.reaches({4: 5.0}, 2.0), 4.0)
        self.assertIsNone(figures.reaches({4: 1.0, 8: 1.5}, 2.0))

    def test_of_gamma(self):
        delays = hockney(6.0, 123.0)
        delays[0] = 6.0
        found = figures.gamma(delays)
        self.assertEqual((found.smallest, found.latency, found.longest), (0, 6.0, 4194304))
        self.assertAlmostEqual(found.asymptotic, 123.0)
        self.assertTrue(512 < found.half <= 1024, found)  # T(H) = B / 2 at 738

    def test_of_one_length_are_none(self):
        self.assertIsNone(figures.fast_messages({16: 1.0}))
        self.assertIsNone(figures.gamma({0: 1.0}))

    def test_efficiency_and_gain(self):
        self.assertEqual(figures.efficiency({16: 2.0, 32: 5.0}, {16: 1.0, 64: 1.0}), {16: 50.0})
        self.assertEqual(figures.speedups({"a": 2.0, "b": 4.0}, {"a": 6.0, "b": 2.0, "c": 1.0}), {"a": 200.0, "b": -50.0})


class Numbers(unittest.TestCase):
    def test_digits(self):
        self.assertEqual([page.number(v) for v in (1234.5, 99.26, 5.678, 0.1234, None)], ["1234", "99.3", "5.68", "0.123", "-"])
        self.assertEqual([page.size(n) for n in (16, 1500, 4096, 4194304)], ["16 B", "1500 B", "4 KiB", "4 MiB"])


class Pictures(unittest.TestCase):
    def test_points_lie_within_their_diagram(self):
        curves = [("a & b", {0: 3.0, 16: 5.0, 1048576: 4000.0}), ("c", {16: 90.0, 32: 0.0, 64: 100.0})]
        for kind in ("log", "share", "share of the processor"):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.svg")
                self.assertTrue(pictures.draw(path, "title <", "below", (kind, "left", "%", curves), ("log", "r", "us", curves)))
                root = xml.parse(path).getroot()
                lines = root.findall("{http://www.w3.org/2000/svg}polyline")
                self.assertEqual(len(lines), 4)
                for number, line in enumerate(lines):
                    left = pictures.place_of(number // 2)
                    for point in line.get("points").split():
                        x, y = map(float, point.split(","))
                        self.assertTrue(left - 0.1 <= x <= left + pictures.plot.PANEL_WIDTH + 0.1, point)
                        top = pictures.plot.PANEL_TOP
                        self.assertTrue(top - 0.1 <= y <= top + pictures.plot.PANEL_HEIGHT + 0.1, point)

    def test_names_stay_apart_and_beside_their_diagram(self):
        for last in ((1.0, 1.0, 1.0), (1.0, 100.0, 1.1), (100.0, 99.0, 98.0)):
            curves = [(str(number), [(1, 100.0), (64, value)]) for number, value in enumerate(last)]
            panel = pictures.plot.Panel(64, "", "us", [1, 64], [1.0, 100.0])
            places = sorted(float(re.search(r' y="([0-9.]+)"', name)[1]) for name in pictures.plot.labels(panel, curves))
            self.assertEqual(len(places), len(last))
            self.assertLessEqual(places[-1], pictures.plot.PANEL_TOP + pictures.plot.PANEL_HEIGHT + 4)
            for above, below in zip(places, places[1:]):
                self.assertGreaterEqual(below - above, 15)

    def test_without_curves_there_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.svg")
            self.assertFalse(pictures.draw(path, "", "", ("log", "left", "us", [("nothing", {})])))
            self.assertFalse(os.path.exists(path))


class Installation(unittest.TestCase):
    def test_each_part_is_installed(self):
        tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(tree, "tools", "meson.build"), encoding="utf-8") as file:
            text = file.read()
        for name in os.listdir(os.path.join(tree, "tools", "omx_perf", "report")):
            if name.endswith(".py"):
                self.assertIn(f"'{name}'", text)
        with open(os.path.join(tree, "tools", "omx_perf", "report", "run"), encoding="utf-8") as file:
            for name in re.findall(r'^\. "\$here/(.*)"$', file.read(), re.M):
                self.assertIn(f"'../{name}'", text)


class Gaps(unittest.TestCase):
    def test_what_is_not_measured_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "raw"))
            with open(os.path.join(folder, "raw", "facts"), "w", encoding="utf-8") as file:
                file.write("quick: 1\nleft out: MPI: no mpirun\n")
            write.write(folder)
            with open(os.path.join(folder, "report.md"), encoding="utf-8") as file:
                text = file.read()
            self.assertIn("- MPI: no mpirun", text)
            self.assertIn("- the section on gamma: mx-trials-run1 not measured", text)
            self.assertIn("A quick look", text)


if __name__ == "__main__":
    unittest.main()

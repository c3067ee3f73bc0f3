# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Pictures of the report: two diagrams beside each other, by the parts of tests/bench/plot.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "bench"))
import plot  # noqa: E402


class Linear(plot.Panel):
    """x and y from 0, both linear; x is anything."""

    def __init__(self, left, title, unit, caption, x_high, y_high):
        # The other one's constructor is about lengths and decades.
        self.left, self.title, self.unit, self.caption = left, title, unit, caption
        self.x_step, self.y_step = self.step(x_high), self.step(y_high)
        self.x_top = self.x_step * -(-x_high // self.x_step)
        self.y_top = self.y_step * -(-y_high // self.y_step)

    @staticmethod
    def step(high):
        """1, 2 or 5 times a power of ten, so that five to ten steps fill the axis."""
        step = 1e-3
        while high / step > 10:
            for factor in (2, 2.5, 2):
                step *= factor
                if high / step <= 10:
                    break
        return step

    def x(self, value):
        return self.left + plot.PANEL_WIDTH * value / self.x_top

    def y(self, value):
        return plot.PANEL_TOP + plot.PANEL_HEIGHT * (1 - value / self.y_top)

    def ticks(self):
        return [i * self.y_step for i in range(round(self.y_top / self.y_step) + 1)]

    def x_ticks(self):
        return [(i * self.x_step, f"{i * self.x_step:g}") for i in range(round(self.x_top / self.x_step) + 1)]


class Share(Linear):
    """y from 0, linear; x a message length, logarithmic."""

    def __init__(self, left, title, unit, lengths, y_high):
        super().__init__(left, title, unit, plot.Panel.caption, 1, y_high)
        self.lengths = lengths
        self.x_low, self.x_high = self.place(min(lengths)), self.place(max(lengths))

    x = plot.Panel.x
    x_ticks = plot.Panel.x_ticks


def present(curves):
    """Curves with points above 0, in the order of x."""
    found = [(name, sorted((x, y) for x, y in curve.items() if y > 0)) for name, curve in curves]
    return [(name, points) for name, points in found if points]


def logarithmic(place, title, unit, curves):
    points = [p for _, curve in curves for p in curve]
    return plot.Panel(place, title, unit, sorted({n for n, _ in points}), [y for _, y in points])


def place_of(number):
    return plot.PANEL_LEFT + number * (plot.PANEL_WIDTH + plot.PANEL_GAP)


def draw(path, title, subtitle, *diagrams):
    """diagrams: (kind, title, unit, [(name, {x: y})]), kind "log", "share" or the caption of a linear x. False when
    one of them has no curve: then there is no picture."""
    out = plot.begin(title, subtitle)
    for number, (kind, name, unit, curves) in enumerate(diagrams):
        shown = present(curves)
        if not shown:
            return False
        xs = [x for _, curve in shown for x, _ in curve]
        ys = [y for _, curve in shown for _, y in curve]
        place = place_of(number)
        if kind == "log":
            diagram = logarithmic(place, name, unit, shown)
        elif kind == "share":
            diagram = Share(place, name, unit, sorted(set(xs)), max(ys))
        else:
            diagram = Linear(place, name, unit, kind, max(xs), max(ys))
        out += plot.panel(diagram, shown)
    plot.end(path, out)
    return True

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Draws latency and throughput over message length as one SVG, both axes logarithmic, and ratios, whose axis is linear, since
a logarithmic one hides a factor of 1.5; parts of it serve other pictures."""
import math
import textwrap
from html import escape

WIDTH, HEIGHT = 1320, 560
PANEL_WIDTH, PANEL_HEIGHT = 440, 360
PANEL_TOP, PANEL_LEFT, PANEL_GAP = 118, 64, 220
SUBTITLE_WIDTH = 190  # characters of its font that fit into WIDTH
# Distinct in colour and in lightness, so that they survive greyscale print.
COLOURS = ["#0b5fa5", "#c2410c", "#4d7c0f", "#7e22ce", "#0f766e", "#9f1239", "#57534e", "#a16207"]
DASHES = ["", "7 3", "2 3", "9 3 2 3", "", "4 2", "1 2", "12 4"]


def size_name(n):
    for unit, shift in (("M", 20), ("K", 10)):
        if n >= 1 << shift:
            return f"{n >> shift}{unit}"
    return str(n)


class Panel:
    """One diagram; x is a message length (0 drawn left of 1), y any positive number."""
    caption = "message length, bytes"

    def __init__(self, left, title, unit, lengths, values):
        self.left, self.title, self.unit = left, title, unit
        self.lengths = lengths
        self.x_low, self.x_high = self.place(min(lengths)), self.place(max(lengths))
        self.y_low = math.floor(math.log10(min(values)) * 2) / 2
        self.y_high = math.ceil(math.log10(max(values)) * 2) / 2

    @staticmethod
    def place(length):
        return -1.0 if length == 0 else math.log2(length)

    def x(self, length):
        span = (self.x_high - self.x_low) or 1
        return self.left + PANEL_WIDTH * (self.place(length) - self.x_low) / span

    def y(self, value):
        span = (self.y_high - self.y_low) or 1
        return PANEL_TOP + PANEL_HEIGHT * (1 - (math.log10(value) - self.y_low) / span)

    def ticks(self):
        for decade in range(math.floor(self.y_low), math.ceil(self.y_high) + 1):
            for factor in (1, 2, 5):
                value = factor * 10.0 ** decade
                if self.y_low - 1e-9 <= math.log10(value) <= self.y_high + 1e-9:
                    yield value

    def x_ticks(self):
        """(position, name)"""
        shown = [n for n in self.lengths if n == 0 or (n & (n - 1)) == 0]
        return [(n, size_name(n)) for n in shown[::max(1, math.ceil(len(shown) / 12))]]

    def frame(self):
        right, bottom = self.left + PANEL_WIDTH, PANEL_TOP + PANEL_HEIGHT
        out = [f'<text x="{self.left + 4}" y="{PANEL_TOP - 12}" class="panel">{escape(self.title)}</text>']
        for value in self.ticks():
            y = self.y(value)
            out.append(f'<line x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="grid"/>')
            out.append(f'<text x="{self.left - 8}" y="{y + 4:.1f}" class="tick" text-anchor="end">{value:g}</text>')
        for position, name in self.x_ticks():
            x = self.x(position)
            out.append(f'<line x1="{x:.1f}" y1="{PANEL_TOP}" x2="{x:.1f}" y2="{bottom}" class="grid"/>')
            out.append(f'<text x="{x:.1f}" y="{bottom + 18}" class="tick" text-anchor="middle">{name}</text>')
        out.append(f'<rect x="{self.left}" y="{PANEL_TOP}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" class="box"/>')
        out.append(f'<text x="{self.left + PANEL_WIDTH / 2}" y="{bottom + 40}" class="tick" '
                   f'text-anchor="middle">{self.caption}</text>')
        out.append(f'<text x="{self.left - 8}" y="{PANEL_TOP - 13}" class="tick" text-anchor="end">{self.unit}</text>')
        return out

    def curve(self, points, number):
        points = [(n, v) for n, v in points if v > 0]
        path = " ".join(f"{self.x(n):.1f},{self.y(v):.1f}" for n, v in points)
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        out = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>']
        out += [f'<circle cx="{self.x(n):.1f}" cy="{self.y(v):.1f}" r="2.2" fill="{colour}"/>' for n, v in points]
        return out


class RatioPanel(Panel):
    """The same with a linear axis from 0, and a line at 1."""

    def __init__(self, left, title, lengths, values):
        super().__init__(left, title, "", lengths, [1, 1])
        self.y_low, self.y_high = 0, max(1.25, math.ceil(max(values) * 4) / 4)

    def y(self, value):
        return PANEL_TOP + PANEL_HEIGHT * (1 - value / self.y_high)

    def ticks(self):
        step = 0.25 if self.y_high <= 2.5 else 0.5 if self.y_high <= 5 else math.ceil(self.y_high / 10)
        return [i * step for i in range(int(self.y_high / step + 1e-9) + 1)]

    def frame(self):
        y, right = self.y(1), self.left + PANEL_WIDTH
        return super().frame() + [f'<line x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="box"/>']


def labels(panel, curves):
    """Names at the right ends of the curves, pushed apart where they would overlap, none below the panel."""
    wanted = sorted((panel.y(points[-1][1]), name, number)
                    for number, (name, points) in enumerate(curves) if points)
    places, lowest = [], PANEL_TOP + PANEL_HEIGHT
    for y, _, _ in wanted:
        places.append(max([y] + [place + 15 for place in places[-1:]]))
    for i in reversed(range(len(places))):
        places[i] = min(places[i], lowest)
        lowest = places[i] - 15
    return [f'<text x="{panel.left + PANEL_WIDTH + 7}" y="{place + 4:.1f}" class="name" '
            f'style="fill:{COLOURS[number % len(COLOURS)]}">{escape(name)}</text>'
            for place, (_, name, number) in zip(places, wanted)]


def begin(title, subtitle, width=WIDTH):
    """The first lines of a picture."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">',
           "<style>text{font-family:sans-serif;fill:#222}.head{font-size:19px;font-weight:bold}"
           ".sub{font-size:12px;fill:#555}.panel{font-size:14px;font-weight:bold}.tick{font-size:11px;fill:#444}"
           ".name{font-size:12px;font-weight:bold}.grid{stroke:#ddd}.box{fill:none;stroke:#666}</style>",
           f'<rect width="{width}" height="{HEIGHT}" fill="white"/>',
           f'<text x="24" y="32" class="head">{escape(title)}</text>']
    for i, line in enumerate(textwrap.wrap(subtitle, SUBTITLE_WIDTH * width // WIDTH)):
        out.append(f'<text x="24" y="{54 + 16 * i}" class="sub">{escape(line)}</text>')
    return out


def panel(diagram, curves):
    """One diagram and its curves, (name, [(x, y)])."""
    out = diagram.frame()
    for number, (_, points) in enumerate(curves):
        out += diagram.curve(points, number)
    return out + labels(diagram, curves)


def end(path, out):
    """Writes the picture."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def draw(path, title, subtitle, latency, throughput, ratios=()):
    """latency, throughput, and ratios if there are any: lists of (name, [(length, value)]), in microseconds and MB/s."""
    out = begin(title, subtitle, WIDTH + (PANEL_WIDTH + PANEL_GAP if ratios else 0))
    left = PANEL_LEFT
    for name, unit, curves in (("Latency: half round trip", "µs", latency), ("Throughput", "MB/s", throughput)):
        points = [p for _, curve in curves for p in curve if p[1] > 0]
        out += panel(Panel(left, name, unit, sorted({n for n, _ in points}), [v for _, v in points]), curves)
        left += PANEL_WIDTH + PANEL_GAP
    if ratios:
        points = [p for _, curve in ratios for p in curve]
        diagram = RatioPanel(left, "Ratios of the times", sorted({n for n, _ in points}), [v for _, v in points])
        out += panel(diagram, ratios)
    end(path, out)

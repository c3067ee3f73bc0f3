# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Figures of merit as the papers of Fast Messages (1995) and of GAMMA (2009) define them. Times are microseconds, rates
MB/s of 10^6 bytes, lengths bytes."""
from typing import NamedTuple

SMALLEST = 128  # the intercept is that of lengths up to here


class FastMessages(NamedTuple):
    t0: float  # intercept of the time per message over the smallest lengths
    r_inf: float  # best rate of the streams measured
    n_half: float  # first length that reaches half of it, interpolated
    product: float  # t0 times r_inf, which the textbook takes for n_half
    fit_t0: float  # of T(N) = t0 + N / r_inf over all lengths
    fit_r_inf: float


class Gamma(NamedTuple):
    smallest: int
    latency: float  # D(smallest)
    asymptotic: float  # B: (S - smallest) / (D(S) - D(smallest)) of the longest
    half: float  # H: T(H) = B / 2, with T(S) = S / D(S)
    longest: int


def line(points, weight=lambda x, y: 1.0):
    """(intercept, slope) of the weighted least squares line through (x, y)."""
    sums = [0.0] * 5
    for x, y in points:
        w = weight(x, y)
        for i, term in enumerate((1, x, y, x * x, x * y)):
            sums[i] += w * term
    n, sx, sy, sxx, sxy = sums
    determinant = n * sxx - sx * sx
    if determinant == 0:
        return sy / n, 0.0
    slope = (n * sxy - sx * sy) / determinant
    return (sy - slope * sx) / n, slope


def reaches(rates, target):
    """The first length whose rate is the target or more, interpolated; None if none is."""
    before = None
    for length, rate in sorted(rates.items()):
        if rate >= target:
            if before is None or rate == before[1]:
                return float(length)
            return before[0] + (length - before[0]) * (target - before[1]) / (rate - before[1])
        before = length, rate
    return None


def rates_of(times):
    """{length: MB/s} of {length: us}, of lengths above 0."""
    return {length: length / us for length, us in times.items() if length > 0 and us > 0}


def fast_messages(times):
    """Figures of {length: us per message of a stream}; None when there are fewer than two lengths."""
    rates = rates_of(times)
    if len(rates) < 2:
        return None
    points = sorted(times.items())
    r_inf = max(rates.values())
    smallest = [p for p in points if p[0] <= SMALLEST]
    if len(smallest) < 2:
        smallest = points[:2]
    t0 = line(smallest)[0]
    fit_t0, slope = line(points, lambda x, y: 1 / (y * y))  # relative errors: else the longest alone count
    return FastMessages(t0, r_inf, reaches(rates, r_inf / 2), t0 * r_inf, fit_t0, 1 / slope if slope > 0 else r_inf)


def gamma(delays):
    """Figures of {length: D, half a round trip}; None when there are fewer than two lengths."""
    if len(delays) < 2:
        return None
    smallest, longest = min(delays), max(delays)
    rest = delays[longest] - delays[smallest]
    asymptotic = (longest - smallest) / rest if rest > 0 else longest / delays[longest]
    half = reaches(rates_of(delays), asymptotic / 2)
    return Gamma(smallest, delays[smallest], asymptotic, half, longest)


def efficiency(upper, lower):
    """{length: per cent} of a layer's rate over that of the layer below, streams of the same lengths."""
    above, below = rates_of(upper), rates_of(lower)
    return {n: 100 * above[n] / below[n] for n in sorted(above) if n in below}


def speedups(ours, others):
    """{key: per cent}: T_other / T_our - 1, as the Open-MX paper's tables imply."""
    return {key: 100 * (others[key] / us - 1) for key, us in ours.items() if key in others and us > 0}

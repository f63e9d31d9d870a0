"""The choice of a penalty: the least value of a criterion over many powers of ten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.check import Array

PRECISION = 1e-4
"""Decimal logarithms of penalties are found to within this; criteria are flat there."""

NEAR = 6
"""The polynomial that says what to try next goes through so many of the nearest trials."""

MOST_TRIALS = 40
"""Trials of a penalty: one to four suffice for a smooth criterion, forty halve all intervals."""


def choose_penalty(
    score: Callable[[float], float],
    low: float,
    high: float,
    *,
    refine: bool = True,
) -> tuple[float, float]:
    """Return the penalty between 10^low and 10^high, or infinity, of the least score, and that.

    One value is tried for each power of ten, since criteria may have several minima; with
    ``refine`` the neighbourhood of the best is searched. Of equal scores the largest penalty wins.

    >>> def score(p):
    ...     return (np.log10(p) - 2.5) ** 2 if p < np.inf else 1.0
    >>> penalty, least = choose_penalty(score, -5, 5)
    >>> round(float(np.log10(penalty)), 4), round(least, 6)
    (2.5, 0.0)
    >>> choose_penalty(lambda p: 1.0 / (1.0 + p), -5, 5)
    (inf, 0.0)
    """
    grid = np.linspace(high, low, max(2, int(np.ceil(high - low)) + 1))
    line = _worth(score(np.inf))
    tried = {t: _worth(score(10.0**t)) for t in grid.tolist()}
    if refine:
        _refine(lambda t: score(float(10.0**t)), tried)
    best = min(tried, key=lambda t: (tried[t], -t))
    return (np.inf, line) if line <= tried[best] else (float(10.0**best), tried[best])


def _worth(score: float) -> float:
    """Return a score as it is, and infinity for what is no number."""
    return np.inf if np.isnan(score) else float(score)


def _refine(score: Callable[[float], float], tried: dict[float, float]) -> None:
    """Add trials between the neighbours of the best one until the best moves no more.

    Next comes the minimum of the polynomial through the nearest trials. If that is no step of less
    than half the last but one, it is the middle of the larger part of the interval.
    """
    steps = [np.inf, np.inf]
    for _ in range(MOST_TRIALS):
        best, step, part = _next(tried)
        if not abs(step) < steps[-2] / 2.0:
            step = part / 2.0
        if len(steps) > 2 and abs(step) < PRECISION / 2.0:
            return
        steps.append(abs(step))
        tried[best + step] = _worth(score(best + step))


def _next(tried: dict[float, float]) -> tuple[float, float, float]:
    """Return the best trial, the step to the next, and the one to the farther neighbour."""
    at, values = (np.array(part) for part in zip(*sorted(tried.items()), strict=True))
    i = int(np.flatnonzero(values == values.min())[-1])
    best, at = float(at[i]), at - at[i]
    low, high = float(at[max(i - 1, 0)]), float(at[min(i + 1, at.size - 1)])
    near = np.argsort(np.abs(at))[:NEAR]
    part = low if low + high < 0.0 else high
    if not np.all(np.isfinite(values[near])):
        return best, part / 2.0, part
    return best, _lowest(at[near], values[near], low, high), part


def _lowest(at: Array, values: Array, low: float, high: float) -> float:
    """Return where the polynomial through some values is least between two ends.

    >>> round(_lowest(np.array([0.0, 1.0, 3.0]), np.array([4.0, 1.0, 1.0]), 0.0, 3.0), 12)
    2.0
    """
    powers = np.linalg.solve(np.vander(at), values)
    flat = np.roots(np.polyder(powers))
    inside = flat.real[(np.abs(flat.imag) < PRECISION) & (low < flat.real) & (flat.real < high)]
    ends = np.array([low, high, *inside])
    return float(ends[np.argmin(np.polyval(powers, ends))])
